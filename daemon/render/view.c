#include "daemon/render/view.h"

#include <errno.h>
#include <string.h>

#include "base/map.h"
#include "daemon/render/arrange.h"
#include "daemon/render/diff.h"
#include "daemon/render/labels.h"

/* How the tree of names comes about: weights are summed by node of the profile (by_thread: one
 * thread after the other); each node that has some is resolved to a node of names, and its
 * ancestors with it; the result is sorted and cut while it is walked in preorder. Nothing recurses:
 * stacks may be thousands deep. */

/* Children up to so many are found by looking at each, the latest first: most have one or two, and
 * are near in memory. More are in an index as well. */
#define FEW 8u

#define CUT       (UINT32_MAX - (UINT32_MAX >> 1)) /* in place_of: the node's own label did not fit */
#define CUT_DEPTH 64u                              /* of inverted stacks once all steps are spent */

struct build {
	struct view *view;
	const struct profile *p;
	const struct view_query *q;
	struct labels labels;

	/* By node of the profile. The profile's own where all of it is asked for. */
	const uint64_t *weight, *samples;
	uint64_t *summed_weight, *summed_samples;
	/* PROFILE_NO_PROCESS: below a special frame. NULL: only those right below the root matter.
	 */
	uint32_t *process_of;
	uint32_t *place_of, *stamp; /* made node, valid while stamp == round */
	uint32_t *climb;
	uint32_t round;

	uint32_t thread; /* of this round; by_thread alone */
	uint64_t steps;

	struct made *made;
	uint32_t made_count, made_cap, max_made;
	struct index children; /* (parent, label) to made node, where there are many */
};

bool view_query_needs_log(const struct view_query *q)
{
	return q->from_ns || q->to_ns || q->tid || q->by_thread;
}

bool view_query_covers(
	const struct view_query *q, const struct profile *p, const struct log_entry *e)
{
	return e->t_ns >= q->from_ns && (!q->to_ns || e->t_ns < q->to_ns) &&
		(!q->tid || p->threads[e->thread].tid == q->tid);
}

bool view_query_wants_process(const struct view_query *q, const struct profile *p, uint32_t process)
{
	return !q->pid || (process != PROFILE_NO_PROCESS && p->processes[process].pid == q->pid);
}

/* All that growing the tree took, and arranging it does not. */
static void grown(struct build *b)
{
	index_done(&b->children);
	free(b->summed_weight);
	free(b->summed_samples);
	free(b->process_of);
	free(b->place_of);
	free(b->stamp);
	free(b->climb);
}

static void build_done(struct build *b)
{
	labels_done(&b->labels);
	free(b->made);
}

