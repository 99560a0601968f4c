#include "daemon/render/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/significance.h"
#include "daemon/render/labels.h"
#include "daemon/render/paths.h"

#define TEXT_MAX ((size_t)256 << 20)

struct merge {
	struct diff *d;
	struct view *view; /* that is being made */
	struct paths paths;
	struct view_name *names; /* by name of paths, as other has them where both do */
	struct diff_node *cells; /* by node of paths */
	uint32_t *ranks, *order; /* of names */
	uint32_t *children;      /* nodes by parent, and by rank among siblings */
	uint32_t *first; /* by node: its first one in children; of those after it: its end */
};

static void merge_done(struct merge *m)
{
	paths_done(&m->paths);
	free(m->names);
	free(m->cells);
	free(m->ranks);
	free(m->order);
	free(m->children);
	free(m->first);
}

/* ---- names ---- */

static bool is_level(uint8_t kind)
{
	return kind == VIEW_PROCESS || kind == VIEW_THREAD;
}

/* "comm (42)" and "comm (42) #2" without what tells one run from another. */
static int plain_level(struct arena *arena, struct view_name *n)
{
	const char *end = NULL;

	for (const char *at = n->text; (at = strstr(at, " (")); at++)
		end = at;
	if (!end || end == n->text)
		return 0;
	n->text = arena_strdup(arena, n->text, (size_t)(end - n->text));
	return n->text ? 0 : -ENOMEM;
}

static int take_name(struct merge *m, const struct view_name *given, uint32_t *ret_name)
{
	struct view_name n = *given;
	uint8_t kind = n.kind == VIEW_INLINED ? VIEW_USER : n.kind;
	int r = is_level(kind) ? plain_level(m->view->arena, &n) : 0;

	n.file = "";
	n.line = 0;
	if (r == 0)
		r = paths_name(&m->paths, n.text, m->d->options.any_module ? "" : n.module, kind,
			ret_name);
	if (r == 0)
		m->names[*ret_name] = n;
	return r;
}

/* ---- nodes ---- */

static int take_side(struct merge *m, enum diff_side side)
{
	const struct view *v = m->d->side[side];
	AUTO(free_auto) uint32_t *names = malloc((v->name_count + (size_t)1) * sizeof(*names));
	AUTO(free_auto) uint32_t *above = calloc(view_deepest(v) + (size_t)2, sizeof(*above));
	int r = names && above ? 0 : -ENOMEM;

	for (uint32_t i = 0; r == 0 && i < v->name_count; i++)
		r = take_name(m, &v->names[i], &names[i]);
	for (uint32_t i = 0; r == 0 && i < v->node_count; i++) {
		const struct view_node *n = &v->nodes[i];
		uint32_t id;

		r = paths_node(&m->paths, above[n->depth], names[n->name], &id);
		if (r < 0)
			break;
		above[n->depth + 1] = id;
		m->cells[id].side[side].self += n->self;
		m->cells[id].side[side].self_samples += n->self_samples;
	}
	return r;
}

static void sum_up(struct merge *m)
{
	for (uint32_t i = m->paths.node_count; i-- > 0;) {
		for (int s = 0; s < DIFF_SIDES; s++) {
			struct diff_cell *c = &m->cells[i].side[s];
			struct diff_cell *parent = &m->cells[m->paths.nodes[i].parent].side[s];

			c->total += c->self;
			c->samples += c->self_samples;
			if (i == 0)
				continue;
			parent->total += c->total;
			parent->samples += c->samples;
		}
	}
}

static int take_sides(struct merge *m)
{
	const struct view *base = m->d->side[DIFF_BASE], *other = m->d->side[DIFF_OTHER];
	int r = paths_init(&m->paths, TEXT_MAX);

	m->names = calloc((size_t)base->name_count + other->name_count + 1, sizeof(*m->names));
	m->cells = calloc((size_t)base->node_count + other->node_count + 1, sizeof(*m->cells));
	if (r == 0 && (!m->names || !m->cells))
		r = -ENOMEM;
	if (r == 0)
		r = take_side(m, DIFF_BASE);
	if (r == 0)
		r = take_side(m, DIFF_OTHER);
	if (r == 0)
		sum_up(m);
	return r;
}

