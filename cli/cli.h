/* What the commands of profilectl share. */
#ifndef PFL_CLI_CLI_H
#define PFL_CLI_CLI_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>
#include "cli/client.h"
#include "cli/file.h"
#include "cli/options.h"
#include "cli/output.h"

struct command;

struct cli {
	struct client *client;
	const struct command *command; /* that runs */
	bool json;                     /* --json: for programs */
	bool terminal;                 /* stdout is one */
	bool color;
	bool alone; /* the client's daemon is a profiler of our own */
};

/* One command: argv[0] is its name. Answers an exit code. */
typedef int (*command_fn)(struct cli *cli, int argc, char **argv);

struct command {
	const char *name, *arguments, *what; /* name NULL ends the list; what "": not for people */
	const char *more;                    /* for its help: sentences and examples */
	const struct opt *options[OPT_LISTS];
	enum words operands;
	command_fn fn;
};
extern const struct command commands[];
/* NULL: there is none of that name. */
const struct command *command_find(const char *name);

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
int cmd_watch(struct cli *cli, int argc, char **argv);
int cmd_flame(struct cli *cli, int argc, char **argv);
int cmd_diff(struct cli *cli, int argc, char **argv);
int cmd_export(struct cli *cli, int argc, char **argv);
int cmd_complete(struct cli *cli, int argc, char **argv);
int cmd_rename(struct cli *cli, int argc, char **argv);
int cmd_help(struct cli *cli, int argc, char **argv);

extern const struct opt record_options[], report_options[], top_options[], watch_options[],
	flame_options[], diff_options[], export_options[];

/* ---- request.c: what to profile and how, from options ---- */

extern const struct opt target_options[];
/* Takes one option into body. False: none of these. *ret_bad: it was, but of nonsense value (said
 * so). */
bool request_option(cJSON *body, int option, const char *value, bool *ret_bad);
/* How many targets it names; one is right. */
unsigned request_targets(const cJSON *body);
/* False, and said so: no target or several. */
bool request_complete(const cJSON *body);
/* Starts a session; the daemon's answer is appended to body. */
int request_start(struct cli *cli, const cJSON *request, struct buf *body, uint64_t *ret_id);

/* Stops and deletes it without a word: what was for this command alone. */
void forget_session(struct cli *cli, uint64_t id);

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

extern const struct opt dump_options[]; /* how it is written, and where to */
extern const struct opt view_options[]; /* what of it */
/* False: none of these; dump_option() takes both kinds. */
bool view_option(struct view_request *v, int option, const char *value);
bool dump_option(struct view_request *v, int option, const char *value);
void add_query(struct buf *query, const char *key, const char *value);
/* Says so, and which there are; answers EXIT_USAGE. */
int unknown_format(const char *name);
/* Its JSON, appended to body. query: as in struct view_request. */
int fetch_profile(struct cli *cli, uint64_t id, const char *query, struct buf *body);
/* Into the file, whole or not at all; NULL or "-": to stdout. query: as in struct view_request. */
int save_profile(
	struct cli *cli, uint64_t id, const char *format, const char *query, const char *file);

/* ---- cmd_open.c ---- */

/* Whether there are a page, its token and a graphical session. */
bool page_can_be_shown(struct cli *cli);
/* Prints the page's address, of a session if id is not 0, and opens it where there is a browser. */
int page_show(struct cli *cli, uint64_t id);

#endif
