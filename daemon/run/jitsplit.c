#include "daemon/run/jitsplit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "daemon/tree/intern.h"

#define NONE UINT32_MAX

/* Where the samples of one node go, from <= t < to. */
struct target {
	uint64_t from, to;
	uint32_t node;
};

struct work {
	struct profile *p;
	struct jitsplit *splits;
	const uint64_t *since_ns;
	uint32_t *split_of;     /* by frame of before: index, or NONE */
	bool *touched;          /* by node of before: it, or one above it, is to be split */
	struct target *targets; /* by node of before: the last answer */
	uint32_t *climb;
	struct profile_node *nodes;
	uint32_t node_count, node_room, old_nodes;
	struct index children; /* of new nodes alone */
	uint32_t *moved;       /* by log entry: its node, or NONE */
	uint32_t *rest;        /* by node of before: where what the log does not have goes */
};

static void work_done(struct work *w)
{
	free(w->split_of);
	free(w->touched);
	free(w->targets);
	free(w->climb);
	free(w->nodes);
	free(w->moved);
	free(w->rest);
	index_done(&w->children);
}

static int add_frames(struct work *w, uint32_t count)
{
	struct profile *p = w->p;
	uint64_t total = p->frame_count;
	struct profile_frame *more;

	for (uint32_t i = 0; i < count; i++)
		total += w->splits[i].count - 1;
	if (total >= UINT32_MAX)
		return -ENOMEM;
	w->split_of = malloc((size_t)total * sizeof(*w->split_of));
	more = realloc(p->frames, (size_t)total * sizeof(*more));
	if (more)
		p->frames = more;
	if (!w->split_of || !more)
		return -ENOMEM;
	memset(w->split_of, 0xff, (size_t)total * sizeof(*w->split_of));
	for (uint32_t i = 0; i < count; i++) {
		struct jitsplit *s = &w->splits[i];

		w->split_of[s->frame] = i;
		s->extra = p->frame_count;
		for (uint32_t k = 0; k + 1 < s->count; k++)
			p->frames[p->frame_count++] = p->frames[s->frame];
	}
	return 0;
}

static int start(struct work *w)
{
	struct profile *p = w->p;
	size_t n = (size_t)p->node_count + 1;

	w->old_nodes = w->node_count = p->node_count;
	w->node_room = p->node_count + p->node_count / 4 + 64;
	w->nodes = calloc(w->node_room, sizeof(*w->nodes));
	w->touched = calloc(n, sizeof(*w->touched));
	w->targets = calloc(n, sizeof(*w->targets));
	w->climb = calloc(n, sizeof(*w->climb));
	w->rest = malloc(n * sizeof(*w->rest));
	w->moved = malloc(((size_t)p->log_count + 1) * sizeof(*w->moved));
	if (!w->nodes || !w->touched || !w->targets || !w->climb || !w->rest || !w->moved)
		return -ENOMEM;
	if (p->node_count)
		memcpy(w->nodes, p->nodes, p->node_count * sizeof(*w->nodes));
	for (uint32_t i = 1; i < p->node_count; i++)
		w->touched[i] =
			w->touched[p->nodes[i].parent] || w->split_of[p->nodes[i].frame] != NONE;
	return 0;
}

/* The frame of that time; narrows the target's span to that of its function. */
static uint32_t frame_at(const struct work *w, uint32_t frame, uint64_t t_ns, struct target *t)
{
	const struct jitsplit *s;
	const uint64_t *since;
	uint32_t k;

	if (w->split_of[frame] == NONE)
		return frame;
	s = &w->splits[w->split_of[frame]];
	since = w->since_ns + s->since_at;
	for (k = s->count - 1; k > 0 && since[k] > t_ns; k--)
		;
	if (since[k] > t->from)
		t->from = since[k];
	if (k + 1 < s->count && since[k + 1] < t->to)
		t->to = since[k + 1];
	return k + 1 < s->count ? s->extra + k : frame;
}

