#include "daemon/render/delta.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "daemon/render/paths.h"
#include "daemon/render/render.h"

/* What ended at a node. */
struct told {
	uint64_t weight, samples;         /* as told */
	uint64_t now_weight, now_samples; /* as the view at hand has it */
};

struct delta {
	uint32_t max_nodes;
	bool begun; /* something was told, and nothing went wrong since */
	struct paths paths;
	struct told *told; /* by node */
	uint32_t told_cap;
};

static void forget(struct delta *d)
{
	paths_done(&d->paths);
	free(d->told);
	*d = (struct delta){.max_nodes = d->max_nodes};
}

static int begin(struct delta *d)
{
	forget(d);
	return paths_init(&d->paths, DELTA_TEXT_MAX);
}

int delta_new(uint32_t max_nodes, struct delta **ret_delta)
{
	struct delta *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	d->max_nodes = max_nodes;
	*ret_delta = d;
	return 0;
}

void delta_free(struct delta *d)
{
	if (!d)
		return;
	forget(d);
	free(d);
}

/* Room for as many nodes as there may be. */
static int grow(struct delta *d, uint32_t nodes)
{
	struct told *bigger;

	if (nodes <= d->told_cap)
		return 0;
	nodes += nodes / 2;
	bigger = realloc(d->told, nodes * sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	memset(bigger + d->told_cap, 0, (nodes - d->told_cap) * sizeof(*bigger));
	d->told = bigger;
	d->told_cap = nodes;
	return 0;
}

static int find_name(struct delta *d, const struct view_name *n, uint32_t *ret_name)
{
	return paths_name(&d->paths, n->text, n->module, n->kind, ret_name);
}

/* Finds or makes the node of each node of the view, and adds up what it weighs now. */
static int take_view(struct delta *d, const struct view *v)
{
	AUTO(free_auto) uint32_t *names = malloc((v->name_count + (size_t)1) * sizeof(*names));
	AUTO(free_auto) uint32_t *above = calloc(view_deepest(v) + (size_t)2, sizeof(*above));
	int r = names && above ? grow(d, d->paths.node_count + v->node_count) : -ENOMEM;

	/* The root's comes first, so that it is name 0. */
	if (r == 0)
		r = find_name(d, &v->names[v->nodes[0].name], &names[v->nodes[0].name]);
	for (uint32_t i = 0; r == 0 && i < v->name_count; i++)
		r = find_name(d, &v->names[i], &names[i]);
	for (uint32_t i = 0; r == 0 && i < d->paths.node_count; i++)
		d->told[i].now_weight = d->told[i].now_samples = 0;
	for (uint32_t i = 0; r == 0 && i < v->node_count; i++) {
		const struct view_node *n = &v->nodes[i];
		uint32_t id;

		/* above[depth] is the parent's, and the root its own parent. */
		r = paths_node(&d->paths, above[n->depth], names[n->name], &id);
		if (r < 0)
			break;
		above[n->depth + 1] = id;
		d->told[id].now_weight += n->self;
		d->told[id].now_samples += n->self_samples;
	}
	return r;
}

static void number(struct buf *into, const char *key, uint64_t value)
{
	buf_printf(into, ",\"%s\":", key);
	buf_append_u64(into, value);
}

static void put_head(const struct view *v, bool reset, struct buf *into)
{
	const struct profile_event *e = &v->profile->events[v->query.event];
	const char *event = profile_text(v->profile, e->name);

	buf_printf(into, "{\"reset\":%s,\"event\":", reset ? "true" : "false");
	render_json_string(into, event, strlen(event));
	buf_printf(into, ",\"unit\":\"%s\"", e->is_clock ? "nanoseconds" : "count");
	number(into, "total", v->total);
	number(into, "samples", v->samples);
	buf_append_str(into, ",\"folded\":{\"weight\":");
	buf_append_u64(into, v->folded_weight);
	number(into, "nodes", v->folded_nodes);
	buf_printf(into, "},\"log_short\":%s", v->log_short ? "true" : "false");
}

static void put_modules(const struct delta *d, uint32_t from, struct buf *into)
{
	buf_append_str(into, ",\"modules\":[");
	/* String 0 is "", which is no module: module i is string i + 1. */
	for (uint32_t i = from; i < strtab_count(d->paths.modules); i++) {
		const char *text = strtab_get(d->paths.modules, i);

		buf_append_str(into, i > from ? "," : "");
		render_json_string(into, text, strlen(text));
	}
	buf_append_char(into, ']');
}

static void put_names(const struct delta *d, uint32_t from, struct buf *into)
{
	buf_append_str(into, ",\"names\":[");
	for (uint32_t i = from; i < d->paths.name_count; i++) {
		const struct path_name *n = &d->paths.names[i];
		const char *text = strtab_get(d->paths.texts, n->text);

		buf_append_str(into, i > from ? ",[" : "[");
		render_json_string(into, text, strlen(text));
		buf_printf(into, ",%d,%u]", (int)n->module - 1, n->kind);
	}
	buf_append_char(into, ']');
}

static void put_nodes(const struct delta *d, uint32_t from, struct buf *into)
{
	buf_append_str(into, ",\"nodes\":[");
	for (uint32_t i = from; i < d->paths.node_count; i++) {
		buf_append_str(into, i > from ? ",[" : "[");
		buf_append_u64(into, d->paths.nodes[i].parent);
		buf_append_char(into, ',');
		buf_append_u64(into, d->paths.nodes[i].name);
		buf_append_char(into, ']');
	}
	buf_append_char(into, ']');
}

static void put_changes(struct delta *d, struct buf *into)
{
	bool first = true;

	buf_append_str(into, ",\"self\":[");
	for (uint32_t i = 0; i < d->paths.node_count; i++) {
		struct told *n = &d->told[i];

		if (n->now_weight == n->weight && n->now_samples == n->samples)
			continue;
		buf_append_str(into, first ? "[" : ",[");
		first = false;
		buf_append_u64(into, i);
		buf_append_char(into, ',');
		buf_append_u64(into, n->now_weight);
		buf_append_char(into, ',');
		buf_append_u64(into, n->now_samples);
		buf_append_char(into, ']');
		n->weight = n->now_weight;
		n->samples = n->now_samples;
	}
	buf_append_str(into, "]}");
}

static bool is_full(const struct delta *d)
{
	return d->paths.node_count > d->max_nodes ||
		strtab_bytes(d->paths.texts) > DELTA_TEXT_MAX / 2;
}

static int tell(struct delta *d, const struct view *v, bool reset, struct buf *into)
{
	uint32_t modules, names = d->paths.name_count, nodes = d->paths.node_count;
	int r = reset ? begin(d) : 0;

	if (r < 0)
		return r;
	if (reset)
		names = nodes = 0;
	modules = strtab_count(d->paths.modules);
	r = take_view(d, v);
	if (r < 0)
		return r;
	put_head(v, reset, into);
	put_modules(d, modules, into);
	put_names(d, names, into);
	put_nodes(d, nodes, into);
	put_changes(d, into);
	return into->error;
}

int delta_tell(struct delta *d, const struct view *v, struct buf *into)
{
	int r = tell(d, v, !d->begun || is_full(d), into);

	d->begun = r == 0;
	return r;
}
