/* A question about what a session has sampled, as the keys of a query have it. */
#ifndef PFL_HTTP_ASKED_H
#define PFL_HTTP_ASKED_H

#include <stdbool.h>
#include "daemon/http/ask.h"
#include "daemon/http/request.h"
#include "daemon/render/view.h"

/* Before the profile is there. */
struct asked {
	struct view_query view;
	const char *event; /* lent by the request; NULL: the first */
	struct ask_moment from, to;
	double last_s; /* 0: not asked */
	bool by_given;
	bool inlines;
};

/* Each: false when an answer that refuses is ready.
 * asked_samples: event, from, to, last, thread and pid. asked_read: also by, inline, min, depth,
 * inverted and fold_templates. */
bool asked_samples(struct req *r, struct asked *a);
bool asked_read(struct req *r, struct asked *a);
bool asked_lines(struct req *r, struct asked *a);
bool asked_needs_log(const struct asked *a);
/* The index of the event of that name; NULL: the one at *ret_index already. */
bool asked_event(struct req *r, const struct profile *p, const char *name, int *ret_index);
bool asked_view(struct req *r, struct asked *a, const struct profile *p, struct view **ret_view);
/* Part of that: the times that the question means in p, and whether it tells several programs
 * apart, which it does unless by says otherwise: they would be one heap of _start. */
void asked_fit(struct asked *a, const struct profile *p);
/* The same; a range without any moment is refused. */
bool asked_range(struct req *r, struct asked *a, const struct profile *p);
/* Why view_new() made none. */
void asked_refuse_view(struct req *r, int error);

#endif
