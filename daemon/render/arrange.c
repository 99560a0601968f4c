#include "daemon/render/arrange.h"

#include <errno.h>
#include <string.h>

struct arranging {
	struct view *view;
	const struct labels *labels;
	struct made *made;
	uint32_t count;
	uint32_t *ranks;   /* by label: its place in their order */
	uint64_t least;    /* total; what has less is folded */
	uint32_t *node_of; /* by made node, when places are asked for */
};

#define NOWHERE UINT32_MAX

static void sum_up(struct arranging *b)
{
	for (uint32_t i = b->count; i-- > 0;) {
		struct made *m = &b->made[i];
		struct made *parent = &b->made[m->parent];

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

/* The total at that place in the order of totals, the largest first: byte by byte, the highest
 * first. */
static uint64_t total_at(const struct arranging *b, uint32_t place)
{
	uint64_t prefix = 0, mask = 0;

	for (int shift = 56; shift >= 0; shift -= 8) {
		uint32_t counts[256] = {0};
		unsigned byte = 255;

		for (uint32_t i = 0; i < b->count; i++)
			if ((b->made[i].total & mask) == prefix)
				counts[b->made[i].total >> shift & 255]++;
		while (place >= counts[byte])
			place -= counts[byte--];
		prefix |= (uint64_t)byte << shift;
		mask |= (uint64_t)255 << shift;
	}
	return prefix;
}

static int compare_labels(const void *a, const void *b, void *arg)
{
	const struct view_name *names = arg;

	return labels_compare(&names[*(const uint32_t *)a], &names[*(const uint32_t *)b]);
}

/* order[i] is the label at place i. */
static int rank_labels(struct arranging *b, uint32_t **ret_order)
{
	uint32_t count = b->labels->count;
	AUTO(free_auto) uint32_t *order = malloc(count * sizeof(*order));

	b->ranks = malloc(count * sizeof(*b->ranks));
	if (!order || !b->ranks)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	qsort_r(order, count, sizeof(*order), compare_labels, b->labels->names);
	for (uint32_t i = 0; i < count; i++)
		b->ranks[order[i]] = i;
	*ret_order = MOVE(order);
	return 0;
}

struct visit {
	uint32_t made, parent, depth; /* parent: in view->nodes */
};

static bool folds(const struct arranging *b, const struct made *m, uint32_t depth)
{
	const struct view_query *q = &b->view->query;

	return depth > 0 &&
		((q->max_depth && depth > q->max_depth) || m->total < b->least ||
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

#define FEW 16u /* are sorted by putting each in its place */

static int later_first(const void *a, const void *b, void *arg)
{
	const struct visit *x = a, *y = b;
	const struct arranging *whole = arg;
	uint32_t rx = whole->ranks[whole->made[x->made].label];
	uint32_t ry = whole->ranks[whole->made[y->made].label];

	return (rx < ry) - (rx > ry);
}

/* The first of them last: it is taken first. Their labels differ. */
static void sort_visits(struct arranging *b, struct visit *list, uint32_t count)
{
	if (count > FEW) {
		qsort_r(list, count, sizeof(*list), later_first, b);
		return;
	}
	for (uint32_t i = 1; i < count; i++) {
		struct visit one = list[i];
		uint32_t at = i;

		while (at > 0 && later_first(&list[at - 1], &one, b) > 0) {
			list[at] = list[at - 1];
			at--;
		}
		list[at] = one;
	}
}

static int walk(struct arranging *b)
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
		uint32_t own = v->node_count, first = top;

		if (folds(b, m, at.depth)) {
			fold(v, m, at.parent);
			continue;
		}
		if (b->node_of)
			b->node_of[at.made] = own;
		v->nodes[v->node_count++] = (struct view_node){
			.depth = at.depth,
			.name = b->ranks[m->label],
			.self = m->total,
			.total = m->total,
			.samples = m->samples,
			.self_samples = m->samples,
		};
		for (uint32_t c = m->first; c; c = b->made[c].next) {
			v->nodes[own].self -= b->made[c].total;
			v->nodes[own].self_samples -= b->made[c].samples;
			stack[top++] = (struct visit){c, own, at.depth + 1};
		}
		sort_visits(b, stack + first, top - first);
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

/* What was folded is where its parent is, which comes before it. */
static void move_places(struct arranging *b)
{
	for (uint32_t i = 0; i < b->count; i++)
		if (b->node_of[i] == NOWHERE)
			b->node_of[i] = b->node_of[b->made[i].parent];
	for (uint32_t i = 0; i < b->view->profile->node_count; i++)
		b->view->place_of[i] = b->node_of[b->view->place_of[i]];
}

static int prepare_places(struct arranging *b)
{
	b->node_of = malloc(b->count * sizeof(*b->node_of));
	if (!b->node_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->count; i++)
		b->node_of[i] = NOWHERE;
	return 0;
}

int arrange(struct view *v, const struct labels *labels, struct made *made, uint32_t count)
{
	struct arranging whole = {.view = v, .labels = labels, .made = made, .count = count};
	struct arranging *b = &whole;
	AUTO(free_auto) uint32_t *order = NULL;
	int r;

	sum_up(b);
	/* Where some weigh the same as the first that has no place, they have none either. */
	if (v->query.max_shown && count > v->query.max_shown)
		b->least = total_at(b, v->query.max_shown) + 1;
	r = rank_labels(b, &order);
	if (r == 0 && v->place_of)
		r = prepare_places(b);
	if (r == 0)
		r = walk(b);
	if (r == 0 && v->place_of)
		move_places(b);
	if (r == 0)
		r = take_names(b, order);
	free(b->ranks);
	free(b->node_of);
	return r;
}
