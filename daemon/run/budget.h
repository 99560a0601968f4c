/* Whether a session costs what it may, and what to make cheaper if not. Decisions alone: the clock,
 * the events and the memory are the caller's. Any thread, one at a time.
 *
 * When the cost has been too high for some seconds, less of each stack is copied; then, or at once
 * where the cost is more than twice what it may be, the rate goes down as far as it needs to. It
 * goes up again by one step when twice the cost would have fit for a while. An attempt to go up
 * that had to be taken back makes the next one wait longer. Where half the rate has saved next to
 * nothing, as with processes that start and end all the time, no further step down is taken for a
 * minute. */
#ifndef PFL_RUN_BUDGET_H
#define PFL_RUN_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BUDGET_LOOKS 10 /* that are remembered, a second apart */

/* The steps there are: smaller copies, if there are copies; then so many halvings of the rate. */
struct budget_ladder {
	bool copies;
	unsigned rates;
};
/* Of how many halvings a level consists. */
unsigned budget_halvings(const struct budget_ladder *l, unsigned level);

/* CPU time. level: how many steps of the ladder are taken; 0: all as it was asked for. */
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
	uint64_t halved_cost_ns; /* a second, which that step halved the rate for; 0: it did not */
};

/* What a session opens and reads for the first time is not what it will cost. */
void budget_init(struct budget *b, uint64_t now_ns);
/* Somebody chose another rate: level is 0 again, and what was measured is forgotten. */
void budget_restart(struct budget *b, uint64_t now_ns);
/* One look, about each second. cost_ns: CPU time so far; allowance: what one second may take of it,
 * in ns. Returns the level from now on. *ret_cost: CPU time a second that the answer comes from, 0
 * when the level stays. */
unsigned budget_look(struct budget *b, uint64_t now_ns, uint64_t cost_ns, uint64_t allowance_ns,
	const struct budget_ladder *ladder, uint64_t *ret_cost_ns);
/* Of the last seconds, in ns a second; 0: not known yet. */
uint64_t budget_cost(const struct budget *b);
/* What is left for sampling of total, when rest goes for what no lower rate would save: names,
 * tables, answers, the writing of profiles. Half in any case: whoever looks at a profile must not
 * thereby end it. */
uint64_t budget_left(uint64_t total, uint64_t rest);
/* The same of memory, in bytes: a quarter in any case. */
size_t budget_memory_left(size_t total, size_t rest);
/* A mean over the last five minutes, of a cost that comes in bursts: the first second of a program
 * that is read for the first time may take a minute's worth. */
struct budget_mean {
	double a_second; /* ns */
	uint64_t t_ns, cost_ns;
};
/* cost_ns: the sum so far, which may fall. */
void budget_mean_look(struct budget_mean *m, uint64_t now_ns, uint64_t cost_ns);
/* What one of count sessions may take of what all of them may: its part, or what the others leave.
 */
uint64_t budget_share(uint64_t all, unsigned count, uint64_t others);

/* Memory: the log of single samples goes first, as a profile is whole without it; then processes
 * that are over and had one name become one in the tree, if that has not just been done; then the
 * tree stops to grow. */
enum budget_memory_step {
	BUDGET_MEMORY_STAYS,
	BUDGET_MEMORY_LOG,   /* log_entries was changed */
	BUDGET_MEMORY_MERGE, /* the caller merges, and looks again after that */
	BUDGET_MEMORY_NODES, /* max_nodes was changed */
};
struct budget_memory {
	size_t bytes;                     /* of the session */
	uint32_t log_used;                /* entries that are in it */
	uint32_t log_entries, log_wanted; /* room for so many now; at first */
	uint32_t nodes, max_nodes, nodes_wanted;
	uint32_t merged_nodes; /* that were left by the last merge; 0: none yet */
	uint32_t looks;        /* since the last step */
};
#define BUDGET_LOG_MIN   4096u  /* entries */
#define BUDGET_LOG_SHORT 65536u /* is left until the processes are merged */
/* A tree of fewer nodes is left alone, as it has less than a MiB: what is too much is elsewhere
 * then, as in the rings. */
#define BUDGET_NODES_MIN 16384u
/* One step at most. */
enum budget_memory_step budget_memory(struct budget_memory *m, size_t allowance_bytes);

#endif
