#include "daemon/http/answer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "daemon/http/json_out.h"
#include "daemon/http/route.h"
#include "daemon/render/render.h"

#define PROBLEM_TYPE "application/problem+json"
#define PLAIN_TYPE   "text/plain; charset=utf-8"

static const struct {
	unsigned status;
	const char *title;
} titles[] = {
	{400, "Bad Request"},
	{401, "Unauthorized"},
	{403, "Forbidden"},
	{404, "Not Found"},
	{405, "Method Not Allowed"},
	{408, "Request Timeout"},
	{409, "Conflict"},
	{413, "Content Too Large"},
	{414, "URI Too Long"},
	{415, "Unsupported Media Type"},
	{417, "Expectation Failed"},
	{421, "Misdirected Request"},
	{422, "Unprocessable Content"},
	{429, "Too Many Requests"},
	{431, "Request Header Fields Too Large"},
	{500, "Internal Server Error"},
	{503, "Service Unavailable"},
	{507, "Insufficient Storage"},
	{505, "HTTP Version Not Supported"},
};

const char *status_title(unsigned status)
{
	for (size_t i = 0; i < sizeof(titles) / sizeof(*titles); i++)
		if (titles[i].status == status)
			return titles[i].title;
	return "Error";
}

static void problem_body(unsigned status, const char *detail, struct buf *into)
{
	json_begin(into, '{');
	json_text(into, "type", "about:blank");
	json_text(into, "title", status_title(status));
	json_u64(into, "status", status);
	json_text(into, "detail", detail);
	json_end(into, '}');
	buf_append_char(into, '\n');
}

void problem(struct req *r, unsigned status, const char *detail, ...)
{
	AUTO(buf_done) struct buf text = {.max_bytes = 64 << 10};
	AUTO(buf_done) struct buf body = BUF_INIT;
	va_list ap;

	va_start(ap, detail);
	buf_vprintf(&text, detail, ap);
	va_end(ap);
	detail = text.data ? text.data : status_title(status);
	if (status == 503 || status == 429)
		answer_header(r, "Retry-After", "%d", 2);
	if (r->route && r->route->for_go) {
		/* Without the header it shows the status alone. */
		answer_header(r, "X-Go-Pprof", "1");
		buf_printf(&body, "%s\n", detail);
	} else {
		problem_body(status, detail, &body);
	}
	answer_take(r, status, r->route && r->route->for_go ? PLAIN_TYPE : PROBLEM_TYPE, &body);
}

void problem_of_run(struct req *r, int run_error, const struct buf *message)
{
	static const struct {
		unsigned status;
		const char *detail;
	} kinds[] = {
		[RUN_BAD_REQUEST] = {400, "The request cannot be carried out as it stands."},
		[RUN_FORBIDDEN] = {403, "This belongs to another user."},
		[RUN_NOT_FOUND] = {404, "There is no such thing here."},
		[RUN_CONFLICT] = {409, "The session is not in a state for this."},
		[RUN_UNSUPPORTED] = {422, "This machine cannot do that."},
		[RUN_TOO_MANY] = {429, "There are too many sessions; delete one."},
		[RUN_UNAVAILABLE] = {503, "The profiler cannot do this now; try again later."},
		[RUN_FAILED] = {500, "The profiler failed to do this; its log says more."},
	};
	unsigned kind = (unsigned)run_error;

	if (kind >= sizeof(kinds) / sizeof(*kinds) || kinds[kind].status == 0)
		kind = RUN_FAILED;
	problem(r, kinds[kind].status, "%s",
		message->data && message->len ? message->data : kinds[kind].detail);
}

int problem_raw(unsigned status, const char *detail, struct buf *into)
{
	AUTO(buf_done) struct buf body = BUF_INIT;

	problem_body(status, detail, &body);
	if (body.error)
		return body.error;
	return buf_printf(into,
		"HTTP/1.1 %u %s\r\nContent-Type: " PROBLEM_TYPE "\r\nContent-Length: %zu\r\n"
		"Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
		"Connection: close\r\n\r\n%s",
		status, status_title(status), body.len, body.data);
}

void answer_take(struct req *r, unsigned status, const char *type, struct buf *body)
{
	struct answer *a = &r->answer;

	if (a->status)
		return;
	if (body->error) {
		static const char no_memory[] =
			"{\"type\":\"about:blank\",\"title\":\"Service "
			"Unavailable\",\"status\":503,\"detail\":\"There is no "
			"memory for this answer; try again later.\"}\n";

		a->status = 503;
		a->type = PROBLEM_TYPE;
		a->fixed = no_memory;
		a->fixed_len = sizeof(no_memory) - 1;
		return;
	}
	a->status = status;
	a->type = type;
	a->body = *body;
	*body = (struct buf)BUF_INIT;
}

void answer_json(struct req *r, unsigned status, struct buf *body)
{
	/* A terminal shows its prompt on a line of its own then. */
	buf_append_char(body, '\n');
	answer_take(r, status, "application/json", body);
}

void answer_fixed(struct req *r, const char *type, const char *bytes, size_t len)
{
	if (r->answer.status)
		return;
	r->answer.status = 200;
	r->answer.type = type;
	r->answer.fixed = bytes;
	r->answer.fixed_len = len;
}

void answer_empty(struct req *r, unsigned status)
{
	if (!r->answer.status)
		r->answer.status = status;
}

void answer_later(struct req *r, later_fn fn, uint64_t due_ns)
{
	if (r->answer.status)
		return;
	r->later = fn;
	r->later_ns = due_ns;
}

void answer_header(struct req *r, const char *name, const char *fmt, ...)
{
	struct answer *a = &r->answer;
	char *value = NULL;
	va_list ap;
	int n;

	if (a->status || a->header_count == ANSWER_HEADERS_MAX)
		return;
	va_start(ap, fmt);
	n = vasprintf(&value, fmt, ap);
	va_end(ap);
	if (n >= 0)
		a->headers[a->header_count++] = (struct answer_header){name, value};
}

void answer_done(struct answer *a)
{
	buf_done(&a->body);
	render_free(a->stream);
	for (unsigned i = 0; i < a->header_count; i++)
		free(a->headers[i].value);
	*a = (struct answer){0};
}
