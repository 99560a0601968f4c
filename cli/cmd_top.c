/* top: the functions that use most, live. Of a session, or of one for as long as this runs. */
#include <getopt.h>

#include "cli/live.h"
#include "cli/profiler.h"

#define INTERVAL_S 2
#define WINDOW_S   10
#define ONE_HOUR   3600 /* nobody looks for longer, and if we are killed it ends by itself */
#define LINES      20

const struct opt top_options[] = {
	{"lines", 'n', "N", "how many functions", WORDS_NONE},
	{"interval", 'i', "TIME", "between two looks: 2, 0.5s", WORDS_NONE},
	{"count", 'c', "N", "so many looks", WORDS_NONE},
	{"last", OPT_LAST, "TIME", "of the last seconds alone", WORDS_NONE},
	{"sort", 's', "self|total", "what is first", WORDS_NONE},
	{"private", OPT_PRIVATE, NULL, "by a profiler of our own, even if a daemon is there",
		WORDS_NONE},
	{NULL, 0, NULL, NULL, WORDS_NONE},
};

struct top {
	struct live live;
	cJSON *request;
	bool alone, lines_given;
};

static bool take_option(struct top *t, int option, const char *value)
{
	struct live *l = &t->live;
	bool bad = false;
	uint64_t n;

	switch (option) {
	case 'n':
		t->lines_given = option_count("lines", value, &n);
		l->view.lines = t->lines_given ? (unsigned)n : 0;
		return t->lines_given;
	case 'i': return live_seconds("interval", value, &l->interval_s);
	case 'c': return option_count("looks", value, &l->count);
	case OPT_LAST: return live_seconds("last", value, &l->last_s);
	case 's': return option_order(value, &l->view.by_total);
	case OPT_PRIVATE: t->alone = true; return true;
	default:
		if (option == 'e' && !l->event)
			l->event = value;
		return request_option(t->request, option, value, &bad) && !bad;
	}
}

/* A session that is there has its target and its rate; of its events one is shown. */
static int take_session(struct top *t, const char *word)
{
	cJSON_DeleteItemFromObjectCaseSensitive(t->request, "events");
	if (t->request->child || t->alone)
		return usage_error("give a session or a target, not both: --%s is of a target",
			t->alone ? "private" : t->request->child->string);
	t->live.id = parse_id(word);
	return t->live.id ? EXIT_OK : EXIT_USAGE;
}

static int take_target(struct top *t)
{
	if (!request_targets(t->request))
		cJSON_AddTrueToObject(t->request, "all");
	if (!request_complete(t->request))
		return EXIT_USAGE;
	if (!cJSON_HasObjectItem(t->request, "duration_s"))
		cJSON_AddNumberToObject(t->request, "duration_s", ONE_HOUR);
	if (t->live.last_s <= 0)
		t->live.last_s = WINDOW_S;
	return EXIT_OK;
}

static int take_options(struct cli *cli, struct top *t, int argc, char **argv)
{
	int option;

	while ((option = next_option(cli, argc, argv)) != -1)
		if (!take_option(t, option, optarg))
			return EXIT_USAGE;
	if (!t->lines_given && (!cli->terminal || cli->json))
		t->live.view.lines = LINES;
	if (optind < argc - 1)
		return usage_error("top takes one session id, or a target");
	return optind < argc ? take_session(t, argv[optind]) : take_target(t);
}

static int watch_target(struct cli *cli, struct top *t)
{
	AUTO(buf_done) struct buf body = BUF_INIT;
	int e = request_start(cli, t->request, &body, &t->live.id);

	if (e != EXIT_OK)
		return e;
	e = live_run(&t->live);
	forget_session(cli, t->live.id);
	return e;
}

int cmd_top(struct cli *cli, int argc, char **argv)
{
	struct top t = {.request = cJSON_CreateObject()};
	struct profiler *profiler = NULL;
	int e;

	t.live.cli = cli;
	t.live.interval_s = INTERVAL_S;
	e = take_options(cli, &t, argc, argv);
	if (e == EXIT_OK && !t.live.id)
		e = profiler_for_job(cli, t.alone, &profiler);
	if (e == EXIT_OK)
		e = t.live.id ? live_run(&t.live) : watch_target(cli, &t);
	live_done(&t.live);
	cJSON_Delete(t.request);
	profiler_free(profiler);
	live_end();
	return e;
}