/* ---- order ---- */

static int compare_names(const void *a, const void *b, void *arg)
{
	const struct view_name *names = arg;

	return labels_compare(&names[*(const uint32_t *)a], &names[*(const uint32_t *)b]);
}

static int compare_nodes(const void *a, const void *b, void *arg)
{
	const struct merge *m = arg;
	const struct path_node *x = &m->paths.nodes[*(const uint32_t *)a];
	const struct path_node *y = &m->paths.nodes[*(const uint32_t *)b];

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	return (m->ranks[x->name] > m->ranks[y->name]) - (m->ranks[x->name] < m->ranks[y->name]);
}

static int put_in_order(struct merge *m)
{
	uint32_t names = m->paths.name_count, nodes = m->paths.node_count, at = 0;

	m->order = malloc((names + (size_t)1) * sizeof(*m->order));
	m->ranks = malloc((names + (size_t)1) * sizeof(*m->ranks));
	m->children = malloc((nodes + (size_t)1) * sizeof(*m->children));
	m->first = malloc((nodes + (size_t)1) * sizeof(*m->first));
	if (!m->order || !m->ranks || !m->children || !m->first)
		return -ENOMEM;
	for (uint32_t i = 0; i < names; i++)
		m->order[i] = i;
	qsort_r(m->order, names, sizeof(*m->order), compare_names, m->names);
	for (uint32_t i = 0; i < names; i++)
		m->ranks[m->order[i]] = i;
	for (uint32_t i = 1; i < nodes; i++)
		m->children[i - 1] = i;
	qsort_r(m->children, nodes - 1, sizeof(*m->children), compare_nodes, m);
	for (uint32_t i = 0; i <= nodes; i++) {
		while (at < nodes - 1 && m->paths.nodes[m->children[at]].parent < i)
			at++;
		m->first[i] = at;
	}
	return 0;
}

/* ---- the view ---- */

static bool folds(const struct merge *m, uint32_t id)
{
	const struct diff_node *n = &m->cells[id], *root = &m->cells[0];
	double least = m->d->options.min_share;

	return (double)n->side[DIFF_BASE].total < least * (double)root->side[DIFF_BASE].total &&
		(double)n->side[DIFF_OTHER].total < least * (double)root->side[DIFF_OTHER].total;
}

/* parent: of the view. */
static void fold(struct merge *m, uint32_t id, uint32_t parent)
{
	struct diff_node *into = &m->d->nodes[parent];

	for (int s = 0; s < DIFF_SIDES; s++) {
		into->side[s].self += m->cells[id].side[s].total;
		into->side[s].self_samples += m->cells[id].side[s].samples;
	}
	m->view->folded_weight += m->cells[id].side[m->d->options.width].total;
	m->view->folded_nodes++;
}

struct visit {
	uint32_t id, parent, depth; /* parent: of the view */
};

static int walk(struct merge *m)
{
	struct view *v = m->view;
	uint32_t nodes = m->paths.node_count, top = 0;
	AUTO(free_auto) struct visit *stack = malloc((nodes + (size_t)1) * sizeof(*stack));

	v->nodes = malloc((nodes + (size_t)1) * sizeof(*v->nodes));
	m->d->nodes = malloc((nodes + (size_t)1) * sizeof(*m->d->nodes));
	if (!stack || !v->nodes || !m->d->nodes)
		return -ENOMEM;
	stack[top++] = (struct visit){0};
	while (top > 0) {
		struct visit at = stack[--top];
		uint32_t own = v->node_count;

		if (at.id && folds(m, at.id)) {
			fold(m, at.id, at.parent);
			continue;
		}
		v->nodes[own] = (struct view_node){
			.depth = at.depth, .name = m->ranks[m->paths.nodes[at.id].name]};
		m->d->nodes[own] = m->cells[at.id];
		v->node_count++;
		for (uint32_t c = m->first[at.id + 1]; c-- > m->first[at.id];)
			stack[top++] = (struct visit){m->children[c], own, at.depth + 1};
	}
	return 0;
}

