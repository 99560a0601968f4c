#include "daemon/render/svg_plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

#define MIN_WIDTH 320
#define MAX_WIDTH 20000
/* Up to here rows are as high as text likes it. */
#define FULL_ROWS 300
#define FULL_ROW  180
/* Deeper graphs share this height: image libraries end at 32,767 pixels. */
#define MAX_HEIGHT 120000
#define SMALL_ROW  120
#define MIN_ROW    1

static void fill_options(struct svg_plan *p, const struct svg_options *options)
{
	p->options = *options;
	if (p->options.width < MIN_WIDTH)
		p->options.width = MIN_WIDTH;
	if (p->options.width > MAX_WIDTH)
		p->options.width = MAX_WIDTH;
	p->inner = (p->options.width - 2 * SVG_MARGIN) * 10;
}

uint32_t svg_plan_x(const struct svg_plan *p, const struct view *view, uint64_t weight)
{
	if (view->total == 0)
		return 0;
	if (weight >= view->total)
		return p->inner;
	return (uint32_t)((double)weight / (double)view->total * p->inner + 0.5);
}

/* What is drawn: a node of which a tenth of a pixel is left, below one that is drawn. */
static void choose_nodes(struct svg_plan *p, const struct view *view)
{
	uint32_t hidden_depth = UINT32_MAX;

	p->min_weight = view->total / p->inner + (view->total % p->inner != 0);
	for (uint32_t i = 0; i < view->node_count; i++) {
		const struct view_node *n = &view->nodes[i];

		if (n->depth > hidden_depth) {
			p->left_out++;
			continue;
		}
		hidden_depth = UINT32_MAX;
		if (n->total < p->min_weight) {
			hidden_depth = n->depth;
			p->left_out++;
			p->left_out_weight += n->total;
			continue;
		}
		p->drawn++;
		if (n->depth >= p->rows)
			p->rows = n->depth + 1;
	}
}

static void choose_rows(struct svg_plan *p)
{
	p->row = FULL_ROW;
	p->font = 12;
	if (p->rows > FULL_ROWS) {
		p->row = MAX_HEIGHT / p->rows;
		p->font = p->row >= SMALL_ROW ? 9 : 0;
		if (p->row > SMALL_ROW)
			p->row = SMALL_ROW;
		if (p->row < MIN_ROW)
			p->row = MIN_ROW;
	}
	p->gap = p->row >= SMALL_ROW ? 10 : p->row / 8;
}

char svg_hue_letter(enum svg_hue hue)
{
	static const char letters[SVG_HUES] = {'u', 'i', 'j', 'k', 's', 'p', 'r'};

	return letters[hue];
}

static enum svg_hue hue_of(const struct view_name *name)
{
	switch ((enum view_kind)name->kind) {
	case VIEW_ROOT: return SVG_ROOT;
	case VIEW_PROCESS:
	case VIEW_THREAD: return SVG_LEVEL;
	case VIEW_KIND_COUNT:
	case VIEW_SPECIAL: return SVG_UNNAMED;
	case VIEW_USER: break;
	case VIEW_KERNEL: return name->unnamed ? SVG_UNNAMED : SVG_KERNEL;
	case VIEW_JIT: return name->unnamed ? SVG_UNNAMED : SVG_JIT;
	case VIEW_INLINED: return SVG_INLINED;
	}
	return name->unnamed ? SVG_UNNAMED : SVG_USER;
}

static bool has_module_color(const struct view_name *name)
{
	return name->kind != VIEW_ROOT && name->kind != VIEW_PROCESS && name->kind != VIEW_THREAD &&
		name->module[0];
}

struct module_weight {
	uint64_t hash, self;
	uint32_t name; /* one that lies in it */
	uint8_t slot;
};

static int by_self_then_hash(const void *pa, const void *pb)
{
	const struct module_weight *a = pa, *b = pb;

	if (a->self != b->self)
		return a->self > b->self ? -1 : 1;
	return a->hash < b->hash ? -1 : a->hash > b->hash;
}

