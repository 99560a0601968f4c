#include "daemon/render/arrange.h"

#include <errno.h>
#include <string.h>

struct arranging {
	struct view *view;
	const struct labels *labels;
	struct made *made;
	uint32_t count;
};

static void sum_up(struct arranging *b)
{
	for (uint32_t i = b->count; i-- > 0;) {
		struct made *m = &b->made[i];
		struct made *parent = &b->made[m->parent];

		m->total += m->self;
		m->samples += m->self_samples;
		m->nodes++;
		if (i == 0)
			break;
		parent->total += m->total;
		parent->samples += m->samples;
		parent->nodes += m->nodes;
	}
	b->view->total = b->made[0].total;
	b->view->samples = b->made[0].samples;
}

static int compare_labels(const void *a, const void *b, void *arg)
{
	const struct view_name *names = arg;

	return labels_compare(&names[*(const uint32_t *)a], &names[*(const uint32_t *)b]);
}

/* order[i] is the label at place i; ranks[label] is its place. */
static int rank_labels(struct arranging *b, uint32_t **ret_order, uint32_t **ret_ranks)
{
	uint32_t count = b->labels->count;
	AUTO(free_auto) uint32_t *order = malloc(count * sizeof(*order));
	AUTO(free_auto) uint32_t *ranks = malloc(count * sizeof(*ranks));

	if (!order || !ranks)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	qsort_r(order, count, sizeof(*order), compare_labels, b->labels->names);
	for (uint32_t i = 0; i < count; i++)
		ranks[order[i]] = i;
	*ret_order = MOVE(order);
	*ret_ranks = MOVE(ranks);
	return 0;
}

/* One pass of a stable counting sort: to[] gets from[] ordered by key, keys below keys. from NULL:
 * 0, 1, … starts, of keys + 1 zeroes, becomes where each key ends. */
static void sort_by(const struct arranging *b, bool by_parent, const uint32_t *ranks,
	const uint32_t *from, uint32_t *to, uint32_t *starts, uint32_t keys)
{
	for (uint32_t i = 1; i < b->count; i++)
		starts[(by_parent ? b->made[i].parent : ranks[b->made[i].label]) + 1]++;
	for (uint32_t k = 0; k < keys; k++)
		starts[k + 1] += starts[k];
	for (uint32_t i = 1; i < b->count; i++) {
		uint32_t m = from ? from[i - 1] : i;

		to[starts[by_parent ? b->made[m].parent : ranks[b->made[m].label]]++] = m;
	}
}

/* Children lie together, in their order: those of m end at ends[m] and begin at ends[m - 1]. */
static int sort_children(
	struct arranging *b, const uint32_t *ranks, uint32_t **ret_children, uint32_t **ret_ends)
{
	size_t most = b->count > b->labels->count ? b->count : b->labels->count;
	AUTO(free_auto) uint32_t *by_label = malloc(b->count * sizeof(*by_label));
	AUTO(free_auto) uint32_t *children = malloc(b->count * sizeof(*children));
	AUTO(free_auto) uint32_t *ends = calloc(most + 1, sizeof(*ends));

	if (!by_label || !children || !ends)
		return -ENOMEM;
	sort_by(b, false, ranks, NULL, by_label, ends, b->labels->count);
	memset(ends, 0, (most + 1) * sizeof(*ends));
	sort_by(b, true, ranks, by_label, children, ends, b->count);
	*ret_children = MOVE(children);
	*ret_ends = MOVE(ends);
	return 0;
}

struct visit {
	uint32_t made, parent, depth; /* parent: in view->nodes */
};

static bool folds(const struct arranging *b, const struct made *m, uint32_t depth)
{
	const struct view_query *q = &b->view->query;

	return depth > 0 &&
		((q->max_depth && depth > q->max_depth) ||
			(double)m->total < q->min_share * (double)b->view->total);
}

static void fold(struct view *v, const struct made *m, uint32_t parent)
{
	v->nodes[parent].self += m->total;
	v->nodes[parent].self_samples += m->samples;
	v->folded_weight += m->total;
	v->folded_nodes += m->nodes;
}

/* What was folded needs no room; where shrinking fails, the room stays. */
static void give_back(struct view *v)
{
	struct view_node *less = realloc(v->nodes, v->node_count * sizeof(*less));

	if (less)
		v->nodes = less;
}

static int walk(
	struct arranging *b, const uint32_t *ranks, const uint32_t *children, const uint32_t *ends)
{
	struct view *v = b->view;
	AUTO(free_auto) struct visit *stack = malloc(b->count * sizeof(*stack));
	uint32_t top = 0;

	v->nodes = malloc(b->count * sizeof(*v->nodes));
	if (!stack || !v->nodes)
		return -ENOMEM;
	stack[top++] = (struct visit){0};
	while (top > 0) {
		struct visit at = stack[--top];
		const struct made *m = &b->made[at.made];
		uint32_t first = at.made ? ends[at.made - 1] : 0;
		uint32_t own = v->node_count;

		if (folds(b, m, at.depth)) {
			fold(v, m, at.parent);
			continue;
		}
		v->nodes[v->node_count++] = (struct view_node){
			.depth = at.depth,
			.name = ranks[m->label],
			.self = m->self,
			.total = m->total,
			.samples = m->samples,
			.self_samples = m->self_samples,
		};
		for (uint32_t i = ends[at.made]; i-- > first;)
			stack[top++] = (struct visit){children[i], own, at.depth + 1};
	}
	give_back(v);
	return 0;
}

/* Labels that are in the tree move to the view, in their order; the nodes' names change to their
 * places. */
static int take_names(struct arranging *b, const uint32_t *order)
{
	struct view *v = b->view;
	uint32_t count = b->labels->count;
	AUTO(free_auto) uint32_t *place = calloc(count, sizeof(*place));

	if (!place)
		return -ENOMEM;
	for (uint32_t i = 0; i < v->node_count; i++)
		place[v->nodes[i].name] = 1;
	for (uint32_t i = 0; i < count; i++)
		v->name_count += place[i];
	v->names = malloc(v->name_count * sizeof(*v->names));
	if (!v->names)
		return -ENOMEM;
	v->name_count = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (!place[i])
			continue;
		place[i] = v->name_count;
		v->names[v->name_count++] = b->labels->names[order[i]];
	}
	for (uint32_t i = 0; i < v->node_count; i++)
		v->nodes[i].name = place[v->nodes[i].name];
	return 0;
}

int arrange(struct view *v, const struct labels *labels, struct made *made, uint32_t count)
{
	struct arranging whole = {.view = v, .labels = labels, .made = made, .count = count};
	struct arranging *b = &whole;
	AUTO(free_auto) uint32_t *order = NULL;
	AUTO(free_auto) uint32_t *ranks = NULL;
	AUTO(free_auto) uint32_t *children = NULL;
	AUTO(free_auto) uint32_t *ends = NULL;
	int r;

	sum_up(b);
	r = rank_labels(b, &order, &ranks);
	if (r == 0)
		r = sort_children(b, ranks, &children, &ends);
	if (r == 0)
		r = walk(b, ranks, children, ends);
	if (r == 0)
		r = take_names(b, order);
	return r;
}
