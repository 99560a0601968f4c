#include "daemon/render/delta.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "daemon/render/render.h"

/* parent < own index, but for the root. */
struct told_node {
	uint32_t parent, name;
	uint64_t weight, samples;         /* as told */
	uint64_t now_weight, now_samples; /* as the view at hand has it */
};

struct told_name {
	uint32_t text, module; /* in the tables of strings; module 0: none */
	uint8_t kind;
};

struct delta {
	uint32_t max_nodes;
	bool begun; /* something was told, and nothing went wrong since */
	struct strtab *texts, *modules;
	struct map *name_ids; /* (text, module, kind) to name */
	struct map *node_ids; /* (parent, name) to node */
	struct told_name *names;
	uint32_t name_count, name_cap;
	struct told_node *nodes;
	uint32_t node_count, node_cap;
};

static void forget(struct delta *d)
{
	strtab_free(d->texts);
	strtab_free(d->modules);
	map_free(d->name_ids);
	map_free(d->node_ids);
	free(d->names);
	free(d->nodes);
	*d = (struct delta){.max_nodes = d->max_nodes};
}

static int begin(struct delta *d)
{
	int r;

	forget(d);
	r = strtab_new(UINT32_MAX - 1, DELTA_TEXT_MAX, &d->texts);
	if (r == 0)
		r = strtab_new(1 << 24, DELTA_TEXT_MAX, &d->modules);
	if (r == 0)
		r = map_new(1024, &d->name_ids);
	if (r == 0)
		r = map_new(1024, &d->node_ids);
	return r;
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

/* Room for one more. */
static int grow(void **array, uint32_t count, uint32_t *cap, size_t each)
{
	uint32_t bigger = *cap ? *cap * 2 : 256;
	void *data;

	if (count < *cap)
		return 0;
	data = realloc(*array, bigger * each);
	if (!data)
		return -ENOMEM;
	*array = data;
	*cap = bigger;
	return 0;
}

static int find_name(struct delta *d, const struct view_name *n, uint32_t *ret_name)
{
	struct told_name name = {.kind = n->kind};
	uint64_t key, id;
	int r = strtab_id(d->texts, n->text, strlen(n->text), &name.text);

	if (r == 0)
		r = strtab_id(d->modules, n->module, strlen(n->module), &name.module);
	if (r < 0)
		return r;
	key = (uint64_t)name.text << 32 | name.module << 8 | name.kind;
	if (map_get(d->name_ids, key, &id)) {
		*ret_name = (uint32_t)id;
		return 0;
	}
	r = grow((void **)&d->names, d->name_count, &d->name_cap, sizeof(*d->names));
	if (r == 0)
		r = map_set(d->name_ids, key, d->name_count);
	if (r < 0)
		return r;
	d->names[d->name_count] = name;
	*ret_name = d->name_count++;
	return 0;
}

static int find_node(struct delta *d, uint32_t parent, uint32_t name, uint32_t *ret_node)
{
	uint64_t key = (uint64_t)parent << 32 | name, id;
	int r;

	if (map_get(d->node_ids, key, &id)) {
		*ret_node = (uint32_t)id;
		return 0;
	}
	r = grow((void **)&d->nodes, d->node_count, &d->node_cap, sizeof(*d->nodes));
	if (r == 0)
		r = map_set(d->node_ids, key, d->node_count);
	if (r < 0)
		return r;
	d->nodes[d->node_count] = (struct told_node){.parent = parent, .name = name};
	*ret_node = d->node_count++;
	return 0;
}

static uint32_t deepest(const struct view *v)
{
	uint32_t depth = 0;

	for (uint32_t i = 0; i < v->node_count; i++)
		depth = v->nodes[i].depth > depth ? v->nodes[i].depth : depth;
	return depth;
}

/* Finds or makes the node of each node of the view, and adds up what it weighs now. */
static int take_view(struct delta *d, const struct view *v)
{
	AUTO(free_auto) uint32_t *names = malloc((v->name_count + (size_t)1) * sizeof(*names));
	AUTO(free_auto) uint32_t *above = calloc(deepest(v) + (size_t)2, sizeof(*above));
	int r = names && above ? 0 : -ENOMEM;

	/* The root's comes first, so that it is name 0. */
	if (r == 0)
		r = find_name(d, &v->names[v->nodes[0].name], &names[v->nodes[0].name]);
	for (uint32_t i = 0; r == 0 && i < v->name_count; i++)
		r = find_name(d, &v->names[i], &names[i]);
	for (uint32_t i = 0; i < d->node_count; i++)
		d->nodes[i].now_weight = d->nodes[i].now_samples = 0;
	for (uint32_t i = 0; r == 0 && i < v->node_count; i++) {
		const struct view_node *n = &v->nodes[i];
		uint32_t id;

		/* above[depth] is the parent's, and the root its own parent. */
		r = find_node(d, above[n->depth], names[n->name], &id);
		if (r < 0)
			break;
		above[n->depth + 1] = id;
		d->nodes[id].now_weight += n->self;
		d->nodes[id].now_samples += n->self_samples;
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
	for (uint32_t i = from; i < strtab_count(d->modules); i++) {
		const char *text = strtab_get(d->modules, i);

		buf_append_str(into, i > from ? "," : "");
		render_json_string(into, text, strlen(text));
	}
	buf_append_char(into, ']');
}

static void put_names(const struct delta *d, uint32_t from, struct buf *into)
{
	buf_append_str(into, ",\"names\":[");
	for (uint32_t i = from; i < d->name_count; i++) {
		const struct told_name *n = &d->names[i];
		const char *text = strtab_get(d->texts, n->text);

		buf_append_str(into, i > from ? ",[" : "[");
		render_json_string(into, text, strlen(text));
		buf_printf(into, ",%d,%u]", (int)n->module - 1, n->kind);
	}
	buf_append_char(into, ']');
}

static void put_nodes(const struct delta *d, uint32_t from, struct buf *into)
{
	buf_append_str(into, ",\"nodes\":[");
	for (uint32_t i = from; i < d->node_count; i++) {
		buf_append_str(into, i > from ? ",[" : "[");
		buf_append_u64(into, d->nodes[i].parent);
		buf_append_char(into, ',');
		buf_append_u64(into, d->nodes[i].name);
		buf_append_char(into, ']');
	}
	buf_append_char(into, ']');
}

static void put_changes(struct delta *d, struct buf *into)
{
	bool first = true;

	buf_append_str(into, ",\"self\":[");
	for (uint32_t i = 0; i < d->node_count; i++) {
		struct told_node *n = &d->nodes[i];

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
	return d->node_count > d->max_nodes || strtab_bytes(d->texts) > DELTA_TEXT_MAX / 2;
}

static int tell(struct delta *d, const struct view *v, bool reset, struct buf *into)
{
	uint32_t modules, names = d->name_count, nodes = d->node_count;
	int r = reset ? begin(d) : 0;

	if (r < 0)
		return r;
	if (reset)
		names = nodes = 0;
	modules = strtab_count(d->modules);
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
