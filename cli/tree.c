#include "cli/tree.h"

#include <errno.h>
#include <string.h>

static const cJSON *array(const cJSON *profile, const char *key, size_t *ret_count)
{
	const cJSON *a = cJSON_GetObjectItemCaseSensitive(profile, key);

	*ret_count = cJSON_IsArray(a) ? (size_t)cJSON_GetArraySize(a) : 0;
	return cJSON_IsArray(a) ? a : NULL;
}

/* The columns of the JSON are lists: each is walked once, beside the others. */
static const cJSON *first_of(const cJSON *profile, const char *key, size_t count)
{
	size_t have;
	const cJSON *a = array(profile, key, &have);

	return a && have == count ? a->child : NULL;
}

static double number(const cJSON *item)
{
	return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static const char *text_at(const cJSON *const *list, size_t count, double index)
{
	if (!(index >= 0 && index < (double)count) || !cJSON_IsString(list[(size_t)index]))
		return "";
	return list[(size_t)index]->valuestring;
}

static enum tree_kind kind_named(const char *name)
{
	static const struct {
		const char *name;
		enum tree_kind kind;
	} kinds[] = {{"root", TREE_GROUP}, {"process", TREE_GROUP}, {"thread", TREE_GROUP},
		{"user", TREE_USER}, {"kernel", TREE_KERNEL}, {"jit", TREE_JIT},
		{"inlined", TREE_INLINED}};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strcmp(kinds[i].name, name) == 0)
			return kinds[i].kind;
	return TREE_SPECIAL;
}

/* A list that can be indexed; NULL: not there or no memory. */
static const cJSON **indexed(const cJSON *profile, const char *key, size_t *ret_count)
{
	const cJSON *a = array(profile, key, ret_count), *item;
	const cJSON **list = calloc(*ret_count + 1, sizeof(cJSON *));
	size_t i = 0;

	cJSON_ArrayForEach (item, a)
		if (list)
			list[i++] = item;
	return list;
}

static int read_names(struct tree *t)
{
	size_t modules, kinds;
	AUTO(free_auto) const cJSON **module_list = indexed(t->json, "modules", &modules);
	AUTO(free_auto) const cJSON **kind_list = indexed(t->json, "kinds", &kinds);
	const cJSON *text = array(t->json, "names", &t->name_count);
	const cJSON *module = first_of(t->json, "name_module", t->name_count);
	const cJSON *kind = first_of(t->json, "name_kind", t->name_count);

	t->names = calloc(t->name_count + 1, sizeof(*t->names));
	if (!t->names || !module_list || !kind_list)
		return -ENOMEM;
	if (!text || (t->name_count && (!module || !kind)))
		return -EINVAL;
	text = text->child;
	for (size_t i = 0; i < t->name_count; i++) {
		t->names[i].text = cJSON_IsString(text) ? text->valuestring : "";
		t->names[i].module = text_at(module_list, modules, number(module));
		t->names[i].kind = kind_named(text_at(kind_list, kinds, number(kind)));
		text = text->next;
		module = module->next;
		kind = kind->next;
	}
	return 0;
}

static int read_nodes(struct tree *t)
{
	const cJSON *self = array(t->json, "self", &t->node_count);
	const cJSON *name = first_of(t->json, "name", t->node_count);
	const cJSON *depth = first_of(t->json, "depth", t->node_count);
	const cJSON *samples = first_of(t->json, "samples_total", t->node_count);

	t->nodes = calloc(t->node_count + 1, sizeof(*t->nodes));
	if (!t->nodes)
		return -ENOMEM;
	if (!self || (t->node_count && (!name || !depth || !samples)))
		return -EINVAL;
	self = self->child;
	for (size_t i = 0; i < t->node_count; i++) {
		struct tree_node *n = &t->nodes[i];
		double deepest = i ? t->nodes[i - 1].depth + 1.0 : 0;

		if (!(number(name) >= 0 && number(name) < (double)t->name_count) ||
			!(number(depth) >= 0 && number(depth) <= deepest))
			return -EINVAL;
		n->name = (uint32_t)number(name);
		n->depth = (uint32_t)number(depth);
		n->self = n->total = number(self);
		n->self_samples = n->total_samples = number(samples);
		self = self->next;
		name = name->next;
		depth = depth->next;
		samples = samples->next;
	}
	return 0;
}

/* A node's parent is the nearest one before it that is less deep; from the end, each adds itself to
 * its parent. */
static int link_nodes(struct tree *t)
{
	AUTO(free_auto) int64_t *path = calloc(t->node_count + 1, sizeof(*path));

	if (!path)
		return -ENOMEM;
	for (size_t i = 0; i < t->node_count; i++) {
		struct tree_node *n = &t->nodes[i];

		n->parent = n->depth ? path[n->depth - 1] : -1;
		path[n->depth] = (int64_t)i;
		if (n->parent >= 0)
			t->nodes[n->parent].self_samples -= n->total_samples;
	}
	for (size_t i = t->node_count; i-- > 0;)
		if (t->nodes[i].parent >= 0)
			t->nodes[t->nodes[i].parent].total += t->nodes[i].total;
	return 0;
}

