/* The stacks of a profile that a question asks for, with what they weigh: for formats that hold
 * stacks and not a tree. */
#ifndef PFL_RENDER_STACKS_H
#define PFL_RENDER_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "daemon/render/view.h"

/* Of one event. Sorted by node, then thread, each pair side by side, though not always merged. */
struct stack {
	uint32_t node;   /* the leaf */
	uint32_t thread; /* by_thread alone, else 0 */
	uint32_t event;
	uint64_t weight, samples;
};

struct stacks {
	const struct view *view;
	uint32_t *process_of; /* by node; PROFILE_NO_PROCESS: below a special frame */
	struct stack *all;
	size_t count;
};

/* The view outlives it. -ENOMEM. */
int stacks_make(const struct view *v, struct stacks *s);
void stacks_done(struct stacks *s);
bool stacks_wants_event(const struct stacks *s, uint32_t event);
/* The end of those that are of the same stack, and thread, as the one at first. */
size_t stacks_end_of(const struct stacks *s, size_t first);

#endif
