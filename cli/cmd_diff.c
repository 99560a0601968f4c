/* diff: two profiles, of sessions or in files, as a table of the functions whose share changed. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <string.h>

#include "base/io.h"
#include "cli/cli.h"
#include "cli/difference.h"
#include "cli/screen.h"
#include "cli/table.h"

#define LINES    30
#define FILE_MAX (1u << 30)

enum { OPT_SIGNIFICANT = OPT_OWN };

const struct opt diff_options[] = {
	{"format", 'f', "svg|json|folded|text", "both in one, of two sessions", WORDS_NONE},
	{"output", 'o', "FILE", "where to; - is standard output", WORDS_FILE},
	{"lines", 'n', "N", "how many functions", WORDS_NONE},
	{"sort", 's', "self|total", "which change is first", WORDS_NONE},
	{"significant", OPT_SIGNIFICANT, NULL, "without what may be chance", WORDS_NONE},
	{NULL, 0, NULL, NULL, WORDS_NONE},
};

struct diff {
	struct view_request request;
	uint64_t lines;
	bool by_total, significant;
	struct tree *a, *b;
	struct difference *d;
	size_t count;
};

static bool take_option(struct diff *d, int option, const char *value)
{
	switch (option) {
	case 'n': return option_count("lines", value, &d->lines);
	case 's': return option_order(value, &d->by_total);
	case OPT_SIGNIFICANT: d->significant = true; return true;
	default: return dump_option(&d->request, option, value);
	}
}

static bool is_number(const char *word)
{
	return word[strspn(word, "0123456789")] == 0;
}

/* A session's id, or else the name of a file that dump or record has written as json. */
static int read_side(struct cli *cli, struct diff *d, const char *word, struct tree **ret_tree)
{
	AUTO(buf_done) struct buf body = BUF_INIT, query = BUF_INIT;
	int r;

	if (is_number(word)) {
		uint64_t id = parse_id(word);
		int e;

		buf_printf(
			&query, "&by=none%s", d->request.query.data ? d->request.query.data : "");
		e = id ? fetch_profile(cli, id, query.data, &body) : EXIT_USAGE;
		if (e != EXIT_OK)
			return e;
	} else {
		r = io_read_file(word, FILE_MAX, &body);
		if (r < 0) {
			fprintf(stderr,
				"profilectl: cannot read %s: %s; give a session's id or a file of "
				"profilectl dump -f json\n",
				word, strerror(-r));
			return EXIT_FAILED;
		}
	}
	r = tree_parse(body.data, body.len, ret_tree);
	if (r == 0)
		return EXIT_OK;
	fprintf(stderr, "profilectl: %s is no profile in JSON, as profilectl dump -f json writes\n",
		word);
	return EXIT_FAILED;
}

static double change_of(const struct diff *d, const struct difference *x)
{
	return d->by_total ? x->total_b - x->total_a : x->self_b - x->self_a;
}

static bool is_significant(const struct diff *d, const struct difference *x)
{
	return d->by_total ? x->total_significant : x->self_significant;
}

/* What is only above or below what changed, and did not itself, is left out. */
static bool is_shown(const struct diff *d, const struct difference *x)
{
	return fabs(change_of(d, x)) >= 0.005 && (!d->significant || is_significant(d, x));
}

static void put_row(struct table *t, const struct diff *d, const struct difference *x)
{
	bool sure = is_significant(d, x);
	enum style style = !sure ? STYLE_DIM : change_of(d, x) > 0 ? STYLE_RED : STYLE_GREEN;
	double self = x->self_b - x->self_a, total = x->total_b - x->total_a;

	table_cell(t, STYLE_PLAIN, "%.2f%%", x->self_a);
	table_cell(t, STYLE_PLAIN, "%.2f%%", x->self_b);
	table_cell(t, d->by_total ? STYLE_PLAIN : style, "%+.2f", self);
	table_cell(t, STYLE_PLAIN, "%.2f%%", x->total_a);
	table_cell(t, STYLE_PLAIN, "%.2f%%", x->total_b);
	table_cell(t, d->by_total ? style : STYLE_PLAIN, "%+.2f", total);
	table_cell(t, style, "%s", sure ? "*" : "");
	table_cell(t, sure ? STYLE_PLAIN : STYLE_DIM, "%s", x->name);
	table_cell(t, STYLE_DIM, "%s", x->module);
}

static void put_head(const char *side, const char *word, const struct tree *t, struct buf *out)
{
	const cJSON *session = cJSON_GetObjectItemCaseSensitive(t->json, "session");
	char target[256], name[256];

	buf_printf(out, "%s  %s: %s, %s, %.0f samples\n", side,
		for_terminal(word, name, sizeof(name)),
		for_terminal(get_text(session, "target"), target, sizeof(target)), t->event,
		t->samples);
}

