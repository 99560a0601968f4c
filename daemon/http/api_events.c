/* /v1/sessions/ID/events: a session as it goes on. */
#include "daemon/http/api.h"

#include <string.h>

#include "base/cleanup.h"
#include "daemon/http/answer.h"
#include "daemon/http/asked.h"
#include "daemon/http/followers.h"
#include "daemon/http/http.h"
#include "daemon/http/watch.h"

#define EVENT_STREAM "text/event-stream"
/* How long a browser waits before it asks again for a stream that broke. */
#define RETRY "retry: 3000\n\n"

/* What is over already is an answer like any other. */
static void answer_events(struct req *r, struct follower *s, const struct asked *asked)
{
	AUTO(buf_done) struct buf first = BUF_INIT;
	struct watch *w;

	buf_append_str(&first, RETRY);
	w = watch_new(r, asked, &first);
	if (!w) {
		follower_free(s);
		return;
	}
	follower_begin(s, w);
	if (watch_is_over(w) || strcmp(r->method_text, "HEAD") == 0)
		follower_free(s);
	else
		r->answer.follower = s;
	answer_take(r, 200, EVENT_STREAM, &first);
}

void api_events(struct req *r)
{
	struct asked asked = {0};
	struct follower *s;

	if (!asked_read(r, &asked))
		return;
	s = follower_new(r);
	if (!s)
		return;
	if (!http_enter_heavy(r)) {
		follower_free(s);
		return;
	}
	answer_events(r, s, &asked);
	http_leave_heavy(r);
}