static uint64_t module_hash(const struct view_name *name)
{
	return hash_bytes(name->module, strlen(name->module), 0);
}

/* Sums the self weights of names by module. *ret_list has room for all names. */
static int weigh_modules(const struct view *view, const uint64_t *self, struct module_weight *list,
	uint32_t *ret_count)
{
	struct map *index = NULL;
	uint32_t count = 0;
	int r = map_new(64, &index);

	for (uint32_t i = 0; r == 0 && i < view->name_count; i++) {
		uint64_t hash, at;

		if (!has_module_color(&view->names[i]))
			continue;
		hash = module_hash(&view->names[i]);
		if (!map_get(index, hash, &at)) {
			at = count++;
			list[at] = (struct module_weight){.hash = hash, .name = i};
			r = map_set(index, hash, at);
		}
		list[at].self += self[i];
	}
	map_free(index);
	*ret_count = count;
	return r;
}

/* The heaviest modules get a colour each: where two want the same one, the lighter moves on. So a
 * module has the same colour in most graphs, and no colour in the legend stands for two. */
static int choose_modules(struct svg_plan *p, const struct view *view, const uint64_t *self,
	struct module_weight *list)
{
	struct map *slots = NULL;
	uint32_t count;
	int r = weigh_modules(view, self, list, &count);

	if (r == 0)
		r = map_new(count, &slots);
	if (r < 0)
		return r;
	qsort(list, count, sizeof(*list), by_self_then_hash);
	for (uint32_t i = 0; r == 0 && i < count; i++) {
		unsigned slot = list[i].hash % SVG_MODULE_HUES;

		if (i >= SVG_MODULE_HUES) {
			slot = SVG_MODULE_OTHER;
			p->module_others = true;
		} else {
			while (p->module_name[slot] != SVG_NO_NAME)
				slot = (slot + 1) % SVG_MODULE_HUES;
			p->module_name[slot] = list[i].name;
			p->module_self[slot] = list[i].self;
		}
		r = map_set(slots, list[i].hash, slot);
	}
	for (uint32_t i = 0; r == 0 && i < view->name_count; i++) {
		uint64_t slot = SVG_MODULE_OTHER;

		if (has_module_color(&view->names[i]))
			map_get(slots, module_hash(&view->names[i]), &slot);
		p->paints[i].module = (uint8_t)slot;
	}
	map_free(slots);
	return r;
}

static int choose_paints(struct svg_plan *p, const struct view *view)
{
	size_t names = view->name_count ? view->name_count : 1;
	AUTO(free_auto) uint64_t *self = calloc(names, sizeof(*self));
	AUTO(free_auto) struct module_weight *list = calloc(names, sizeof(*list));

	p->paints = calloc(names, sizeof(*p->paints));
	if (!self || !list || !p->paints)
		return -ENOMEM;
	for (uint32_t i = 0; i < view->node_count; i++)
		self[view->nodes[i].name] += view->nodes[i].self;
	for (uint32_t i = 0; i < view->name_count; i++) {
		const struct view_name *name = &view->names[i];
		uint64_t hash = hash_bytes(name->text, strlen(name->text), 0);

		p->paints[i].hue = (uint8_t)hue_of(name);
		p->paints[i].shade = (hash >> 8) & 3;
		p->paints[i].name = (hash >> 16) % SVG_NAME_HUES;
		p->hue_used[p->paints[i].hue] = true;
	}
	return choose_modules(p, view, self, list);
}

int svg_plan_init(struct svg_plan *p, const struct view *view, const struct svg_options *options)
{
	*p = (struct svg_plan){0};
	for (unsigned i = 0; i < SVG_MODULE_HUES; i++)
		p->module_name[i] = SVG_NO_NAME;
	fill_options(p, options);
	choose_nodes(p, view);
	choose_rows(p);
	return choose_paints(p, view);
}

void svg_plan_done(struct svg_plan *p)
{
	free(p->paints);
	p->paints = NULL;
}
