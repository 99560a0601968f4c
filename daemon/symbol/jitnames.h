/* Names of code without a file: the jitdumps and perf maps of the processes that were asked
 * about. Any thread.
 */
#ifndef PFL_SYMBOL_JITNAMES_H
#define PFL_SYMBOL_JITNAMES_H

#include "daemon/symbol/names.h"

struct jitnames;
int jitnames_new(struct broker *b, struct jitnames **ret_names);
void jitnames_free(struct jitnames *n);
AUTO_FREE_FN(struct jitnames, jitnames_free)

/* As names_of_jit() and names_jit_refresh(). */
int jitnames_of(struct jitnames *n, pid_t pid, uint64_t start_ticks, const uint64_t *addrs,
	uint32_t count, struct name_answer *ret_answer);
void jitnames_refresh(struct jitnames *n, pid_t pid, uint64_t start_ticks);
/* As names_jit_rules(). */
int jitnames_rules(
	struct jitnames *n, pid_t pid, uint64_t start_ticks, struct jitrules **ret_rules);
/* As names_jit_recorded(). */
int jitnames_recorded(
	struct jitnames *n, pid_t pid, uint64_t start_ticks, const struct names_recorded *where);
/* Adds its part. */
void jitnames_get_stats(struct jitnames *n, struct names_stats *stats);

#endif
