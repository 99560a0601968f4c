#include "daemon/http/send.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <microhttpd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "daemon/http/followers.h"
#include "daemon/http/http.h"
#include "daemon/render/render.h"

#define BLOCK_BYTES ((size_t)32 << 10)

/* A long answer on its way: what render wrote last, and how much of that is gone. */
struct stream {
	struct http *http;
	struct conn *conn;
	struct render *render;
	struct buf piece;
	size_t taken;
	bool last; /* render has nothing more */
};

static void stream_free(void *arg)
{
	struct stream *s = arg;

	render_free(s->render);
	buf_done(&s->piece);
	http_leave(&s->http->streams);
	free(s);
}

/* 1: there is something in piece; 0: the end. */
static int stream_fill(struct stream *s)
{
	int r;

	while (s->taken == s->piece.len) {
		if (s->last)
			return 0;
		buf_clear(&s->piece);
		s->taken = 0;
		r = render_more(s->render, &s->piece);
		if (r < 0 || s->piece.error) {
			log_warning("http: a profile could not be written to its end: %s",
				strerror(r < 0 ? -r : -s->piece.error));
			return -EIO;
		}
		s->last = r == 0;
	}
	return 1;
}

static ssize_t stream_read(void *arg, uint64_t position, char *into, size_t max)
{
	struct stream *s = arg;
	size_t len;
	int r = s->http->stopping ? -ESHUTDOWN : stream_fill(s);

	if (r < 0)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (r == 0)
		return MHD_CONTENT_READER_END_OF_STREAM;
	len = s->piece.len - s->taken;
	if (len > max)
		len = max;
	memcpy(into, s->piece.data + s->taken, len);
	s->taken += len;
	conns_progress(s->http->conns, s->conn);
	return (ssize_t)len;
}

static struct MHD_Response *stream_response(struct req *r)
{
	struct answer *a = &r->answer;
	struct stream *s = calloc(1, sizeof(*s));
	struct MHD_Response *response;

	if (!s)
		return NULL;
	s->http = r->http;
	atomic_fetch_add(&r->http->streams, 1);
	s->conn = r->conn;
	s->render = MOVE(a->stream);
	s->piece = a->body;
	a->body = (struct buf)BUF_INIT;
	response = MHD_create_response_from_callback(
		MHD_SIZE_UNKNOWN, BLOCK_BYTES, stream_read, s, stream_free);
	if (!response)
		stream_free(s);
	return response;
}

static struct MHD_Response *make_response(struct req *r, struct MHD_Connection *connection)
{
	struct answer *a = &r->answer;
	struct MHD_Response *response;

	if (a->follower)
		return follower_response(MOVE(a->follower), connection, &a->body);

	if (a->stream)
		return stream_response(r);
	if (a->fixed)
		return MHD_create_response_from_buffer(
			a->fixed_len, (void *)(uintptr_t)a->fixed, MHD_RESPMEM_PERSISTENT);
	response = MHD_create_response_from_buffer(a->body.len, a->body.data,
		a->body.data ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
	if (response)
		a->body = (struct buf)BUF_INIT;
	return response;
}

static int add_headers(struct MHD_Response *response, const struct answer *a)
{
	enum MHD_Result r = MHD_YES;

	if (a->type)
		r &= MHD_add_response_header(response, "Content-Type", a->type);
	r &= MHD_add_response_header(response, "Cache-Control", a->cache ? a->cache : "no-store");
	r &= MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	r &= MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
	r &= MHD_add_response_header(response, "Content-Security-Policy",
		a->csp ? a->csp : "default-src 'none'; frame-ancestors 'none'");
	if (a->close)
		r &= MHD_add_response_header(response, "Connection", "close");
	for (unsigned i = 0; i < a->header_count; i++)
		r &= MHD_add_response_header(response, a->headers[i].name, a->headers[i].value);
	return r == MHD_YES ? 0 : -ENOMEM;
}

int send_answer(struct req *r, struct MHD_Connection *connection)
{
	struct MHD_Response *response = make_response(r, connection);
	int error = response ? 0 : -ENOMEM;

	if (!error)
		error = add_headers(response, &r->answer);
	if (!error && MHD_queue_response(connection, r->answer.status, response) != MHD_YES)
		error = -EIO;
	if (response)
		MHD_destroy_response(response);
	if (error)
		log_warning("http: no answer could be sent: %s", strerror(-error));
	return error;
}