static int make(struct build *b, uint32_t parent, uint32_t label, uint32_t *ret_made)
{
	if (b->made_count == b->made_cap) {
		uint32_t cap = b->made_cap ? b->made_cap * 2 : 1024;
		struct made *bigger = realloc(b->made, cap * sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		b->made = bigger;
		b->made_cap = cap;
	}
	b->made[b->made_count] = (struct made){.parent = parent, .label = label};
	*ret_made = b->made_count++;
	return 0;
}

static uint64_t hash_child(uint32_t parent, uint32_t label)
{
	return hash_u64((uint64_t)parent << 32 | label);
}

static uint32_t find_child(const struct build *b, uint32_t parent, uint32_t label)
{
	uint64_t hash;
	size_t cursor;
	uint32_t child;

	if (b->made[parent].children <= FEW) {
		child = b->made[parent].first;
		while (child && b->made[child].label != label)
			child = b->made[child].next;
		return child;
	}
	cursor = hash = hash_child(parent, label);
	while ((child = index_next(&b->children, hash, &cursor)) != INDEX_NONE) {
		if (b->made[child].parent == parent && b->made[child].label == label)
			return child;
	}
	return 0;
}

static int index_child(struct build *b, uint32_t child)
{
	int r = index_room(&b->children);

	if (r == 0)
		index_put(&b->children, hash_child(b->made[child].parent, b->made[child].label),
			child);
	return r;
}

static int add_child(struct build *b, uint32_t parent, uint32_t label, uint32_t *ret_child)
{
	struct made *p;
	uint32_t child;
	int r = make(b, parent, label, &child);

	if (r < 0)
		return r;
	p = &b->made[parent];
	b->made[child].next = p->first;
	p->first = child;
	p->children++;
	/* With this one they are many: those before it go in, too. */
	for (uint32_t c = child; r == 0 && c && p->children == FEW + 1; c = b->made[c].next)
		r = index_child(b, c);
	if (r == 0 && p->children > FEW + 1)
		r = index_child(b, child);
	*ret_child = child;
	return r;
}

/* The child of *at with that label, made if need be: *at becomes it. CUT is added to *at when there
 * is no room for it, and below such a place nothing more is made. */
static int descend(struct build *b, uint32_t label, uint32_t *at)
{
	uint32_t child;
	int r;

	if (*at & CUT)
		return 0;
	/* Nothing tells kernel functions apart: together they are one frame. */
	if (b->made[*at].label == label && labels_are_hidden(&b->labels, label))
		return 0;
	child = find_child(b, *at, label);
	if (child) {
		*at = child;
		return 0;
	}
	if (b->made_count >= b->max_made) {
		*at |= CUT;
		return 0;
	}
	r = add_child(b, *at, label, &child);
	if (r == 0)
		*at = child;
	return r;
}

static int descend_frame(struct build *b, uint32_t frame, uint32_t *at)
{
	struct label_path path;
	int r = labels_of_frame(&b->labels, frame, &path);

	for (uint32_t i = 0; r == 0 && i < path.count; i++)
		r = descend(b, b->labels.path[path.at + i], at);
	return r;
}

/* The levels between the root and a process's frames. */
static int descend_task(struct build *b, uint32_t process, uint32_t *at)
{
	uint32_t label;
	int r = 0;

	if (b->q->places)
		return 0;
	if (b->q->by_process && process != PROFILE_NO_PROCESS) {
		r = labels_of_process(&b->labels, process, &label);
		if (r == 0)
			r = descend(b, label, at);
	}
	if (r == 0 && b->q->by_thread) {
		r = labels_of_thread(&b->labels, b->thread, &label);
		if (r == 0)
			r = descend(b, label, at);
	}
	return r;
}

static uint32_t process_at_root(const struct build *b, uint32_t node)
{
	const struct profile_frame *f = &b->p->frames[b->p->nodes[node].frame];

	return f->kind == FRAME_PROCESS ? (uint32_t)f->addr : PROFILE_NO_PROCESS;
}

static int place_node(struct build *b, uint32_t node)
{
	const struct profile_node *n = &b->p->nodes[node];
	uint32_t at = 0;
	int r = 0;

	if (node != 0 && n->parent == 0)
		r = descend_task(b, process_at_root(b, node), &at);
	else if (node != 0)
		at = b->place_of[n->parent];
	if (r == 0 && node != 0 && b->p->frames[n->frame].kind != FRAME_PROCESS)
		r = descend_frame(b, n->frame, &at);
	b->place_of[node] = at;
	b->stamp[node] = b->round;
	return r;
}

/* Places node below its ancestors, which come first. */
static int resolve(struct build *b, uint32_t node, uint32_t *ret_at)
{
	uint32_t count = 0;
	int r = 0;

	for (uint32_t n = node; b->stamp[n] != b->round; n = b->p->nodes[n].parent) {
		b->climb[count++] = n;
		if (n == 0)
			break;
	}
	while (r == 0 && count > 0)
		r = place_node(b, b->climb[--count]);
	*ret_at = b->place_of[node];
	return r;
}

/* The same the other way round: from the node's innermost label up to the process. */
static int resolve_inverted(struct build *b, uint32_t node, uint32_t *ret_at)
{
	const struct profile *p = b->p;
	uint32_t depth = 0, at = 0;
	int r = node == 0 ? 0 : descend_task(b, b->process_of[node], &at);

	for (uint32_t n = node; r == 0 && n != 0 && !(at & CUT); n = p->nodes[n].parent) {
		struct label_path path;

		if (p->frames[p->nodes[n].frame].kind == FRAME_PROCESS)
			break;
		r = labels_of_frame(&b->labels, p->nodes[n].frame, &path);
		for (uint32_t i = path.count; r == 0 && i-- > 0;) {
			if (b->steps >= (uint64_t)VIEW_STEPS_PER_NODE * b->max_made &&
				depth >= CUT_DEPTH) {
				at |= CUT;
				break;
			}
			r = descend(b, b->labels.path[path.at + i], &at);
			depth++;
			b->steps++;
		}
	}
	*ret_at = at;
	return r;
}

static void add_weight(struct build *b, uint32_t node, uint32_t at)
{
	if (at & CUT) {
		b->view->folded_weight += b->weight[node];
		at &= ~CUT;
	}
	b->made[at].total += b->weight[node];
	b->made[at].samples += b->samples[node];
	if (b->view->place_of)
		b->view->place_of[node] = at;
}

static int book(struct build *b, uint32_t node)
{
	uint32_t at;
	int r = b->q->inverted ? resolve_inverted(b, node, &at) : resolve(b, node, &at);

	if (r == 0)
		add_weight(b, node, at);
	return r;
}

static bool wanted_node(const struct build *b, uint32_t node)
{
	return !b->q->pid || view_query_wants_process(b->q, b->p, b->process_of[node]);
}

static bool wanted_entry(const struct build *b, const struct log_entry *e)
{
	return e->event == (unsigned)b->q->event && view_query_covers(b->q, b->p, e) &&
		wanted_node(b, e->node);
}

static bool has_weight(const struct build *b, uint32_t node)
{
	return b->weight[node] || b->samples[node];
}

/* Parents come before their children: one way back finds who is needed, one forth places them. */
static int book_downwards(struct build *b)
{
	const struct profile_node *nodes = b->p->nodes;
	int r = 0;

	b->round++;
	for (uint32_t i = b->p->node_count; i-- > 0;) {
		if (has_weight(b, i))
			b->stamp[i] = b->round;
		if (b->stamp[i] == b->round)
			b->stamp[nodes[i].parent] = b->round;
	}
	for (uint32_t i = 0; r == 0 && i < b->p->node_count; i++) {
		if (b->stamp[i] != b->round)
			continue;
		r = place_node(b, i);
		if (r == 0 && has_weight(b, i))
			add_weight(b, i, b->place_of[i]);
	}
	return r;
}

static int book_all(struct build *b)
{
	int r = 0;

	if (!b->q->inverted)
		return book_downwards(b);
	for (uint32_t i = 0; r == 0 && i < b->p->node_count; i++) {
		if (has_weight(b, i))
			r = book(b, i);
	}
	return r;
}

/* Room to sum in, where it is not the profile's own. */
static int sum_apart(struct build *b)
{
	size_t nodes = b->p->node_count + (size_t)1;

	b->weight = b->summed_weight = calloc(nodes, sizeof(*b->summed_weight));
	b->samples = b->summed_samples = calloc(nodes, sizeof(*b->summed_samples));
	return b->weight && b->samples ? 0 : -ENOMEM;
}

static int build_from_tree(struct build *b)
{
	const struct profile *p = b->p;
	size_t at = (size_t)b->q->event * p->node_count;
	int r = 0;

	b->weight = p->self_weight + at;
	b->samples = p->self_samples + at;
	if (b->q->pid)
		r = sum_apart(b);
	for (uint32_t i = 0; r == 0 && b->q->pid && i < p->node_count; i++) {
		if (!wanted_node(b, i))
			continue;
		b->summed_weight[i] = p->self_weight[at + i];
		b->summed_samples[i] = p->self_samples[at + i];
	}
	return r < 0 ? r : book_all(b);
}

static int build_from_log(struct build *b)
{
	const struct profile *p = b->p;
	int r = sum_apart(b);

	for (uint32_t i = 0; r == 0 && i < p->log_count; i++) {
		const struct log_entry *e = &p->log[i];

		if (!wanted_entry(b, e))
			continue;
		b->summed_weight[e->node] += e->weight;
		b->summed_samples[e->node]++;
	}
	return r < 0 ? r : book_all(b);
}

/* The log entries of one thread: summed by node, booked, and the sums cleared for the next. */
static int book_thread(struct build *b, const uint32_t *entries, uint32_t count)
{
	const struct log_entry *log = b->p->log;
	int r = 0;

	b->round++;
	for (uint32_t i = 0; i < count; i++) {
		b->summed_weight[log[entries[i]].node] += log[entries[i]].weight;
		b->summed_samples[log[entries[i]].node]++;
	}
	for (uint32_t i = 0; r == 0 && i < count; i++) {
		uint32_t node = log[entries[i]].node;

		if (b->samples[node] == 0)
			continue;
		r = book(b, node);
		b->summed_weight[node] = b->summed_samples[node] = 0;
	}
	return r;
}

static int build_by_thread(struct build *b)
{
	const struct profile *p = b->p;
	AUTO(free_auto) uint32_t *starts = calloc(p->thread_count + (size_t)2, sizeof(*starts));
	AUTO(free_auto) uint32_t *entries = calloc(p->log_count + (size_t)1, sizeof(*entries));
	uint32_t first = 0;
	int r = sum_apart(b);

	if (r < 0 || !starts || !entries)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->log_count; i++)
		starts[p->log[i].thread + 1] += wanted_entry(b, &p->log[i]);
	for (uint32_t i = 0; i < p->thread_count; i++)
		starts[i + 1] += starts[i];
	/* Filling moves each start to its end, which is the next one's start. */
	for (uint32_t i = 0; i < p->log_count; i++) {
		if (wanted_entry(b, &p->log[i]))
			entries[starts[p->log[i].thread]++] = i;
	}
	for (b->thread = 0; r == 0 && b->thread < p->thread_count; b->thread++) {
		if (starts[b->thread] > first)
			r = book_thread(b, entries + first, starts[b->thread] - first);
		first = starts[b->thread];
	}
	return r;
}

