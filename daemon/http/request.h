/* One request on its way through the server: what was asked, by whom, and the answer. Belongs to
 * the thread that serves its connection. */
#ifndef PFL_HTTP_REQUEST_H
#define PFL_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "daemon/http/uri.h"
#include "daemon/run/run.h"

struct http;
struct conn;
struct follower;
struct render;
struct route;

#define REQUEST_BODY_MAX    ((size_t)1 << 20)
#define REQUEST_HEADERS_MAX 100
#define ANSWER_HEADERS_MAX  12

enum method {
	METHOD_GET, /* HEAD too: the library leaves the body out */
	METHOD_POST,
	METHOD_PATCH,
	METHOD_DELETE,
	METHOD_ROUTED, /* how many of them a route can have */
	METHOD_OPTIONS,
	METHOD_OTHER,
};

/* Lent by the library while the request lasts. */
struct header {
	const char *name, *value;
	size_t name_len, value_len;
};

struct answer_header {
	const char *name; /* a literal */
	char *value;
};

/* Exactly one of body, fixed and stream is what gets sent. */
struct req;
/* gone: before its time; whatever the answer, nobody gets it. */
typedef void (*later_fn)(struct req *r, bool gone);

struct answer {
	unsigned status;  /* 0: none yet */
	const char *type; /* a literal; NULL: no content */
	struct buf body;
	const char *fixed; /* bytes that live as long as the program */
	size_t fixed_len;
	struct render *stream;     /* owned: what comes after body */
	struct follower *follower; /* the same, as long as somebody listens; the server frees it */
	const char *cache;         /* Cache-Control; NULL: no-store */
	const char *csp;           /* Content-Security-Policy; NULL: nothing at all may load */
	struct answer_header headers[ANSWER_HEADERS_MAX];
	unsigned header_count;
	bool close; /* the connection cannot be used again */
};

struct req {
	struct http *http;
	struct conn *conn;
	uint64_t started_ns;

	char *raw;             /* the target as it stood in the request line; NULL: none */
	const char *malformed; /* what is wrong with the bytes of the header; NULL: nothing seen */
	const char *method_text, *version; /* lent by the library */
	struct header headers[REQUEST_HEADERS_MAX];
	unsigned header_count;

	struct uri uri;
	enum method method;
	const struct route *route;
	uint64_t id; /* the number in the path: of a session, or a pid */
	bool id_bad; /* the path has something there that is no number */
	struct caller who;
	bool by_bearer; /* came with the token in Authorization, as no form of a page can */

	bool header_seen, finished;
	uint64_t body_len; /* announced; UINT64_MAX: chunked */
	struct buf body;
	int spool_fd; /* of a body that is a file; -1: none */
	uint64_t spool_bytes, spool_max;
	struct answer answer;
	later_fn later; /* makes the answer when it is due; set only while there is none */
	uint64_t later_ns;
};

/* The value of the only header of that name: 1; 0: there is none; -EEXIST: several. */
int req_header(const struct req *r, const char *name, const char **ret_value);
bool req_has_header(const struct req *r, const char *name);

#endif
