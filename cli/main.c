#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "config.h"

struct command {
	const char *name, *arguments, *what;
	command_fn fn;
};

static const struct command commands[] = {
	{"record", "TARGET [--seconds N] [-o FILE]", "profile for a while and save the flame graph",
		cmd_record},
	{"start", "TARGET [options]", "start a session and return", cmd_start},
	{"stop", "ID...", "stop sessions; their profiles stay", cmd_stop},
	{"list", "", "the sessions", cmd_list},
	{"show", "ID", "one session and its ledger", cmd_show},
	{"dump", "ID [-f FORMAT] [-o FILE]",
		"a profile as json, folded, svg, text, perfdata or pprof", cmd_dump},
	{"report", "PERF.DATA [-o FILE]", "a recording of perf as a picture or text", cmd_report},
	{"top", "ID [-n N]", "the functions that used most", cmd_top},
	{"targets", "[TEXT]", "what could be profiled, by CPU use", cmd_targets},
	{"perfmap", "PID", "have a Java process write the names of its code", cmd_perfmap},
	{"status", "", "what the daemon can do here, and what is missing", cmd_status},
	{"open", "[ID]", "the page in the browser", cmd_open},
	{"delete", "ID...", "stop and forget sessions", cmd_delete},
};

static void print_help(FILE *out)
{
	fputs("usage: profilectl [--socket PATH | --url URL [--token TOKEN]] [--json] COMMAND "
	      "...\n\n",
		out);
	for (unsigned i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		fprintf(out, "  %-8s %-32s %s\n", commands[i].name, commands[i].arguments,
			commands[i].what);
	fputs("\nTARGET: --pid N (may be repeated), --command NAME, --cgroup PATH, --unit NAME, "
	      "--container ID, --all\n"
	      "options: -e EVENT, -F HZ or --period N, -d SECONDS, --no-kernel, --unwind "
	      "auto|dwarf|fp,\n"
	      "         --stack-bytes N, --max-frames N, --name TEXT\n\n"
	      "profilectl record --pid 4242 --seconds 10 -o fg.svg\n\n"
	      "Exit status: 0 done, 1 failed, 2 wrong usage, 3 no daemon, 4 refused. More: man "
	      "profilectl\n",
		out);
}

static const struct command *find_command(const char *name)
{
	for (unsigned i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

enum { OPT_SOCKET = 256, OPT_URL, OPT_TOKEN, OPT_JSON, OPT_VERSION };

static const struct option options[] = {
	{"socket", required_argument, NULL, OPT_SOCKET},
	{"url", required_argument, NULL, OPT_URL},
	{"token", required_argument, NULL, OPT_TOKEN},
	{"json", no_argument, NULL, OPT_JSON},
	{"version", no_argument, NULL, OPT_VERSION},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

/* --json is taken anywhere, since people write it last. */
static bool take_json(int *argc, char **argv)
{
	bool found = false;
	int kept = 0;

	for (int i = 0; i < *argc; i++) {
		if (strcmp(argv[i], "--json") == 0)
			found = true;
		else
			argv[kept++] = argv[i];
	}
	argv[kept] = NULL;
	*argc = kept;
	return found;
}

static int run_command(struct cli *cli, const struct client_where *where, int argc, char **argv)
{
	const struct command *command = find_command(argv[0]);
	AUTO(client_free_auto) struct client *client = NULL;
	int e;

	if (!command)
		return usage_error("there is no command \"%s\": see profilectl --help", argv[0]);
	if (client_new(where, &client) < 0) {
		fprintf(stderr, "profilectl: no memory\n");
		return EXIT_FAILED;
	}
	cli->client = client;
	cli->terminal = isatty(STDOUT_FILENO);
	cli->color = cli->terminal && !getenv("NO_COLOR");
	optind = 0; /* starts anew, with options anywhere */
	e = command->fn(cli, argc, argv);
	if (fflush(stdout) != 0 && e == EXIT_OK) {
		fprintf(stderr, "profilectl: cannot write: %s\n", strerror(errno));
		e = EXIT_FAILED;
	}
	return e;
}

int main(int argc, char **argv)
{
	struct client_where where = {0};
	struct cli cli = {.json = take_json(&argc, argv)};
	int option;

	while ((option = getopt_long(argc, argv, "+h", options, NULL)) != -1) {
		switch (option) {
		case OPT_SOCKET: where.socket = optarg; break;
		case OPT_URL: where.url = optarg; break;
		case OPT_TOKEN: where.token = optarg; break;
		case OPT_VERSION: puts("profilectl " PACKAGE_VERSION); return EXIT_OK;
		case 'h': print_help(stdout); return EXIT_OK;
		default: return EXIT_USAGE;
		}
	}
	if (optind == argc) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	return run_command(&cli, &where, argc - optind, argv + optind);
}
