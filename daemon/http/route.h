/* Which path is answered by what. */
#ifndef PFL_HTTP_ROUTE_H
#define PFL_HTTP_ROUTE_H

#include <stdbool.h>
#include "daemon/http/request.h"

struct route {
	const char *path; /* "{id}" stands for a session's number; the label in the metrics */
	const char *keys; /* of the query, blanks between; NULL: any, and none is looked at */
	bool open;        /* needs no token */
	bool quick;       /* answered by the thread that reads the socket */
	bool upload;      /* the body is a file, which goes to the disk */
	bool for_go;      /* refusals are plain text, which go tool pprof shows */
	bool any_body;    /* of any type, as what it asks for changes nothing */
	void (*answer[METHOD_ROUTED])(struct req *r);
};

#define ROUTES_MAX 48
unsigned route_count(void);
const struct route *route_at(unsigned i);
unsigned route_index(const struct route *route);

enum method route_method(const char *text);
/* Fills in route, id; false: a 404 is ready. A slash at the end does not matter. */
bool route_find(struct req *r);
/* That the method and the keys of the query exist there. Answers OPTIONS. */
bool route_check(struct req *r);
/* Answers. */
void route_run(struct req *r);
bool route_wants_body(const struct req *r);

#endif