int tree_parse(const char *json, size_t len, struct tree **ret_tree)
{
	AUTO(tree_free_auto) struct tree *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	t->json = cJSON_ParseWithLength(json ? json : "", len);
	if (!t->json)
		return -EINVAL;
	r = read_names(t);
	if (r == 0)
		r = read_nodes(t);
	if (r == 0)
		r = link_nodes(t);
	if (r < 0)
		return r;
	t->event = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(t->json, "event"));
	t->unit = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(t->json, "unit"));
	t->event = t->event ? t->event : "";
	t->unit = t->unit ? t->unit : "";
	t->total = number(cJSON_GetObjectItemCaseSensitive(t->json, "total"));
	t->samples = number(cJSON_GetObjectItemCaseSensitive(t->json, "samples"));
	*ret_tree = MOVE(t);
	return 0;
}

void tree_free(struct tree *t)
{
	if (!t)
		return;
	cJSON_Delete(t->json);
	free(t->names);
	free(t->nodes);
	free(t);
}

/* ---- functions ---- */

static int by_name(const void *a, const void *b)
{
	const struct function *x = a, *y = b;
	int r = strcmp(x->name, y->name);

	return r ? r : strcmp(x->module, y->module);
}

/* The path of open frames tells whether a function is above itself. */
static void sum_up(const struct tree *t, struct function *f, uint32_t *open, uint32_t *path)
{
	uint32_t depth = 0;

	for (size_t i = 0; i < t->node_count; i++) {
		const struct tree_node *n = &t->nodes[i];
		struct function *one = &f[n->name];

		while (depth > n->depth)
			open[path[--depth]]--;
		one->self += n->self;
		one->self_samples += n->self_samples;
		if (!open[n->name]++) {
			one->total += n->total;
			one->total_samples += n->total_samples;
		}
		path[depth++] = n->name;
	}
}

/* Equal ones that follow each other become one; so do an inlined function and its other self. */
static size_t unite(struct function *f, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (kept && by_name(&f[kept - 1], &f[i]) == 0) {
			f[kept - 1].self += f[i].self;
			f[kept - 1].total += f[i].total;
			f[kept - 1].self_samples += f[i].self_samples;
			f[kept - 1].total_samples += f[i].total_samples;
		} else {
			f[kept++] = f[i];
		}
	}
	return kept;
}

int tree_functions(const struct tree *t, struct function **ret_functions, size_t *ret_count)
{
	AUTO(free_auto) struct function *f = calloc(t->name_count + 1, sizeof(*f));
	AUTO(free_auto) uint32_t *open = calloc(t->name_count + 1, sizeof(*open));
	AUTO(free_auto) uint32_t *path = calloc(t->node_count + 1, sizeof(*path));
	size_t count = 0;

	if (!f || !open || !path)
		return -ENOMEM;
	sum_up(t, f, open, path);
	for (size_t i = 0; i < t->name_count; i++) {
		if (t->names[i].kind == TREE_GROUP || f[i].total <= 0)
			continue;
		f[count] = f[i];
		f[count].name = t->names[i].text;
		f[count].module = t->names[i].module;
		f[count++].kind = t->names[i].kind;
	}
	qsort(f, count, sizeof(*f), by_name);
	*ret_count = unite(f, count);
	*ret_functions = MOVE(f);
	return 0;
}

static int descending(double x, double y)
{
	return x > y ? -1 : x < y;
}

static int by_self(const void *a, const void *b)
{
	const struct function *x = a, *y = b;
	int r = descending(x->self, y->self);

	if (r == 0)
		r = descending(x->total, y->total);
	return r ? r : by_name(a, b);
}

static int by_total(const void *a, const void *b)
{
	const struct function *x = a, *y = b;
	int r = descending(x->total, y->total);

	if (r == 0)
		r = descending(x->self, y->self);
	return r ? r : by_name(a, b);
}

void functions_sort(struct function *f, size_t count, bool total)
{
	qsort(f, count, sizeof(*f), total ? by_total : by_self);
}

bool function_matches(const struct function *f, const char *text)
{
	return strcasestr(f->name, text) || strcasestr(f->module, text);
}

int functions_join(const struct function *a, size_t a_count, const struct function *b,
	size_t b_count, struct function_pair **ret_pairs, size_t *ret_count)
{
	struct function_pair *pairs = calloc(a_count + b_count + 1, sizeof(*pairs));
	size_t i = 0, j = 0, n = 0;

	if (!pairs)
		return -ENOMEM;
	while (i < a_count || j < b_count) {
		int r = i == a_count ? 1 : j == b_count ? -1 : by_name(&a[i], &b[j]);

		pairs[n].a = r <= 0 ? &a[i++] : NULL;
		pairs[n++].b = r >= 0 ? &b[j++] : NULL;
	}
	*ret_pairs = pairs;
	*ret_count = n;
	return 0;
}
