/* The table of modules, as space.c uses it. Sampler thread. */
#ifndef PFL_SYMBOL_MODULES_H
#define PFL_SYMBOL_MODULES_H

#include "daemon/symbol/space.h"

struct broker *modules_broker(struct modules *ms);
/* The module of a range of that process (RANGE_FILE or RANGE_VDSO): opens its file and looks
 * whether it is a known one. A new reference; one with error set when the file cannot be opened.
 * -ENOMEM. */
int modules_open(struct modules *ms, pid_t pid, const struct range *r, struct module **ret_module);

#endif
