/* What the commands of profilectl share. */
#ifndef PFL_CLI_CLI_H
#define PFL_CLI_CLI_H

#include <cjson/cJSON.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include "cli/client.h"

struct cli {
	struct client *client;
	bool json;     /* --json: the daemon's answer as it is */
	bool terminal; /* stdout is one */
	bool color;
};

/* One command: argv[0] is its name. Answers an exit code. */
typedef int (*command_fn)(struct cli *cli, int argc, char **argv);

int cmd_start(struct cli *cli, int argc, char **argv);
int cmd_record(struct cli *cli, int argc, char **argv);
int cmd_stop(struct cli *cli, int argc, char **argv);
int cmd_delete(struct cli *cli, int argc, char **argv);
int cmd_list(struct cli *cli, int argc, char **argv);
int cmd_show(struct cli *cli, int argc, char **argv);
int cmd_dump(struct cli *cli, int argc, char **argv);
int cmd_report(struct cli *cli, int argc, char **argv);
int cmd_top(struct cli *cli, int argc, char **argv);
int cmd_targets(struct cli *cli, int argc, char **argv);
int cmd_perfmap(struct cli *cli, int argc, char **argv);
int cmd_status(struct cli *cli, int argc, char **argv);
int cmd_open(struct cli *cli, int argc, char **argv);

/* ---- request.c: what to profile and how, from options ---- */

/* Options of start and record; more of a command's own may follow in its list. */
#define REQUEST_SHORT   "p:e:F:d:"
#define REQUEST_OPTIONS 17
extern const struct option request_options[REQUEST_OPTIONS];
/* Takes one option into body. False: none of these. *ret_bad: it was, but of nonsense value (said
 * so). */
bool request_option(cJSON *body, int option, const char *value, bool *ret_bad);
/* False, and said so: no target or several. */
bool request_complete(const cJSON *body);

/* ---- cmd_dump.c ---- */

/* A profile in one of its forms, from options. */
struct view_request {
	const char *format, *file; /* NULL: not given */
	struct buf query;          /* "" or "&key=value..." */
};
static inline void view_request_done(struct view_request *v)
{
	buf_done(&v->query);
}

#define VIEW_SHORT   "f:o:"
#define VIEW_OPTIONS 16 /* the last of them zeros */
extern const struct option view_options[VIEW_OPTIONS];
/* False: none of these. */
bool view_option(struct cli *cli, struct view_request *v, int option, const char *value);
void add_query(struct cli *cli, struct buf *query, const char *key, const char *value);

/* "svg" unless the file's name ends otherwise. */
const char *format_of_file(const char *file);
/* Into the file, whole or not at all; NULL or "-": to stdout. query: as in struct view_request. */
int save_profile(
	struct cli *cli, uint64_t id, const char *format, const char *query, const char *file);

/* A file that is whole when it has its name; what is no regular file is written in place. */
struct output {
	FILE *out;
	const char *file; /* NULL: stdout */
	bool in_place;
	struct buf part; /* what is written */
};
/* NULL or "-": stdout. False, and said so: it cannot be written; to be closed all the same. */
bool output_open(struct output *o, const char *file);
/* e: how the writing went. Answers that, or what went wrong at the end, and said so. */
int output_close(struct output *o, int e);

/* ---- output.c ---- */

/* Parses an answer; NULL, and said so, when it is no JSON. */
cJSON *parse_answer(const struct buf *body);
const char *get_text(const cJSON *object, const char *key); /* "" when not there */
double get_number(const cJSON *object, const char *key);
/* Text from a stranger, for a terminal: control bytes shown as U+FFFD. Returns out. */
const char *for_terminal(const char *text, char *out, size_t out_bytes);
void print_body(const struct buf *body);
/* One line about a session, as list shows it. */
void print_session_line(const cJSON *session);
void print_ledger(const cJSON *session, FILE *out);
/* A session's id from the command line; 0, and said so, for anything else. */
uint64_t parse_id(const char *text);
/* Usage error: says so and answers EXIT_USAGE. */
int usage_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