static int build_init(struct build *b, struct view *v)
{
	const struct profile *p = v->profile;
	size_t nodes = p->node_count + (size_t)1;
	uint32_t root;
	int r = labels_init(&b->labels, p, &v->query, v->arena);

	if (r < 0)
		return r;
	b->view = v;
	b->p = p;
	b->q = &v->query;
	b->max_made = VIEW_NODES_MAX;
	if (b->q->max_nodes && b->q->max_nodes < VIEW_NODES_MAX)
		b->max_made = b->q->max_nodes;
	if (b->q->pid || b->q->inverted) {
		b->process_of = malloc(nodes * sizeof(*b->process_of));
		if (!b->process_of)
			return -ENOMEM;
		profile_find_processes(b->p, b->process_of);
	}
	b->place_of = malloc(nodes * sizeof(*b->place_of));
	b->stamp = calloc(nodes, sizeof(*b->stamp));
	b->climb = malloc(nodes * sizeof(*b->climb));
	if (!b->place_of || !b->stamp || !b->climb)
		return -ENOMEM;
	if (b->q->places) {
		v->place_of = calloc(nodes, sizeof(*v->place_of));
		if (!v->place_of)
			return -ENOMEM;
	}
	return make(b, 0, 0, &root);
}

static void say_cover(struct view *v)
{
	const struct profile *p = v->profile;
	const struct view_query *q = &v->query;
	uint64_t log_from = p->ledger.log_from_ns;

	v->covers_from_ns = p->meta.started_ns;
	v->covers_to_ns = p->meta.taken_ns;
	if (!view_query_needs_log(q))
		return;
	v->log_short = log_from > q->from_ns;
	if (v->covers_from_ns < log_from)
		v->covers_from_ns = log_from;
	if (v->covers_from_ns < q->from_ns)
		v->covers_from_ns = q->from_ns;
	if (q->to_ns && v->covers_to_ns > q->to_ns)
		v->covers_to_ns = q->to_ns;
}

