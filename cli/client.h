/* Speaks HTTP to the daemon, over its Unix socket or TCP. */
#ifndef PFL_CLI_CLIENT_H
#define PFL_CLI_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "base/buf.h"
#include "base/cleanup.h"

/* Exit codes of profilectl. */
enum {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_NO_DAEMON = 3,
	EXIT_REFUSED = 4,
	EXIT_NOT_RUNNABLE = 126, /* a command to run, as shells have it */
	EXIT_NOT_FOUND = 127
};

/* Where the daemon is; NULL: the environment (PROFILED_SOCKET, PROFILED_URL, PROFILED_TOKEN), then
 * the usual sockets. */
struct client_where {
	const char *socket, *url, *token;
};

struct client;
int client_new(const struct client_where *where, struct client **ret_client);
void client_free(struct client *c);
AUTO_FREE_FN(struct client, client_free)

/* The folder of the daemon's socket, for its token and http files; "" when talking to a URL. */
const char *client_runtime_dir(const struct client *c);
const char *client_place(const struct client *c); /* for messages */
/* By an option or the environment, rather than found in one of the usual places. */
bool client_was_named(const struct client *c);
/* Of the last answer, 0: there was none. */
long client_status(const struct client *c);
/* Calls end, with EXIT_FAILED and without a word, within a second after fn says so; NULL: never. */
void client_set_cancel(struct client *c, bool (*fn)(void));
/* Without a word: 0 when a daemon answers there, else -errno of why it cannot be reached. */
int client_probe(struct client *c);
/* A DELETE without a word, whatever comes of it. */
void client_forget(struct client *c, const char *path);
/* The sentence of a problem in JSON, on stderr. */
void client_say_problem(const struct buf *problem);

/* text as the value of a query parameter; the caller's to free. NULL: no memory. */
char *client_escape(const char *text);

/* json: the body, or NULL. Returns EXIT_OK for a 2xx answer, whose body is appended to *body. Else
 * an exit code, after a sentence on stderr. */
int client_call(
	struct client *c, const char *method, const char *path, const char *json, struct buf *body);
/* A GET straight into a file. */
int client_download(struct client *c, const char *path, FILE *into);
/* POSTs what is left of a file; bytes: how much that is, -1: it will show (a pipe). The rest as
 * client_call(). */
int client_upload(struct client *c, const char *path, FILE *from, int64_t bytes, struct buf *body);

#endif