static int descend(struct work *w, uint32_t frame, uint32_t *at)
{
	uint64_t hash = hash_u64((uint64_t)*at << 32 | frame);
	size_t cursor = hash;
	uint32_t child;

	while ((child = index_next(&w->children, hash, &cursor)) != INDEX_NONE)
		if (w->nodes[child].parent == *at && w->nodes[child].frame == frame) {
			*at = child;
			return 0;
		}
	if (w->node_count == w->node_room) {
		uint32_t room = w->node_room * 2;
		struct profile_node *more = realloc(w->nodes, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		w->nodes = more;
		w->node_room = room;
	}
	if (index_room(&w->children) < 0)
		return -ENOMEM;
	child = w->node_count++;
	w->nodes[child] = (struct profile_node){.parent = *at, .frame = frame};
	index_put(&w->children, hash, child);
	*at = child;
	return 0;
}

/* The node that stands for `node` at that time. */
static int node_at(struct work *w, uint32_t node, uint64_t t_ns, uint32_t *ret)
{
	struct target t = {.to = UINT64_MAX};
	uint32_t depth = 0, at = node;
	int r = 0;

	if (w->targets[node].to && t_ns >= w->targets[node].from && t_ns < w->targets[node].to) {
		*ret = w->targets[node].node;
		return 0;
	}
	for (; w->touched[at]; at = w->nodes[at].parent)
		w->climb[depth++] = at;
	while (r == 0 && depth > 0) {
		uint32_t old = w->climb[--depth], frame;

		frame = frame_at(w, w->nodes[old].frame, t_ns, &t);
		if (at == w->nodes[old].parent && frame == w->nodes[old].frame)
			at = old;
		else
			r = descend(w, frame, &at);
	}
	t.node = *ret = at;
	w->targets[node] = t;
	return r;
}

static bool has_samples(const struct profile *p, uint32_t node)
{
	for (uint32_t e = 0; e < p->event_count; e++)
		if (p->self_samples[(size_t)e * p->node_count + node])
			return true;
	return false;
}

static int find_targets(struct work *w)
{
	const struct profile *p = w->p;
	uint64_t from = p->ledger.log_from_ns;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < p->log_count; i++) {
		w->moved[i] = NONE;
		if (w->touched[p->log[i].node])
			r = node_at(w, p->log[i].node, p->log[i].t_ns, &w->moved[i]);
	}
	for (uint32_t i = 0; r == 0 && i < w->old_nodes; i++) {
		w->rest[i] = i;
		if (w->touched[i] && from && has_samples(p, i))
			r = node_at(w, i, from - 1, &w->rest[i]);
	}
	return r;
}

static int widen(struct work *w, uint64_t **cells)
{
	struct profile *p = w->p;
	uint64_t *more = calloc((size_t)p->event_count * w->node_count + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	for (uint32_t e = 0; e < p->event_count && w->old_nodes; e++)
		memcpy(more + (size_t)e * w->node_count, *cells + (size_t)e * w->old_nodes,
			w->old_nodes * sizeof(*more));
	free(*cells);
	*cells = more;
	return 0;
}

static void move(uint64_t *cells, uint32_t from, uint32_t to, uint64_t amount)
{
	uint64_t n = amount < cells[from] ? amount : cells[from];

	cells[from] -= n;
	cells[to] += n;
}

static void move_samples(struct work *w)
{
	struct profile *p = w->p;

	for (uint32_t i = 0; i < p->log_count; i++) {
		struct log_entry *e = &p->log[i];
		size_t at = (size_t)e->event * w->node_count;

		if (w->moved[i] == NONE || w->moved[i] == e->node)
			continue;
		move(p->self_weight + at, e->node, w->moved[i], e->weight);
		move(p->self_samples + at, e->node, w->moved[i], 1);
		e->node = w->moved[i];
	}
}

/* What is left of a node once its logged samples are set aside was there before the log began. */
static int move_rest(struct work *w)
{
	struct profile *p = w->p;
	size_t cells = (size_t)p->event_count * w->node_count;
	AUTO(free_auto) uint64_t *weight = calloc(cells + 1, sizeof(*weight));
	AUTO(free_auto) uint64_t *samples = calloc(cells + 1, sizeof(*samples));

	if (!weight || !samples)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->log_count; i++) {
		size_t at = (size_t)p->log[i].event * w->node_count + p->log[i].node;

		weight[at] += p->log[i].weight;
		samples[at]++;
	}
	for (uint32_t e = 0; e < p->event_count; e++)
		for (uint32_t i = 0; i < w->old_nodes; i++) {
			size_t at = (size_t)e * w->node_count;

			if (w->rest[i] == i)
				continue;
			if (p->self_weight[at + i] > weight[at + i])
				move(p->self_weight + at, i, w->rest[i],
					p->self_weight[at + i] - weight[at + i]);
			if (p->self_samples[at + i] > samples[at + i])
				move(p->self_samples + at, i, w->rest[i],
					p->self_samples[at + i] - samples[at + i]);
		}
	return 0;
}

static int split(struct work *w, uint32_t count)
{
	struct profile *p = w->p;
	int r = add_frames(w, count);

	if (r == 0)
		r = start(w);
	if (r == 0)
		r = find_targets(w);
	if (r == 0)
		r = widen(w, &p->self_weight);
	if (r == 0)
		r = widen(w, &p->self_samples);
	if (r < 0)
		return r;
	free(p->nodes);
	p->nodes = w->nodes;
	w->nodes = NULL;
	p->node_count = w->node_count;
	p->ledger.frames_total = p->frame_count;
	move_samples(w);
	return p->ledger.log_from_ns ? move_rest(w) : 0;
}

int jitsplit_apply(
	struct profile *p, struct jitsplit *splits, uint32_t count, const uint64_t *since_ns)
{
	struct work w = {.p = p, .splits = splits, .since_ns = since_ns};
	int r = split(&w, count);

	work_done(&w);
	return r;
}
