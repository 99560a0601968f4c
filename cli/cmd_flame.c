/* flame: a session's flame graph, in the browser of a graphical session or drawn in the terminal.
 */
#include <getopt.h>
#include <langinfo.h>
#include <locale.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"
#include "cli/cli.h"
#include "cli/flameview.h"
#include "cli/screen.h"

#define WIDTH_MAX 2000

enum { OPT_BROWSER = OPT_OWN, OPT_TERMINAL, OPT_WIDTH };

const struct opt flame_options[] = {
	{"browser", OPT_BROWSER, NULL, "in the browser", WORDS_NONE},
	{"terminal", OPT_TERMINAL, NULL, "in the terminal", WORDS_NONE},
	{"width", OPT_WIDTH, "CELLS", "of the drawing; else that of the terminal", WORDS_NONE},
	{NULL, 0, NULL, NULL, WORDS_NONE},
};

struct flame {
	struct view_request request;
	struct flame_view view;
	enum flame_color color;
	bool browser, terminal;
};

static bool take_color(const char *value, enum flame_color *ret_color)
{
	static const char *const names[] = {
		[FLAME_KIND] = "kind", [FLAME_MODULE] = "module", [FLAME_NAME] = "name"};

	for (unsigned i = FLAME_KIND; i <= FLAME_NAME; i++) {
		if (strcmp(value, names[i]) != 0)
			continue;
		*ret_color = (enum flame_color)i;
		return true;
	}
	usage_error("colours stand for kind, module or name, not for \"%s\"", value);
	return false;
}

static bool take_width(const char *value, unsigned *ret_width)
{
	uint64_t n;

	if (parse_u64(value, WIDTH_MAX, &n) < 0 || n < 10) {
		usage_error("\"%s\" is no number of cells from 10 to %d", value, WIDTH_MAX);
		return false;
	}
	*ret_width = (unsigned)n;
	return true;
}

static bool take_option(struct flame *f, int option, const char *value)
{
	switch (option) {
	case OPT_BROWSER: f->browser = true; return true;
	case OPT_TERMINAL: f->terminal = true; return true;
	case OPT_WIDTH: return take_width(value, &f->view.width);
	case OPT_COLOR: return take_color(value, &f->color);
	case OPT_ICICLE: f->view.icicle = true; return true;
	default: return view_option(&f->request, option, value);
	}
}

/* What the drawing is of. */
static void put_head(const struct tree *t, uint64_t id, struct buf *out)
{
	const cJSON *session = cJSON_GetObjectItemCaseSensitive(t->json, "session");
	char target[256];

	buf_printf(out, "session %llu: %s, %s, %.0f samples\n", (unsigned long long)id,
		for_terminal(get_text(session, "target"), target, sizeof(target)), t->event,
		t->samples);
}

static int draw(struct cli *cli, struct flame *f, uint64_t id, const struct tree *t)
{
	AUTO(buf_done) struct buf out = BUF_INIT;
	unsigned width, height;

	screen_size(&width, &height);
	if (!f->view.width)
		f->view.width = width;
	setlocale(LC_CTYPE, "");
	f->view.blocks = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	f->view.color = cli->color ? f->color : FLAME_PLAIN;
	put_head(t, id, &out);
	if (t->total <= 0)
		buf_append_str(&out, "nothing was sampled in it\n");
	else if (flame_draw(&f->view, t, &out) < 0)
		return EXIT_FAILED;
	if (f->view.color == FLAME_KIND)
		flame_legend(&out);
	fwrite(out.data, 1, out.len, stdout);
	return out.error ? EXIT_FAILED : EXIT_OK;
}

static int draw_session(struct cli *cli, struct flame *f, uint64_t id)
{
	AUTO(buf_done) struct buf body = BUF_INIT;
	AUTO(tree_free_auto) struct tree *t = NULL;
	const char *query = f->request.query.data;
	int e = fetch_profile(cli, id, query ? query : "", &body);

	if (e != EXIT_OK)
		return e;
	if (cli->json) {
		print_body(&body);
		return EXIT_OK;
	}
	if (tree_parse(body.data, body.len, &t) < 0) {
		fprintf(stderr,
			"profilectl: the answer is no profile: is that the profiled daemon?\n");
		return EXIT_FAILED;
	}
	return draw(cli, f, id, t);
}

int cmd_flame(struct cli *cli, int argc, char **argv)
{
	struct flame f = {.color = FLAME_KIND};
	uint64_t id = 0;
	int option, e;

	while ((option = next_option(cli, argc, argv)) != -1) {
		if (!take_option(&f, option, optarg)) {
			view_request_done(&f.request);
			return EXIT_USAGE;
		}
	}
	if (optind != argc - 1)
		e = usage_error("flame takes one session id: profilectl list shows them");
	else if (f.browser && f.terminal)
		e = usage_error("--browser or --terminal, not both");
	else if ((id = parse_id(argv[optind])) == 0)
		e = EXIT_USAGE;
	else if (f.browser ||
		(!f.terminal && cli->terminal && !cli->json && page_can_be_shown(cli)))
		e = page_show(cli, id);
	else
		e = draw_session(cli, &f, id);
	view_request_done(&f.request);
	return e;
}
