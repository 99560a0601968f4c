/* A tree of names as it was made, put in order, cut where the question says so, and written out as
 * a view. Part of view.c. */
#ifndef PFL_RENDER_ARRANGE_H
#define PFL_RENDER_ARRANGE_H

#include <stdint.h>
#include "daemon/render/labels.h"
#include "daemon/render/view.h"

/* A node of names while the tree grows. parent < own index; 0 is the root, its own parent. */
struct made {
	uint32_t parent, label;
	uint64_t total, samples; /* its own alone, while the tree grows */
	uint32_t nodes;          /* in its subtree */
	uint32_t first, next;    /* child, sibling; 0: none */
	uint32_t children;
};

/* Fills names, nodes, total, samples and what was folded of v, and turns place_of, which is of
 * made, into one of nodes; of made, the totals and nodes are summed up on the way. -ENOMEM. */
int arrange(struct view *v, const struct labels *labels, struct made *made, uint32_t count);

#endif
