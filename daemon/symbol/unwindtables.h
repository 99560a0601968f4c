/* Sees that modules get their compiled unwind rules, in a thread of its own: whoever samples asks
 * in passing and never waits. */
#ifndef PFL_SYMBOL_UNWINDTABLES_H
#define PFL_SYMBOL_UNWINDTABLES_H

#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "daemon/symbol/module.h"
#include "daemon/symbol/tablefiles.h"

struct names;
struct unwindtables;

/* names is lent and has to outlive it. files: where to keep tables on disk; NULL, or a folder that
 * cannot be used: nowhere. */
int unwindtables_new(struct names *names, const struct tablefiles_options *files,
	struct unwindtables **ret_tables);
/* Ends the thread, when its present request is over. */
void unwindtables_free(struct unwindtables *t);
AUTO_FREE_FN(struct unwindtables, unwindtables_free)

/* Any thread: module_table() will be there some time from now, or never. Cheap when it was asked
 * for already. */
void unwindtables_want(struct unwindtables *t, struct module *m);

struct unwindtables_stats {
	uint64_t made, loaded; /* by the reader; from disk */
	uint64_t failed;       /* refused, too large, or the reader died over it */
	uint64_t bytes;        /* of all made and loaded; they go with their modules */
};
void unwindtables_get_stats(struct unwindtables *t, struct unwindtables_stats *ret_stats);

#endif
