/* What a call tree is made of, for calltree.c and merge.c. Sampler thread. */
#ifndef PFL_TREE_CALLNODES_H
#define PFL_TREE_CALLNODES_H

#include "base/map.h"
#include "daemon/tree/calltree.h"
#include "daemon/tree/intern.h"
#include "daemon/tree/samplelog.h"
#include "daemon/tree/tables.h"

/* Nodes that are always there, so that every sample has a place. */
enum { ROOT_NODE, ROOT_DROPPED_NODE };

/* Children up to so many are found by looking at each, the latest first: most nodes have one or
 * two, and the look-up of one in an index is a miss of the cache. More are in an index as well. */
#define FEW 8u

struct kin {
	uint32_t first, next; /* child, sibling; 0: none */
	uint32_t children;
};

struct process_place {
	uint32_t node, dropped; /* 0: none yet */
};

/* Arrays grow by doubling; nodes, kin, weights and samples share one capacity. */
struct calltree {
	struct calltree_options options;
	struct tables tables;
	struct process_place
		*places; /* by process; fewer than there are processes until they are needed */
	uint32_t place_count;

	struct profile_node *nodes;
	struct kin *kin;
	uint64_t *weight[PROFILE_EVENTS_MAX], *samples[PROFILE_EVENTS_MAX];
	uint32_t node_count, node_cap;
	struct index child_index; /* by (parent, frame), where there are many */
	struct index stack_index; /* whole chains to their leaf */
	uint64_t seed;

	struct samplelog log;
	uint64_t sample_count, dropped;
};

/* By which child_index finds a node. */
static inline uint64_t calltree_hash_child(
	const struct calltree *t, uint32_t parent, uint32_t frame)
{
	return hash_u64(((uint64_t)parent << 32 | frame) ^ t->seed);
}

/* 0: there is none. */
uint32_t calltree_find_child(const struct calltree *t, uint32_t parent, uint32_t frame);
/* Node id, which is none's child yet, becomes its parent's; child_index has room for FEW + 1 more.
 */
void calltree_link_child(struct calltree *t, uint32_t id);
/* Room for the place of a process, empty at first. -ENOMEM. */
int calltree_place(struct calltree *t, uint32_t process, struct process_place **ret_place);

#endif