static int print_table(struct cli *cli, const struct diff *d, char **words)
{
	AUTO(table_done) struct table t = {0};
	AUTO(buf_done) struct buf out = BUF_INIT;
	unsigned width = 0, height;
	uint64_t lines = d->lines ? d->lines : LINES;

	if (cli->terminal)
		screen_size(&width, &height);
	put_head("A", words[0], d->a, &out);
	put_head("B", words[1], d->b, &out);
	table_column(&t, "Self A", ALIGN_RIGHT, 7);
	table_column(&t, "Self B", ALIGN_RIGHT, 7);
	table_column(&t, d->by_total ? "Change" : "Change v", ALIGN_RIGHT, 0);
	table_column(&t, "Total A", ALIGN_RIGHT, 7);
	table_column(&t, "Total B", ALIGN_RIGHT, 7);
	table_column(&t, d->by_total ? "Change v" : "Change", ALIGN_RIGHT, 0);
	table_column(&t, "", ALIGN_LEFT, 1);
	table_column_of_names(&t, "Function", 0);
	table_column_of_names(&t, "Module", 0);
	for (size_t i = 0; i < d->count && lines > 0; i++) {
		if (!is_shown(d, &d->d[i]))
			continue;
		put_row(&t, d, &d->d[i]);
		lines--;
	}
	table_write(&t, width, cli->color, &out);
	buf_append_str(&out,
		"* beyond what chance explains, 19 times in 20; B - A in points of percent\n");
	fwrite(out.data, 1, out.len, stdout);
	return t.failed || out.error ? EXIT_FAILED : EXIT_OK;
}

static cJSON *side_json(const struct tree *t)
{
	cJSON *o = cJSON_CreateObject();

	cJSON_AddStringToObject(o, "event", t->event);
	cJSON_AddNumberToObject(o, "samples", t->samples);
	cJSON_AddNumberToObject(o, "total", t->total);
	return o;
}

static cJSON *row_json(const struct diff *d, const struct difference *x)
{
	cJSON *o = cJSON_CreateObject();

	cJSON_AddStringToObject(o, "name", x->name);
	cJSON_AddStringToObject(o, "module", x->module);
	cJSON_AddNumberToObject(o, "self_a_percent", x->self_a);
	cJSON_AddNumberToObject(o, "self_b_percent", x->self_b);
	cJSON_AddNumberToObject(o, "total_a_percent", x->total_a);
	cJSON_AddNumberToObject(o, "total_b_percent", x->total_b);
	cJSON_AddBoolToObject(o, "significant", is_significant(d, x));
	return o;
}

static int print_json(const struct diff *d)
{
	cJSON *o = cJSON_CreateObject(), *list;
	AUTO(free_auto) char *text = NULL;
	uint64_t lines = d->lines ? d->lines : UINT64_MAX;

	cJSON_AddItemToObject(o, "a", side_json(d->a));
	cJSON_AddItemToObject(o, "b", side_json(d->b));
	list = cJSON_AddArrayToObject(o, "functions");
	for (size_t i = 0; i < d->count && lines > 0; i++) {
		if (!is_shown(d, &d->d[i]))
			continue;
		cJSON_AddItemToArray(list, row_json(d, &d->d[i]));
		lines--;
	}
	text = cJSON_PrintUnformatted(o);
	cJSON_Delete(o);
	puts(text ? text : "{}");
	return text ? EXIT_OK : EXIT_FAILED;
}

static int compare(struct cli *cli, struct diff *d, char **words)
{
	int e = read_side(cli, d, words[0], &d->a);

	if (e == EXIT_OK)
		e = read_side(cli, d, words[1], &d->b);
	if (e != EXIT_OK)
		return e;
	if (strcmp(d->a->unit, d->b->unit) != 0 || strcmp(d->a->event, d->b->event) != 0)
		fprintf(stderr,
			"profilectl: A is of %s, B of %s: shares can be compared, sums cannot\n",
			d->a->event, d->b->event);
	if (difference_make(d->a, d->b, d->by_total, &d->d, &d->count) < 0) {
		fprintf(stderr, "profilectl: no memory\n");
		return EXIT_FAILED;
	}
	return cli->json ? print_json(d) : print_table(cli, d, words);
}

/* Both on each other, as the daemon draws it. */
static int save_picture(struct cli *cli, const struct diff *d, char **words)
{
	AUTO(buf_done) struct buf path = BUF_INIT;
	const struct view_request *r = &d->request;
	struct output o;
	int e = EXIT_FAILED;

	if (!is_number(words[0]) || !is_number(words[1]))
		return usage_error("--output and --format are of two sessions, not of files");
	buf_printf(&path, "/v1/diff?base=%s&other=%s&format=%s%s", words[0], words[1],
		r->format ? r->format : format_of_file(r->file),
		r->query.data ? r->query.data : "");
	if (output_open(&o, r->file) && !path.error)
		e = client_download(cli->client, path.data, o.out);
	e = output_close(&o, e);
	if (e == EXIT_OK && r->file && strcmp(r->file, "-") != 0)
		puts(r->file);
	return e;
}

int cmd_diff(struct cli *cli, int argc, char **argv)
{
	struct diff d = {0};
	int option, e = EXIT_OK;

	while (e == EXIT_OK && (option = next_option(cli, argc, argv)) != -1)
		if (!take_option(&d, option, optarg))
			e = EXIT_USAGE;
	if (e == EXIT_OK && optind != argc - 2)
		e = usage_error("diff takes two: sessions, or files of profilectl dump -f json");
	if (e == EXIT_OK && (d.request.file || d.request.format))
		e = save_picture(cli, &d, argv + optind);
	else if (e == EXIT_OK)
		e = compare(cli, &d, argv + optind);
	view_request_done(&d.request);
	tree_free(d.a);
	tree_free(d.b);
	free(d.d);
	return e;
}