static int build_view(struct view *v)
{
	struct build b = {0};
	int r = build_init(&b, v);

	if (r == 0 && v->profile->event_count > 0) {
		if (v->query.by_thread && !v->query.places)
			r = build_by_thread(&b);
		else if (view_query_needs_log(&v->query))
			r = build_from_log(&b);
		else
			r = build_from_tree(&b);
	}
	grown(&b);
	if (r == 0)
		r = arrange(v, &b.labels, b.made, b.made_count);
	build_done(&b);
	return r;
}

int view_new(const struct profile *p, const struct view_query *query, struct view **ret_view)
{
	AUTO(view_free_auto) struct view *v = NULL;
	int event = query->event < 0 ? 0 : query->event;
	int r;

	if (event > 0 && (unsigned)event >= p->event_count)
		return -EINVAL;
	if (view_query_needs_log(query) && !p->log)
		return -ENODATA;
	v = calloc(1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	v->profile = profile_ref((struct profile *)p);
	v->query = *query;
	v->query.event = event;
	r = arena_new(&v->arena);
	if (r == 0)
		r = build_view(v);
	if (r < 0)
		return r;
	say_cover(v);
	*ret_view = MOVE(v);
	return 0;
}

void view_free(struct view *v)
{
	if (!v)
		return;
	diff_free(v->diff);
	profile_unref((struct profile *)v->profile);
	arena_free(v->arena);
	free(v->names);
	free(v->nodes);
	free(v->place_of);
	free(v);
}

uint32_t view_deepest(const struct view *v)
{
	uint32_t depth = 0;

	for (uint32_t i = 0; i < v->node_count; i++)
		depth = v->nodes[i].depth > depth ? v->nodes[i].depth : depth;
	return depth;
}
