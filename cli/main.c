/* profilectl: what stands before the command, and help. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/words.h"
#include "config.h"

static void print_help(FILE *out)
{
	fputs("usage: profilectl [--socket PATH | --url URL [--token TOKEN]] [--json] COMMAND "
	      "...\n\n",
		out);
	for (const struct command *c = commands; c->name; c++)
		if (*c->what)
			fprintf(out, "  %-8s %s\n", c->name, c->what);
	fputs("\nprofilectl record --pid 4242 --seconds 10 -o fg.svg\n"
	      "profilectl help COMMAND tells more, man profilectl all.\n\n"
	      "Exit status: 0 done, 1 failed, 2 wrong usage, 3 no daemon, 4 refused\n",
		out);
}

static int print_command_help(const struct command *c)
{
	AUTO(buf_done) struct buf text = BUF_INIT;

	buf_printf(&text, "usage: profilectl %s%s%s\n\n%s\n", c->name, *c->arguments ? " " : "",
		c->arguments, c->what);
	if (*c->more)
		buf_printf(&text, "\n%s", c->more);
	if (c->options[0]->name)
		buf_append_str(&text, "\n");
	options_help(c->options, &text);
	print_body(&text);
	return EXIT_OK;
}

static int unknown_command(const char *name)
{
	struct nearest nearest = {.word = name};

	for (const struct command *c = commands; c->name; c++)
		if (*c->what)
			words_try(&nearest, c->name);
	if (nearest.best)
		return usage_error("there is no command \"%s\": did you mean %s? profilectl help "
				   "shows all",
			name, nearest.best);
	return usage_error("there is no command \"%s\": profilectl help shows them", name);
}

int cmd_help(struct cli *cli, int argc, char **argv)
{
	const struct command *command;

	if (argc > 2)
		return usage_error("help takes one command, or none");
	if (argc < 2) {
		print_help(stdout);
		return EXIT_OK;
	}
	command = command_find(argv[1]);
	return command ? print_command_help(command) : unknown_command(argv[1]);
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

/* --json is taken anywhere, since people write it last; what stands behind "--" is a command's own.
 */
static bool take_word(const char *word, int *argc, char **argv)
{
	bool found = false, ours = true;
	int kept = 0;

	for (int i = 0; i < *argc; i++) {
		ours = ours && strcmp(argv[i], "--") != 0;
		if (ours && strcmp(argv[i], word) == 0)
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
	int e;

	cli->command = command_find(argv[0]);
	if (!cli->command)
		return unknown_command(argv[0]);
	if (take_word("--help", &argc, argv))
		return print_command_help(cli->command);
	if (client_new(where, &cli->client) < 0) {
		fprintf(stderr, "profilectl: no memory\n");
		return EXIT_FAILED;
	}
	cli->terminal = isatty(STDOUT_FILENO);
	cli->color = cli->terminal && !getenv("NO_COLOR");
	optind = 0; /* starts anew, with options anywhere */
	e = cli->command->fn(cli, argc, argv);
	client_free(cli->client);
	if (fflush(stdout) != 0 && e == EXIT_OK) {
		fprintf(stderr, "profilectl: cannot write: %s\n", strerror(errno));
		e = EXIT_FAILED;
	}
	return e;
}

int main(int argc, char **argv)
{
	struct client_where where = {0};
	struct cli cli = {.json = take_word("--json", &argc, argv)};
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
