/* watch: how a session goes on, its ledger, and what its functions do now compared with just
 * before. */
#include <getopt.h>

#include "cli/live.h"

#define INTERVAL_S 2
#define LINES      10

const struct opt watch_options[] = {
	{"lines", 'n', "N", "how many functions", WORDS_NONE},
	{"interval", 'i', "TIME", "of one look, and to the next: 2, 0.5s", WORDS_NONE},
	{"count", 'c', "N", "so many looks", WORDS_NONE},
	{"event", 'e', "NAME", "one event of several", WORDS_EVENT},
	{NULL, 0, NULL, NULL, WORDS_NONE},
};

static bool take_option(struct live *l, int option, const char *value)
{
	uint64_t n = 0;

	switch (option) {
	case 'e': l->event = value; return true;
	case 'i': return live_seconds("interval", value, &l->interval_s);
	case 'n':
		if (!option_count("lines", value, &n))
			return false;
		l->view.lines = (unsigned)n;
		return true;
	case 'c': return option_count("looks", value, &l->count);
	default: return false;
	}
}

int cmd_watch(struct cli *cli, int argc, char **argv)
{
	struct live l = {.cli = cli, .interval_s = INTERVAL_S, .leave_when_over = true};
	int option, e;

	l.view.lines = LINES;
	l.view.changes = true;
	while ((option = next_option(cli, argc, argv)) != -1)
		if (!take_option(&l, option, optarg))
			return EXIT_USAGE;
	if (optind != argc - 1)
		return usage_error("watch takes one session id: profilectl list shows them");
	l.id = parse_id(argv[optind]);
	if (!l.id)
		return EXIT_USAGE;
	l.last_s = l.interval_s;
	e = live_run(&l);
	live_done(&l);
	live_end();
	return e;
}
