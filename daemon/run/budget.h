/* Whether a session costs what it may, and what to make cheaper if not. Decisions alone: the clock,
 * the events and the memory are the caller's. Any thread, one at a time.
 *
 * The rate goes down when the cost has been too high for some seconds, as far as it needs to, and
 * up again by one step when twice the cost would have fit for a while. An attempt to go up that had
 * to be taken back makes the next one wait longer. */
#ifndef PFL_RUN_BUDGET_H
#define PFL_RUN_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BUDGET_LOOKS 10 /* that are remembered, a second apart */

/* CPU time. level: a sample is taken at the asked rate divided by 2^level. */
struct budget {
	unsigned level;
	unsigned count; /* of looks since the last change */
	struct budget_look {
		uint64_t t_ns, cost_ns; /* monotonic; the sum since the start */
	} looks[BUDGET_LOOKS + 1];      /* the oldest first */
	uint64_t rests_until_ns;        /* what happens before says nothing */
	uint64_t changed_ns;            /* the last step; 0: none yet */
	uint64_t patience_ns;           /* from one step to the next one up */
	bool went_up;                   /* that was the last step */
};

/* What a session opens and reads for the first time is not what it will cost. */
void budget_init(struct budget *b, uint64_t now_ns);
/* Somebody chose another rate: level is 0 again, and what was measured is forgotten. */
void budget_restart(struct budget *b, uint64_t now_ns);
/* One look, about each second. cost_ns: CPU time so far; allowance: what one second may take of it,
 * in ns; top_level: the most. Returns the level from now on. *ret_cost: CPU time a second that the
 * answer comes from, 0 when the level stays. */
unsigned budget_look(struct budget *b, uint64_t now_ns, uint64_t cost_ns, uint64_t allowance_ns,
	unsigned top_level, uint64_t *ret_cost_ns);
/* Of the last seconds, in ns a second; 0: not known yet. */
uint64_t budget_cost(const struct budget *b);
/* What one of count sessions may take of what all of them may: its part, or what the others leave.
 */
uint64_t budget_share(uint64_t all, unsigned count, uint64_t others);

/* Memory: the log of single samples goes first, as a profile is whole without it; then the tree
 * stops to grow. */
struct budget_memory {
	size_t bytes;                     /* of tree and log */
	uint32_t log_used;                /* entries that are in it */
	uint32_t log_entries, log_wanted; /* room for so many now; at first */
	uint32_t nodes, max_nodes, nodes_wanted;
	uint32_t looks; /* since the last step */
};
#define BUDGET_LOG_MIN 4096u /* entries */
/* True: log_entries or max_nodes were changed; by one step. */
bool budget_memory(struct budget_memory *m, size_t allowance_bytes);

#endif
