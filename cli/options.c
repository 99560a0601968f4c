#include "cli/options.h"

#include <getopt.h>
#include <string.h>

#include "base/buf.h"
#include "base/parse.h"
#include "cli/cli.h"
#include "cli/words.h"

#define OPTIONS_MAX 64
#define COUNT_MAX   1000000

static bool is_letter(int code)
{
	return code < OPT_COMMAND;
}

/* In getopt's own form; the first of two of the same name counts. */
static void build(const struct opt *const lists[OPT_LISTS], struct option *longs, char *shorts)
{
	unsigned n = 0;

	*shorts++ = ':'; /* tells a missing value from what is no option */
	for (unsigned l = 0; l < OPT_LISTS && lists[l]; l++) {
		for (const struct opt *o = lists[l]; o->name && n < OPTIONS_MAX - 1; o++) {
			longs[n++] = (struct option){
				o->name, o->value ? required_argument : no_argument, NULL, o->code};
			if (!is_letter(o->code))
				continue;
			*shorts++ = (char)o->code;
			if (o->value)
				*shorts++ = ':';
		}
	}
	longs[n] = (struct option){NULL, 0, NULL, 0};
	*shorts = 0;
}

/* The name of what looks like the word most; NULL: none does. */
static const char *similar_option(const struct opt *const lists[OPT_LISTS], const char *word)
{
	struct nearest nearest = {.word = word};

	for (unsigned l = 0; l < OPT_LISTS && lists[l]; l++)
		for (const struct opt *o = lists[l]; o->name; o++)
			words_try(&nearest, o->name);
	return nearest.best;
}

static void say_unknown(const struct command *command, const char *word)
{
	const char *similar = NULL;
	char name[64] = "";

	if (strncmp(word, "--", 2) == 0) {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
		similar = similar_option(command->options, name);
	}
	usage_error("%s has no option %s%s%s%s profilectl help %s shows them", command->name, word,
		similar ? ": did you mean --" : ":", similar ? similar : "", similar ? "?" : "",
		command->name);
}

int next_option(struct cli *cli, int argc, char **argv)
{
	static struct option longs[OPTIONS_MAX];
	static char shorts[2 * OPTIONS_MAX + 2];
	int code;

	if (!longs[0].name)
		build(cli->command->options, longs, shorts);
	opterr = 0;
	code = getopt_long(argc, argv, shorts, longs, NULL);
	if (code == ':') {
		usage_error("%s needs a value; profilectl help %s says which", argv[optind - 1],
			cli->command->name);
		return '?';
	}
	if (code == '?') {
		char letter[] = {'-', (char)optopt, 0};
		bool is_long = optopt == 0 || optopt >= OPT_COMMAND;

		say_unknown(cli->command, is_long ? argv[optind - 1] : letter);
	}
	return code;
}

bool option_count(const char *what, const char *value, uint64_t *ret_count)
{
	if (parse_u64(value, COUNT_MAX, ret_count) == 0 && *ret_count)
		return true;
	usage_error("\"%s\" is no number of %s from 1 to %d", value, what, COUNT_MAX);
	return false;
}

bool option_order(const char *value, bool *ret_by_total)
{
	*ret_by_total = strcmp(value, "total") == 0;
	if (*ret_by_total || strcmp(value, "self") == 0)
		return true;
	usage_error("\"%s\" is no order: it is self or total", value);
	return false;
}

void options_help(const struct opt *const lists[OPT_LISTS], struct buf *out)
{
	for (unsigned l = 0; l < OPT_LISTS && lists[l]; l++) {
		for (const struct opt *o = lists[l]; o->name; o++) {
			char left[64];

			snprintf(left, sizeof(left), "--%s%s%s", o->name, o->value ? " " : "",
				o->value ? o->value : "");
			if (is_letter(o->code))
				buf_printf(out, "  -%c, ", o->code);
			else
				buf_append_str(out, "      ");
			buf_printf(out, "%-28s %s%s\n", left,
				strlen(left) > 28 ? "\n                                   " : "",
				o->what);
		}
	}
}

const struct opt *options_find(const struct opt *const lists[OPT_LISTS], const char *word)
{
	size_t len = strcspn(word, "=");

	for (unsigned l = 0; l < OPT_LISTS && lists[l]; l++) {
		for (const struct opt *o = lists[l]; o->name; o++) {
			if (len > 2 && strncmp(word, "--", 2) == 0 && strlen(o->name) == len - 2 &&
				memcmp(o->name, word + 2, len - 2) == 0)
				return o;
			if (is_letter(o->code) && word[0] == '-' && word[1] == o->code && !word[2])
				return o;
		}
	}
	return NULL;
}
