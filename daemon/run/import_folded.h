/* Folded stacks as a session that has ended. Part of import.c. */
#ifndef PFL_RUN_IMPORT_FOLDED_H
#define PFL_RUN_IMPORT_FOLDED_H

#include <stdbool.h>
#include <stddef.h>
#include "daemon/run/import.h"

/* Text, which no recording of perf is. */
bool import_folded_is(const char *bytes, size_t len);
/* As import_file(). bytes: a private mapping of the file, whose pages are let go on the way. */
int import_folded(const struct import_setup *setup, char *bytes, size_t len,
	struct session **ret_session, struct buf *message);

#endif