static int make_names(struct merge *m)
{
	struct view *v = m->view;

	v->name_count = m->paths.name_count;
	v->names = malloc((v->name_count + (size_t)1) * sizeof(*v->names));
	if (!v->names)
		return -ENOMEM;
	for (uint32_t i = 0; i < v->name_count; i++)
		v->names[i] = m->names[m->order[i]];
	return 0;
}

static void take_weights(struct view *v)
{
	for (uint32_t i = 0; i < v->node_count; i++) {
		const struct diff_cell *c = &v->diff->nodes[i].side[v->diff->options.width];
		struct view_node *n = &v->nodes[i];

		n->self = c->self;
		n->total = c->total;
		n->samples = c->samples;
		n->self_samples = c->self_samples;
	}
	v->total = v->nodes[0].total;
	v->samples = v->nodes[0].samples;
}

/* ---- what has changed ---- */

static void choose_scales(struct diff *d)
{
	for (int s = 0; s < DIFF_SIDES; s++) {
		const struct view *v = d->side[s];
		double samples = (double)v->samples, weight = (double)v->total;
		uint64_t ns = v->covers_to_ns > v->covers_from_ns
			? v->covers_to_ns - v->covers_from_ns
			: 1;

		d->scale[s] = d->options.norm == DIFF_SHARE ? weight
			: d->options.norm == DIFF_TIME      ? (double)ns
							    : 1;
		d->exposure[s] = weight > 0 ? d->scale[s] * samples / weight : 0;
		if (d->scale[s] <= 0)
			d->scale[s] = 1;
	}
}

static struct diff_change change_of(const struct diff *d, uint64_t base, uint64_t other,
	uint64_t base_samples, uint64_t other_samples)
{
	double from = (double)base / d->scale[DIFF_BASE];
	double to = (double)other / d->scale[DIFF_OTHER];
	double z = significance_z((double)base_samples, d->exposure[DIFF_BASE],
		(double)other_samples, d->exposure[DIFF_OTHER], d->options.norm == DIFF_SHARE);

	return (struct diff_change){
		.delta = to - from,
		.z = z,
		.significant = significance_holds(z, d->z_limit, from, to),
	};
}

static struct diff_change change_of_total(
	const struct diff *d, const struct diff_cell side[DIFF_SIDES])
{
	return change_of(d, side[DIFF_BASE].total, side[DIFF_OTHER].total, side[DIFF_BASE].samples,
		side[DIFF_OTHER].samples);
}

static struct diff_change change_of_self(
	const struct diff *d, const struct diff_cell side[DIFF_SIDES])
{
	return change_of(d, side[DIFF_BASE].self, side[DIFF_OTHER].self,
		side[DIFF_BASE].self_samples, side[DIFF_OTHER].self_samples);
}

static bool is_function(const struct view_name *n)
{
	return n->kind != VIEW_ROOT && !is_level(n->kind);
}

static void add_cells(struct diff_function *f, const struct diff_node *n, bool first)
{
	for (int s = 0; s < DIFF_SIDES; s++) {
		f->side[s].self += n->side[s].self;
		f->side[s].self_samples += n->side[s].self_samples;
		if (!first)
			continue;
		f->side[s].total += n->side[s].total;
		f->side[s].samples += n->side[s].samples;
	}
}

