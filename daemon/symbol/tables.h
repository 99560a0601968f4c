/* Sees that modules get their compiled unwind rules, in a thread of its own: whoever samples asks
 * in passing and never waits. */
#ifndef PFL_SYMBOL_TABLES_H
#define PFL_SYMBOL_TABLES_H

#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "daemon/symbol/module.h"

struct names;
struct tables;

/* names is lent and has to outlive it. */
int tables_new(struct names *names, struct tables **ret_tables);
/* Ends the thread, when its present request is over. */
void tables_free(struct tables *t);
AUTO_FREE_FN(struct tables, tables_free)

/* Any thread: module_table() will be there some time from now, or never. Cheap when it was asked
 * for already. */
void tables_want(struct tables *t, struct module *m);

struct tables_stats {
	uint64_t made, failed; /* failed: refused, too large, or the reader died over it */
	uint64_t bytes;        /* of all that were made; they go with their modules */
};
void tables_get_stats(struct tables *t, struct tables_stats *ret_stats);

#endif
