/* The description of a session inside a profile: its strings and JSON texts. */
#ifndef PFL_RUN_META_H
#define PFL_RUN_META_H

#include <stdint.h>
#include "daemon/run/session.h"

/* A string into the profile's text; 0 on want of memory (""). */
uint32_t meta_text(struct profile *p, const char *text);
/* Another name for a profile that nobody else has. -ENOMEM. */
int meta_rename(struct profile *p, const char *name);
/* Fills meta from the session. */
void meta_fill(struct profile *p, const struct session *s);

#endif
