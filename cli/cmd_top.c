/* top: the functions of a session by their own share, and with what they call. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "cli/cli.h"

struct row {
	double self, total;
	int name;
	int open; /* frames of it on the path at hand: counts recursion once */
};

const struct opt top_options[] = {
	{"lines", 'n', "N", "how many functions", WORDS_NONE},
	{"event", 'e', "NAME", "one event of several", WORDS_EVENT},
	{NULL, 0, NULL, NULL, WORDS_NONE},
};

static int by_self(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	return x->total > y->total ? -1 : x->total < y->total;
}

/* The columns of a profile (see proto/openapi.yaml) as arrays. */
struct columns {
	int count, names;
	const cJSON *name_list;
	int *depth, *name, *parent;
	double *self;
};

static int *ints_of(const cJSON *array, int count)
{
	int *out = calloc((size_t)count + 1, sizeof(*out));
	const cJSON *item;
	int i = 0;

	cJSON_ArrayForEach (item, array)
		if (out && i < count)
			out[i++] = (int)item->valuedouble;
	return out;
}

static bool read_columns(const cJSON *profile, struct columns *c)
{
	const cJSON *self = cJSON_GetObjectItemCaseSensitive(profile, "self"), *item;
	int i = 0;

	c->count = cJSON_GetArraySize(self);
	c->name_list = cJSON_GetObjectItemCaseSensitive(profile, "names");
	c->names = cJSON_GetArraySize(c->name_list);
	c->depth = ints_of(cJSON_GetObjectItemCaseSensitive(profile, "depth"), c->count);
	c->name = ints_of(cJSON_GetObjectItemCaseSensitive(profile, "name"), c->count);
	c->parent = calloc((size_t)c->count + 1, sizeof(*c->parent));
	c->self = calloc((size_t)c->count + 1, sizeof(*c->self));
	if (!c->depth || !c->name || !c->parent || !c->self)
		return false;
	cJSON_ArrayForEach (item, self)
		c->self[i++] = item->valuedouble;
	for (i = 0; i < c->count; i++)
		if (c->name[i] < 0 || c->name[i] >= c->names || c->depth[i] < 0 ||
			c->depth[i] > c->count)
			return false;
	return true;
}

/* subtree[i]: all self at i and below. In preorder a node's parent is the nearest one before it
 * that is less deep, so one pass from the end adds each to its parent. */
static void sum_subtrees(const struct columns *c, int *path, double *subtree)
{
	int open = 0;

	for (int i = 0; i < c->count; i++) {
		while (open > c->depth[i])
			open--;
		c->parent[i] = open ? path[open - 1] : -1;
		path[open++] = i;
	}
	for (int i = c->count - 1; i >= 0; i--) {
		subtree[i] += c->self[i];
		if (c->parent[i] >= 0)
			subtree[c->parent[i]] += subtree[i];
	}
}

/* Totals by function in one pass: nodes are in preorder, a stack of open frames tells who is above
 * whom. */
static void sum_up(const struct columns *c, struct row *rows, int *path, double *subtree)
{
	int open = 0;

	for (int i = 0; i < c->count; i++) {
		struct row *r = &rows[c->name[i]];

		while (open > c->depth[i])
			rows[c->name[path[--open]]].open--;
		r->self += c->self[i];
		if (!r->open++)
			r->total += subtree[i];
		path[open++] = i;
	}
}

static void print_rows(const struct columns *c, struct row *rows, double total, unsigned lines)
{
	const cJSON *item;
	const char **names = calloc((size_t)c->names + 1, sizeof(*names));
	char text[256];
	int i = 0;

	if (!names)
		return;
	cJSON_ArrayForEach (item, c->name_list)
		names[i++] = cJSON_IsString(item) ? item->valuestring : "?";
	qsort(rows, (size_t)c->names, sizeof(*rows), by_self);
	printf("%7s %7s  %s\n", "self", "total", "function");
	for (int k = 0; k < c->names && lines; k++) {
		if (rows[k].self <= 0)
			continue;
		printf("%6.2f%% %6.2f%%  %s\n", 100 * rows[k].self / total,
			100 * rows[k].total / total,
			for_terminal(names[rows[k].name], text, sizeof(text)));
		lines--;
	}
	free(names);
}

static int print_top(const struct buf *body, unsigned lines)
{
	cJSON *profile = parse_answer(body);
	struct columns c = {0};
	struct row *rows = NULL;
	double *subtree = NULL, total = get_number(profile, "total");
	int *path = NULL, e = EXIT_FAILED;

	if (profile && read_columns(profile, &c)) {
		rows = calloc((size_t)c.names + 1, sizeof(*rows));
		subtree = calloc((size_t)c.count + 1, sizeof(*subtree));
		path = calloc((size_t)c.count + 1, sizeof(*path));
	}
	if (rows && subtree && path) {
		for (int i = 0; i < c.names; i++)
			rows[i].name = i;
		sum_subtrees(&c, path, subtree);
		sum_up(&c, rows, path, subtree);
		print_rows(&c, rows, total > 0 ? total : 1, lines);
		e = EXIT_OK;
	}
	free(rows);
	free(subtree);
	free(path);
	free(c.depth);
	free(c.name);
	free(c.parent);
	free(c.self);
	cJSON_Delete(profile);
	return e;
}

int cmd_top(struct cli *cli, int argc, char **argv)
{
	AUTO(buf_done) struct buf body = BUF_INIT;
	AUTO(buf_done) struct buf path = BUF_INIT;
	AUTO(free_auto) char *event = NULL;
	uint64_t lines = 20, id;
	int option, e;

	while ((option = next_option(cli, argc, argv)) != -1) {
		if (option == 'n' && parse_u64(optarg, 100000, &lines) < 0)
			return usage_error("\"%s\" is no number of lines", optarg);
		if (option == 'e')
			event = client_escape(optarg);
		if (option == '?')
			return EXIT_USAGE;
	}
	if (optind != argc - 1)
		return usage_error("top takes one session id");
	id = parse_id(argv[optind]);
	if (!id)
		return EXIT_USAGE;
	buf_printf(&path, "/v1/sessions/%llu/profile?format=json%s%s", (unsigned long long)id,
		event ? "&event=" : "", event ? event : "");
	e = client_call(cli->client, "GET", path.data, NULL, &body);
	if (e != EXIT_OK)
		return e;
	if (cli->json) {
		print_body(&body);
		return EXIT_OK;
	}
	return print_top(&body, (unsigned)lines);
}
