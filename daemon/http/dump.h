/* A profile in one of the formats, by the query of a request. Of the daemon, and of a report
 * without one. */
#ifndef PFL_HTTP_DUMP_H
#define PFL_HTTP_DUMP_H

#include <stdbool.h>

#include "daemon/http/asked.h"
#include "daemon/http/request.h"
#include "daemon/render/render.h"

/* Scripts of the SVG itself may run when it is opened; nothing else, and as a stranger to this
 * origin. */
#define DUMP_SVG_POLICY                                                          \
	"sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; " \
	"script-src 'unsafe-inline'; frame-ancestors 'self'"

struct profile;

/* The question, before the profile is there; begins with the format to use where none is asked. */
struct dump {
	enum render_format format;
	struct asked asked;
	struct svg_options svg;
};

/* False: the answer says what is wrong with it. */
bool dump_ask(struct req *r, struct dump *d);
/* Makes the stream of the answer out of a named profile, or a problem of it. */
void dump_open(struct req *r, struct dump *d, struct profile *p);
/* Of an answer with a stream: what goes wrong at once still gets a proper status, and a short
 * answer its length. */
void dump_first_piece(struct req *r, const struct dump *d);

/* All of that for a profile at hand. get answers it with its names, lent, or NULL: no memory. */
typedef struct profile *(*profile_fn)(void *arg, bool inlines);
void dump_answer(struct req *r, profile_fn get, void *arg);

#endif
