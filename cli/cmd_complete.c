/* complete: what may stand at the end of a command line, for the shells' completion. A line for
 * each: the word, a tab and what it is. ":file", ":folder" or ":command" asks the shell for names
 * of these.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "cli/cli.h"

static const struct opt global_options[] = {
	{"socket", 0, "PATH", "the daemon's Unix socket", WORDS_FILE},
	{"url", 0, "URL", "the daemon's address", WORDS_NONE},
	{"token", 0, "TOKEN", "for that address", WORDS_NONE},
	{"json", 0, NULL, "for programs", WORDS_NONE},
	{"version", 0, NULL, "of this program", WORDS_NONE},
	{"help", 0, NULL, "all commands", WORDS_NONE},
	{NULL, 0, NULL, NULL, WORDS_NONE},
};

/* The line at hand: its words but "profilectl", the last one being typed. */
struct line {
	struct cli *cli;
	const struct command *command; /* NULL: it comes first */
	const char *typed;             /* what is there of the word */
	const char *before;            /* "--format=" when the word begins with it */
	size_t before_len;
};

static void offer(const struct line *l, const char *word, const char *what)
{
	char clean[256];

	if (strncmp(word, l->typed, strlen(l->typed)) != 0 || strpbrk(word, "\t\n"))
		return;
	printf("%.*s%s\t%s\n", (int)l->before_len, l->before, word,
		for_terminal(what, clean, sizeof(clean)));
}

static void offer_options(const struct line *l, const struct opt *const lists[OPT_LISTS])
{
	for (unsigned i = 0; i < OPT_LISTS && lists[i]; i++) {
		for (const struct opt *o = lists[i]; o->name; o++) {
			char word[64];

			snprintf(word, sizeof(word), "--%s", o->name);
			offer(l, word, o->what);
		}
	}
}

/* What "a|b|c" holds. */
static void offer_choices(const struct line *l, const char *value)
{
	while (*value) {
		size_t len = strcspn(value, "|");
		char word[64];

		snprintf(word, sizeof(word), "%.*s", (int)len, value);
		offer(l, word, "");
		value += len + (value[len] == '|');
	}
}

/* ---- what the daemon and the machine know ---- */

static cJSON *ask(const struct line *l, const char *path)
{
	AUTO(buf_done) struct buf body = BUF_INIT;

	if (client_call(l->cli->client, "GET", path, NULL, &body) != EXIT_OK)
		return NULL;
	return parse_answer(&body);
}

static void offer_sessions(const struct line *l)
{
	cJSON *answer = ask(l, "/v1/sessions");
	const cJSON *s;

	cJSON_ArrayForEach (s, cJSON_GetObjectItemCaseSensitive(answer, "sessions")) {
		char id[32], what[256];

		snprintf(id, sizeof(id), "%.0f", get_number(s, "id"));
		snprintf(what, sizeof(what), "%s %.1f s, %s %s", get_text(s, "state"),
			get_number(s, "elapsed_s"), get_text(s, "target_text"),
			get_text(s, "name"));
		offer(l, id, what);
	}
	cJSON_Delete(answer);
}

static void offer_targets(const struct line *l, const char *kind)
{
	char path[64];
	cJSON *answer;
	const cJSON *t;

	snprintf(path, sizeof(path), "/v1/targets?kind=%s", kind);
	answer = ask(l, path);
	cJSON_ArrayForEach (t, cJSON_GetObjectItemCaseSensitive(answer, "targets")) {
		char what[64];

		snprintf(what, sizeof(what), "%.1f%% CPU", get_number(t, "cpu_percent"));
		offer(l, get_text(t, "name"), what);
	}
	cJSON_Delete(answer);
}

static void offer_events(const struct line *l)
{
	cJSON *answer = ask(l, "/v1/status");
	const cJSON *e;

	cJSON_ArrayForEach (e, cJSON_GetObjectItemCaseSensitive(answer, "events"))
		if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(e, "there")))
			offer(l, get_text(e, "name"), "");
	cJSON_Delete(answer);
}

/* Without a daemon too: of all processes that can be seen. */
static void offer_processes(const struct line *l, bool by_name)
{
	DIR *dir = opendir("/proc");
	struct dirent *e;

	while (dir && (e = readdir(dir)) != NULL) {
		AUTO(buf_done) struct buf name = BUF_INIT;
		char path[300];

		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
		if (io_read_file(path, 64, &name) < 0 || name.len < 2)
			continue;
		name.data[name.len - 1] = 0;
		offer(l, by_name ? name.data : e->d_name, by_name ? "" : name.data);
	}
	if (dir)
		closedir(dir);
}

static void offer_formats(const struct line *l)
{
	for (const struct format *f = formats; f->name; f++)
		offer(l, f->name, f->what);
}

