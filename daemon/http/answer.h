/* Building the answer of a request. The first answer wins: a later call changes nothing, so that a
 * check may refuse and its callers just return. */
#ifndef PFL_HTTP_ANSWER_H
#define PFL_HTTP_ANSWER_H

#include <stdbool.h>
#include "daemon/http/request.h"

/* application/problem+json: detail says what to change. */
void problem(struct req *r, unsigned status, const char *detail, ...)
	__attribute__((format(printf, 3, 4)));
/* The same out of an enum run_error and its sentence. */
void problem_of_run(struct req *r, int run_error, const struct buf *message);
/* Such an answer with its header, for a socket that the library cannot answer on any more. */
int problem_raw(unsigned status, const char *detail, struct buf *into);
const char *status_title(unsigned status);

/* The bytes of body move into the answer; a buffer with an error becomes a 503. */
void answer_take(struct req *r, unsigned status, const char *type, struct buf *body);
void answer_json(struct req *r, unsigned status, struct buf *body);
/* bytes live as long as the program. */
void answer_fixed(struct req *r, const char *type, const char *bytes, size_t len);
/* Not yet: fn makes it at that time, or earlier, when the client has gone or the daemon stops. No
 * thread waits for it. */
void answer_later(struct req *r, later_fn fn, uint64_t due_ns);
void answer_empty(struct req *r, unsigned status);
void answer_header(struct req *r, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void answer_done(struct answer *a);

#endif
