/* The options of the commands: one list for reading them, for their help and for completion. */
#ifndef PFL_CLI_OPTIONS_H
#define PFL_CLI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* What can stand at a place on the command line, for completion. */
enum words {
	WORDS_NONE,
	WORDS_FILE,
	WORDS_FOLDER,
	WORDS_SESSION,
	WORDS_PID,
	WORDS_PROCESS_NAME,
	WORDS_UNIT,
	WORDS_CONTAINER,
	WORDS_CGROUP,
	WORDS_EVENT,
	WORDS_FORMAT,
	WORDS_COMMAND
};

struct opt {
	const char *name;  /* NULL ends a list */
	int code;          /* a letter is its short form as well */
	const char *value; /* what it takes; "a|b|c": one of these. NULL: nothing */
	const char *what;
	enum words words; /* of the value */
};

/* Codes without a letter; those of a command's own stand in its file, from OPT_OWN on. */
enum {
	OPT_COMMAND = 256,
	OPT_CGROUP,
	OPT_UNIT,
	OPT_CONTAINER,
	OPT_ALL,
	OPT_PERIOD,
	OPT_NO_KERNEL,
	OPT_UNWIND,
	OPT_STACK,
	OPT_FRAMES,
	OPT_CPU,
	OPT_MEMORY,
	OPT_NAME,
	OPT_PRIVATE,
	OPT_FROM,
	OPT_TO,
	OPT_LAST,
	OPT_THREAD,
	OPT_VIEW_PID,
	OPT_BY,
	OPT_LINES,
	OPT_INLINE,
	OPT_FOLD_TEMPLATES,
	OPT_MIN,
	OPT_ICICLE,
	OPT_COLOR,
	OPT_OWN = 512
};

#define OPT_LISTS 3
struct cli;
struct buf;

/* The next option of the command that runs: its code, -1 after the last one, or '?' for what is
 * none, and said so. As getopt_long(): optarg, optind. */
int next_option(struct cli *cli, int argc, char **argv);
/* "10": a number from 1 to a million; "self", "total": an order. False, and said so, for anything
 * else. */
bool option_count(const char *what, const char *value, uint64_t *ret_count);
bool option_order(const char *value, bool *ret_by_total);
/* A command's options, a line each, for its help. */
void options_help(const struct opt *const lists[OPT_LISTS], struct buf *out);
/* The option that a word of the command line names, "--pid", "--pid=4" or "-p"; NULL: none. */
const struct opt *options_find(const struct opt *const lists[OPT_LISTS], const char *word);

#endif