static void offer_commands(const struct line *l)
{
	for (const struct command *c = commands; c->name; c++)
		if (*c->what)
			offer(l, c->name, c->what);
}

static void offer_words(const struct line *l, enum words words)
{
	switch (words) {
	case WORDS_FILE: puts(":file"); break;
	case WORDS_FOLDER: puts(":folder"); break;
	case WORDS_SESSION: offer_sessions(l); break;
	case WORDS_PID: offer_processes(l, false); break;
	case WORDS_PROCESS_NAME: offer_processes(l, true); break;
	case WORDS_UNIT: offer_targets(l, "unit"); break;
	case WORDS_CONTAINER: offer_targets(l, "container"); break;
	case WORDS_CGROUP: offer_targets(l, "cgroup"); break;
	case WORDS_EVENT: offer_events(l); break;
	case WORDS_FORMAT: offer_formats(l); break;
	case WORDS_COMMAND: offer_commands(l); break;
	case WORDS_NONE: break;
	}
}

static void offer_value(const struct line *l, const struct opt *o)
{
	if (strchr(o->value, '|'))
		offer_choices(l, o->value);
	else
		offer_words(l, o->words);
}

/* ---- the line ---- */

/* The options before the command are those of the daemon to ask. */
static int take_globals(struct line *l, int argc, char **argv, struct client_where *where)
{
	static const struct opt *const lists[OPT_LISTS] = {global_options};
	int i = 0;

	while (i < argc - 1 && argv[i][0] == '-') {
		const struct opt *o = options_find(lists, argv[i]);
		const char *value = strchr(argv[i], '=');

		i++;
		if (!o || !o->value)
			continue;
		if (value)
			value++;
		else if (i < argc - 1)
			value = argv[i++];
		else
			return -1; /* the value itself is typed */
		if (strcmp(o->name, "socket") == 0)
			where->socket = value;
		else if (strcmp(o->name, "url") == 0)
			where->url = value;
		else
			where->token = value;
	}
	return i;
}

/* Bash has the parts of "--format=svg" as three words. */
static const struct opt *open_option(const struct line *l, int argc, char **argv)
{
	const struct opt *o = NULL;

	if (argc >= 3 && strcmp(argv[argc - 2], "=") == 0)
		o = options_find(l->command->options, argv[argc - 3]);
	else if (argc >= 2)
		o = options_find(l->command->options, argv[argc - 2]);
	return o && o->value ? o : NULL;
}

static void complete_command(struct line *l, int argc, char **argv)
{
	const struct opt *o = open_option(l, argc, argv);
	const char *equals = strchr(l->typed, '=');

	if (strcmp(l->typed, "=") == 0 && argc >= 2) {
		o = options_find(l->command->options, argv[argc - 2]);
		l->typed = "";
	} else if (!o && l->typed[0] == '-' && equals) {
		o = options_find(l->command->options, l->typed);
		l->before = l->typed;
		l->before_len = (size_t)(equals - l->typed) + 1;
		l->typed = equals + 1;
	}
	if (o && o->value)
		offer_value(l, o);
	else if (l->typed[0] == '-')
		offer_options(l, l->command->options);
	else if (l->command->operands != WORDS_COMMAND || l->command->fn == cmd_help)
		offer_words(l, l->command->operands);
}

/* What stands there is a command to run. */
static bool behind_dashes(int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		if (strcmp(argv[i], "--") == 0)
			return true;
	return false;
}

int cmd_complete(struct cli *cli, int argc, char **argv)
{
	static const struct opt *const globals[OPT_LISTS] = {global_options};
	struct line l = {.cli = cli, .typed = argc > 1 ? argv[argc - 1] : "", .before = ""};
	struct client_where where = {0};
	int at = argc > 1 ? take_globals(&l, argc - 1, argv + 1, &where) : 0;

	/* Nobody wants to read there why something is not known. */
	if (!freopen("/dev/null", "w", stderr))
		return EXIT_FAILED;
	if (at < 0)
		return EXIT_OK;
	client_free(cli->client);
	cli->client = NULL;
	if (client_new(&where, &cli->client) < 0)
		return EXIT_FAILED;
	if (argc - 1 - at > 1)
		l.command = command_find(argv[1 + at]);
	if (l.command && behind_dashes(argc - 3 - at, argv + 2 + at))
		puts(strcmp(argv[argc - 2], "--") == 0 ? ":command" : ":file");
	else if (l.command)
		complete_command(&l, argc - 2 - at, argv + 2 + at);
	else if (argc - 1 - at <= 1 && l.typed[0] == '-')
		offer_options(&l, globals);
	else if (argc - 1 - at <= 1)
		offer_commands(&l);
	return EXIT_OK;
}
