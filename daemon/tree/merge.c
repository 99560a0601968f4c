/* Processes that are over, of one name, as one: what a tree of a machine that compiles is full of.
 * In place: nodes only move forward. */
#include "daemon/tree/calltree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "daemon/tree/callnodes.h"

AUTO_FREE_FN(struct map, map_free)

/* What calltree_merge() needs, all of it there before anything is changed. */
struct merging {
	uint32_t *ended;       /* by process: the one it goes into; itself: none */
	uint32_t *ended_frame; /* by process that others go into: its frame */
	uint32_t *to;          /* by node */
	struct index children;
	uint32_t processes; /* as many as ended and ended_frame have */
};

static void merging_done(struct merging *m)
{
	free(m->ended);
	free(m->ended_frame);
	free(m->to);
	index_done(&m->children);
}

/* Which process goes into which. Returns how many do. */
static int64_t pair_up(struct calltree *t, struct merging *m,
	bool (*is_over)(void *arg, uint32_t process), void *arg)
{
	AUTO(map_free_auto) struct map *by_comm = NULL;
	int64_t merged = 0, into = 0;
	uint64_t known;
	int r = map_new(64, &by_comm);

	for (uint32_t i = 0; r == 0 && i < m->processes; i++) {
		const struct profile_process p = t->tables.processes[i]; /* they may move */

		m->ended[i] = i;
		if (p.pid == -1 || i >= t->place_count || !t->places[i].node || !is_over(arg, i))
			continue;
		if (map_get(by_comm, p.comm, &known)) {
			into = (int64_t)known;
		} else {
			into = tables_ended(&t->tables, p.comm);
			r = into < 0 ? (int)into : map_set(by_comm, p.comm, (uint64_t)into);
		}
		m->ended[i] = (uint32_t)into;
		merged++;
	}
	return r < 0 ? r : merged;
}

/* A frame and a place for each of those that others go into. */
static int make_ended(struct calltree *t, struct merging *m)
{
	uint32_t count = t->tables.process_count;
	struct process_place *place;
	int r = count ? calltree_place(t, count - 1, &place) : 0;

	m->ended_frame = calloc((size_t)count + 1, sizeof(*m->ended_frame));
	if (r < 0 || !m->ended_frame)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->processes; i++) {
		uint32_t into = m->ended[i];
		struct profile_frame f = {.kind = FRAME_PROCESS, .addr = into};

		if (into == i || m->ended_frame[into])
			continue;
		if (t->places[into].node)
			m->ended_frame[into] = t->nodes[t->places[into].node].frame;
		else if (tables_new_frame(&t->tables, &f, &m->ended_frame[into]) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int prepare(struct calltree *t, struct merging *m,
	bool (*is_over)(void *arg, uint32_t process), void *arg, int64_t *ret_merged)
{
	m->processes = t->tables.process_count;
	m->ended = calloc((size_t)m->processes + 1, sizeof(*m->ended));
	m->to = malloc((size_t)t->node_count * sizeof(*m->to));
	if (!m->ended || !m->to)
		return -ENOMEM;
	*ret_merged = pair_up(t, m, is_over, arg);
	if (*ret_merged <= 0)
		return (int)*ret_merged;
	if (make_ended(t, m) < 0 || index_reserve(&m->children, t->node_count) < 0)
		return -ENOMEM;
	return 0;
}

/* The node of n's process, or the child of that frame, if it is there already; else 0. For a
 * process *ret_process is where its node is kept. */
static uint32_t find_node(
	struct calltree *t, const struct merging *m, struct profile_node *n, uint32_t **ret_process)
{
	const struct profile_frame *f = &t->tables.frames[n->frame];
	uint32_t process = (uint32_t)f->addr;

	*ret_process = NULL;
	if (f->kind != FRAME_PROCESS)
		return calltree_find_child(t, n->parent, n->frame);
	if (process < m->processes && m->ended[process] != process) {
		process = m->ended[process];
		n->frame = m->ended_frame[process];
	}
	*ret_process = &t->places[process].node;
	return **ret_process;
}

/* Where node i goes: to one that is there already, or to *count, which never is after i. */
static uint32_t place_node(struct calltree *t, struct merging *m, uint32_t i, uint32_t *count)
{
	struct profile_node n = t->nodes[i];
	uint32_t *process = NULL, at = 0;

	if (i > ROOT_DROPPED_NODE) {
		n.parent = m->to[n.parent];
		at = find_node(t, m, &n, &process);
	}
	if (at)
		return at;
	at = (*count)++;
	t->nodes[at] = n;
	t->kin[at] = (struct kin){0};
	if (process)
		*process = at;
	else if (i > ROOT_DROPPED_NODE)
		calltree_link_child(t, at);
	return at;
}

static void move_weights(struct calltree *t, uint32_t from, uint32_t to, bool is_new)
{
	for (unsigned e = 0; e < t->options.event_count && from != to; e++) {
		t->weight[e][to] = t->weight[e][from] + (is_new ? 0 : t->weight[e][to]);
		t->samples[e][to] = t->samples[e][from] + (is_new ? 0 : t->samples[e][to]);
	}
}

/* What is not needed any more goes back, where that can be had. */
static void shrink(struct calltree *t)
{
	uint32_t cap = t->node_count + t->node_count / 4 + 64;
	struct index children = {0};

	if (cap < t->node_cap) {
		t->node_cap = cap;
		(void)tables_resize((void **)&t->nodes, cap, sizeof(*t->nodes));
		(void)tables_resize((void **)&t->kin, cap, sizeof(*t->kin));
		for (unsigned e = 0; e < t->options.event_count; e++) {
			(void)tables_resize((void **)&t->weight[e], cap, sizeof(uint64_t));
			(void)tables_resize((void **)&t->samples[e], cap, sizeof(uint64_t));
		}
	}
	if (index_reserve(&children, t->child_index.count + 1) < 0)
		return;
	for (size_t i = 0; t->child_index.slots && i <= t->child_index.mask; i++)
		if (t->child_index.slots[i].id != INDEX_NONE)
			index_put(&children, t->child_index.slots[i].hash,
				t->child_index.slots[i].id);
	index_done(&t->child_index);
	t->child_index = children;
}

int64_t calltree_merge(struct calltree *t, bool (*is_over)(void *arg, uint32_t process), void *arg)
{
	struct merging m = {0};
	uint32_t old = t->node_count, count = 0;
	int64_t merged = 0;
	int r = prepare(t, &m, is_over, arg, &merged);

	if (r < 0 || merged == 0) {
		merging_done(&m);
		return r;
	}
	index_done(&t->child_index);
	t->child_index = m.children;
	m.children = (struct index){0};
	memset(t->places, 0, t->place_count * sizeof(*t->places));
	/* Parents come first, so that where they went is known. */
	for (uint32_t i = 0; i < old; i++) {
		uint32_t before = count;

		m.to[i] = place_node(t, &m, i, &count);
		move_weights(t, i, m.to[i], count > before);
	}
	t->node_count = count;
	samplelog_renumber(&t->log, m.to);
	index_done(&t->stack_index); /* what is seen again comes into it again */
	shrink(t);
	merging_done(&m);
	return merged;
}
