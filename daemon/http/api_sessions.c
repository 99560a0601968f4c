/* /v1/sessions: start, list, look, change, stop, forget. */
#include "daemon/http/api.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "daemon/http/answer.h"
#include "daemon/http/http.h"
#include "daemon/http/json_in.h"
#include "daemon/http/json_out.h"

/* The sentence for a body that was refused. */
static void refuse_body(struct req *r, int error, const struct buf *why)
{
	if (error == -ENOMEM)
		problem(r, 503, "There is no memory for this body; try again later.");
	else
		problem(r, 400, "%s", why->data ? why->data : "The body cannot be read.");
}

static const char *body_of(const struct req *r)
{
	return r->body.data ? r->body.data : "";
}

static void answer_session(struct req *r, unsigned status, const struct profile *head)
{
	AUTO(buf_done) struct buf body = BUF_INIT;

	session_json(head, &body);
	answer_json(r, status, &body);
}

/* What run said, as an answer: the session's head, or what is wrong. */
static void answer_run(
	struct req *r, int error, const struct profile *head, const struct buf *message)
{
	if (error != RUN_OK)
		problem_of_run(r, error, message);
	else
		answer_session(r, 200, head);
}

void api_sessions_list(struct req *r)
{
	AUTO(buf_done) struct buf body = BUF_INIT;
	struct profile **heads = NULL;
	unsigned count = 0;
	int error = run_list(r->http->setup.run, &r->who, &heads, &count);

	if (error != RUN_OK) {
		problem_of_run(r, error, &body);
		return;
	}
	json_begin(&body, '{');
	json_begin_in(&body, "sessions", '[');
	for (unsigned i = 0; i < count; i++) {
		session_json(heads[i], &body);
		profile_unref(heads[i]);
	}
	free(heads);
	json_end(&body, ']');
	json_end(&body, '}');
	answer_json(r, 200, &body);
}

void api_sessions_start(struct req *r)
{
	AUTO(free_auto) struct session_request *request = calloc(1, sizeof(*request));
	AUTO(profile_unref_auto) struct profile *head = NULL;
	AUTO(buf_done) struct buf message = {.max_bytes = 64 << 10};
	int error = -ENOMEM;

	if (request)
		error = json_in_session(body_of(r), r->body.len, HTTP_CONFIG(r->http, max_freq_hz),
			request, &message);
	if (error < 0) {
		refuse_body(r, error, &message);
		return;
	}
	error = run_start(r->http->setup.run, &r->who, request, &head, &message);
	if (error != RUN_OK) {
		problem_of_run(r, error, &message);
		return;
	}
	answer_header(r, "Location", "/v1/sessions/%" PRIu64, head->meta.session_id);
	answer_session(r, 201, head);
}

/* The file is there; its import may take a while, on this thread. */
static int import(struct req *r, struct profile **ret_head, struct buf *message)
{
	const char *name = uri_get(&r->uri, "name");
	char text[128] = "perf.data";

	if (name && *name)
		text_utf8(name, strlen(name), text, sizeof(text));
	return run_import(r->http->setup.run, &r->who, r->spool_fd, text, &r->http->stopping,
		ret_head, message);
}

void api_import(struct req *r)
{
	AUTO(profile_unref_auto) struct profile *head = NULL;
	AUTO(buf_done) struct buf message = {.max_bytes = 64 << 10};
	int error;

	if (r->spool_bytes == 0) {
		problem(r, 400, "The body must be a perf.data file; it is empty.");
		return;
	}
	if (!http_enter(&r->http->imports, HTTP_IMPORTS_MAX)) {
		problem(r, 429, "Other imports are running just now; try again in a moment.");
		return;
	}
	error = import(r, &head, &message);
	http_leave(&r->http->imports);
	if (error != RUN_OK) {
		problem_of_run(r, error, &message);
		return;
	}
	answer_header(r, "Location", "/v1/sessions/%" PRIu64, head->meta.session_id);
	answer_session(r, 201, head);
}

void api_session_get(struct req *r)
{
	AUTO(profile_unref_auto) struct profile *head = NULL;
	AUTO(buf_done) struct buf message = {.max_bytes = 64 << 10};
	int error = run_head(r->http->setup.run, &r->who, r->id, &head, &message);

	answer_run(r, error, head, &message);
}

void api_session_stop(struct req *r)
{
	AUTO(profile_unref_auto) struct profile *head = NULL;
	AUTO(buf_done) struct buf message = {.max_bytes = 64 << 10};
	int error = json_in_nothing(body_of(r), r->body.len, &message);

	if (error < 0) {
		refuse_body(r, error, &message);
		return;
	}
	error = run_stop(r->http->setup.run, &r->who, r->id, &head, &message);
	answer_run(r, error, head, &message);
}

void api_session_change(struct req *r)
{
	AUTO(profile_unref_auto) struct profile *head = NULL;
	AUTO(buf_done) struct buf message = {.max_bytes = 64 << 10};
	struct session_change change;
	int error = json_in_change(
		body_of(r), r->body.len, HTTP_CONFIG(r->http, max_freq_hz), &change, &message);

	if (error < 0) {
		refuse_body(r, error, &message);
		return;
	}
	error = run_change(r->http->setup.run, &r->who, r->id, &change, &head, &message);
	answer_run(r, error, head, &message);
}

void api_session_delete(struct req *r)
{
	AUTO(buf_done) struct buf message = {.max_bytes = 64 << 10};
	int error = run_delete(r->http->setup.run, &r->who, r->id, &message);

	if (error != RUN_OK)
		problem_of_run(r, error, &message);
	else
		answer_empty(r, 204);
}