static int sum_functions(const struct view *v, struct diff *d)
{
	AUTO(free_auto) uint32_t *path = malloc((view_deepest(v) + (size_t)1) * sizeof(*path));
	AUTO(free_auto) uint32_t *above = calloc(v->name_count + (size_t)1, sizeof(*above));
	uint32_t depth = 0, kept = 0;

	d->functions = calloc(v->name_count + (size_t)1, sizeof(*d->functions));
	if (!path || !above || !d->functions)
		return -ENOMEM;
	for (uint32_t i = 0; i < v->node_count; i++) {
		uint32_t name = v->nodes[i].name;

		while (depth > v->nodes[i].depth)
			above[path[--depth]]--;
		add_cells(&d->functions[name], &d->nodes[i], above[name]++ == 0);
		path[depth++] = name;
	}
	for (uint32_t i = 0; i < v->name_count; i++) {
		struct diff_function f = d->functions[i];

		f.name = i;
		if (is_function(&v->names[i]) &&
			(f.side[DIFF_BASE].samples || f.side[DIFF_OTHER].samples))
			d->functions[kept++] = f;
	}
	d->function_count = kept;
	return 0;
}

static int most_changed_first(const void *a, const void *b)
{
	const struct diff_function *x = a, *y = b;
	double self = fabs(y->self.delta) - fabs(x->self.delta);
	double total = fabs(y->total.delta) - fabs(x->total.delta);

	if (self < 0 || self > 0)
		return self < 0 ? -1 : 1;
	if (total < 0 || total > 0)
		return total < 0 ? -1 : 1;
	return (x->name > y->name) - (x->name < y->name);
}

static int judge(const struct view *v, struct diff *d)
{
	int r;

	choose_scales(d);
	r = sum_functions(v, d);
	if (r < 0)
		return r;
	d->z_limit = significance_limit(d->function_count);
	for (uint32_t i = 0; i < v->node_count; i++)
		d->nodes[i].change = change_of_total(d, d->nodes[i].side);
	for (uint32_t i = 0; i < d->function_count; i++) {
		struct diff_function *f = &d->functions[i];

		f->self = change_of_self(d, f->side);
		f->total = change_of_total(d, f->side);
	}
	qsort(d->functions, d->function_count, sizeof(*d->functions), most_changed_first);
	return 0;
}

int diff_step(const struct diff_change *change)
{
	double size = fabs(change->delta);
	int step = size >= 0.1 ? 4 : size >= 0.03 ? 3 : size >= 0.01 ? 2 : 1;

	if (!change->significant)
		return 0;
	return change->delta > 0 ? step : -step;
}

static int merge_all(struct merge *m)
{
	int r = take_sides(m);

	if (r == 0)
		r = put_in_order(m);
	if (r == 0)
		r = walk(m);
	if (r == 0)
		r = make_names(m);
	if (r < 0)
		return r;
	take_weights(m->view);
	return judge(m->view, m->d);
}

int diff_new(struct view *base, struct view *other, const struct diff_options *options,
	struct view **ret_view)
{
	AUTO(view_free_auto) struct view *v = calloc(1, sizeof(*v));
	struct diff *d = calloc(1, sizeof(*d));
	struct merge m = {.d = d, .view = v};
	const struct view *shown;
	int r;

	if (!v || !d) {
		free(d);
		view_free(base);
		view_free(other);
		return -ENOMEM;
	}
	*d = (struct diff){.options = *options, .side = {base, other}};
	v->diff = d;
	shown = d->side[options->width];
	v->profile = profile_ref((struct profile *)shown->profile);
	v->query = shown->query;
	v->covers_from_ns = shown->covers_from_ns;
	v->covers_to_ns = shown->covers_to_ns;
	v->log_short = base->log_short || other->log_short;
	r = arena_new(&v->arena);
	if (r == 0)
		r = merge_all(&m);
	merge_done(&m);
	if (r == 0)
		*ret_view = MOVE(v);
	return r;
}

void diff_free(struct diff *d)
{
	if (!d)
		return;
	view_free(d->side[DIFF_BASE]);
	view_free(d->side[DIFF_OTHER]);
	free(d->nodes);
	free(d->functions);
	free(d);
}
