#include "daemon/http/server.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <microhttpd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/log.h"
#include "daemon/http/answer.h"
#include "daemon/http/auth.h"
#include "daemon/http/followers.h"
#include "daemon/http/http.h"
#include "daemon/http/route.h"
#include "daemon/http/send.h"
#include "daemon/http/upload.h"
#include "daemon/http/vet.h"
#include "daemon/http/waits.h"

/* The library's threads never wait for anything but sockets. */
#define LIBRARY_THREADS 2
/* More than may be busy with profiles, so that sessions can be stopped meanwhile. */
#define JOB_THREADS  (HTTP_HEAVY_MAX + 2)
#define JOBS_WAITING 128

#define MEMORY_PER_CONNECTION ((size_t)32 << 10) /* bounds the header of a request */
#define INACTIVE_S            30U
#define STOP_NS               ((uint64_t)2000000000)

bool http_enter(atomic_int *places, int max)
{
	if (atomic_fetch_add(places, 1) < max)
		return true;
	atomic_fetch_sub(places, 1);
	return false;
}

void http_leave(atomic_int *places)
{
	atomic_fetch_sub(places, 1);
}

bool http_enter_heavy(struct req *r)
{
	if (http_enter(&r->http->heavy, HTTP_HEAVY_MAX))
		return true;
	problem(r, 503, "Other profiles are being made just now; try again in a moment.");
	return false;
}

void http_leave_heavy(struct req *r)
{
	http_leave(&r->http->heavy);
}

/* ---- reading the header ---- */

/* True when all bytes from one to the other are what the library leaves of a line end or of the
 * blanks around a value. */
static bool only_filling(const char *from, const char *to)
{
	for (; from < to; from++)
		if (*from && *from != ' ' && *from != '\t')
			return false;
	return true;
}

/* Up to 0.9.77 the library hands out pointers into the bytes as they came in, with NULs written
 * over the separators, and is too lenient: a NUL in the middle, a bare LF and a folded line leave a
 * trace only in where those pointers stand to each other. Later versions refuse all that by
 * themselves. */
static const char *find_trace(const struct req *r, const char *uri_at)
{
	const char *end;

	if (!r->http->old_parser || !uri_at || !*r->version)
		return NULL;
	if (uri_at != r->method_text + strlen(r->method_text) + 1 ||
		r->version != uri_at + strlen(r->raw) + 1)
		return "The request line must be a method, a URL and HTTP/1.1, with one blank "
		       "between, and "
		       "without a NUL byte.";
	end = r->version + strlen(r->version);
	for (unsigned i = 0; i < r->header_count; i++) {
		const struct header *h = &r->headers[i];

		if (h->name < end || h->value < h->name + h->name_len ||
			!only_filling(h->name + h->name_len, h->value))
			return "A header is folded over several lines; write it on one.";
		if (h->name - end == 1)
			return "A line of the header ends in LF alone; end each with CR LF.";
		if (!only_filling(end, h->name))
			return "A header has a NUL byte; leave it out.";
		end = h->value + h->value_len;
	}
	/* CR LF, and the empty line: all four have been received, or we would not be here. */
	if (end[0] || end[1] || end[2] || end[3])
		return "The header must end in CR LF CR LF, and no line of it may lack a name.";
	return NULL;
}

static enum MHD_Result add_header(void *arg, enum MHD_ValueKind kind, const char *name,
	size_t name_len, const char *value, size_t value_len)
{
	struct req *r = arg;

	if (r->header_count == REQUEST_HEADERS_MAX) {
		problem(r, 431, "There are more than %d headers; send fewer.", REQUEST_HEADERS_MAX);
		r->answer.close = true;
		return MHD_NO;
	}
	r->headers[r->header_count++] = (struct header){
		.name = name,
		.name_len = name_len,
		.value = value ? value : "",
		.value_len = value ? value_len : 0,
	};
	return MHD_YES;
}

static bool vet_request_site(struct req *r)
{
	struct http *h = r->http;
	bool fine;

	pthread_rwlock_rdlock(&h->config_lock);
	fine = vet_site(r, r->conn->unix_socket, h->config.listen, h->config.allowed_hosts);
	pthread_rwlock_unlock(&h->config_lock);
	return fine;
}

static bool authorize(struct req *r)
{
	struct http *h = r->http;

	r->who = r->conn->who;
	if (r->conn->unix_socket || auth_has_token(r, h->token, h->port)) {
		/* Let the token vanish from the address bar. */
		if (!r->conn->unix_socket)
			auth_take_query_token(r, h->token, h->port);
		return !r->answer.status;
	}
	if (r->route && r->route->open)
		return true;
	if (!auth_take_query_token(r, h->token, h->port))
		auth_refuse(r);
	return false;
}

/* All that can be said before the body is there. True: the route may run. */
static bool vet(struct req *r)
{
	bool known;

	if (r->answer.status || !vet_message(r))
		return false;
	r->method = route_method(r->method_text);
	if (!vet_request_site(r))
		return false;
	if (strcmp(r->uri.path, "*") == 0 && r->method == METHOD_OPTIONS) {
		answer_header(r, "Allow", "GET, HEAD, POST, PATCH, DELETE, OPTIONS");
		answer_empty(r, 204);
		return false;
	}
	known = route_find(r);
	if (!known && !r->conn->unix_socket && !auth_has_token(r, r->http->token, r->http->port)) {
		/* What there is and what is not is nothing for strangers. */
		answer_done(&r->answer);
		auth_refuse(r);
	}
	if (!known || !authorize(r) || !route_check(r))
		return false;
	if (r->route->upload)
		return upload_begin(r);
	return vet_body(r, r->conn->unix_socket, route_wants_body(r));
}

/* ---- one request ---- */

static void count_request(struct req *r)
{
	if (r->answer.status)
		counts_add(&r->http->counts, r->route, r->answer.status,
			time_mono_ns() - r->started_ns);
}

static enum MHD_Result finish(struct req *r, struct MHD_Connection *connection)
{
	r->finished = true;
	if (r->answer.close)
		conns_linger(r->http->conns, r->conn);
	count_request(r);
	if (!conns_phase(r->http->conns, r->conn, CONN_SEND))
		return MHD_NO;
	return send_answer(r, connection) == 0 ? MHD_YES : MHD_NO;
}

static enum MHD_Result on_header(struct req *r, struct MHD_Connection *connection,
	const char *method, const char *version, const char *uri_at)
{
	bool has_body;

	r->header_seen = true;
	r->method_text = method;
	r->version = version;
	if (!conns_phase(r->http->conns, r->conn, CONN_WORK))
		return MHD_NO;
	MHD_get_connection_values_n(connection, MHD_HEADER_KIND, add_header, r);
	r->malformed = find_trace(r, uri_at);
	if (!vet(r)) {
		has_body = r->body_len > 0;
		/* An answer given now closes the connection: right where the body is not wanted. */
		if (r->answer.close || has_body) {
			r->answer.close = true;
			return finish(r, connection);
		}
	} else if (r->body_len > 0 &&
		!conns_phase(r->http->conns, r->conn, r->route->upload ? CONN_UPLOAD : CONN_BODY)) {
		return MHD_NO;
	}
	return MHD_YES;
}

/* The library takes no answer in the middle of a body. */
static enum MHD_Result end_in_body(struct req *r, unsigned status, const char *detail)
{
	counts_add(&r->http->counts, r->route, status, time_mono_ns() - r->started_ns);
	conns_last_words(r->http->conns, r->conn, status, detail);
	return MHD_NO;
}

static enum MHD_Result on_data(struct req *r, const char *data, size_t *len)
{
	static const char too_large[] = "The body is larger than 1 MiB; send less.";
	const char *detail;
	unsigned status;

	if (r->spool_fd >= 0) {
		status = upload_take(r, data, *len, &detail);
		if (status)
			return end_in_body(r, status, detail);
		conns_progress(r->http->conns, r->conn);
		*len = 0;
		return MHD_YES;
	}
	/* Only a chunked body can get here: of others the length was checked before. */
	if (r->body.len + *len > REQUEST_BODY_MAX)
		return end_in_body(r, 413, too_large);
	buf_append(&r->body, data, *len);
	*len = 0;
	return MHD_YES;
}

static void check_answered(struct req *r)
{
	if (!r->answer.status && !r->later)
		problem(r, 500, "The request got no answer, which is a bug.");
}

static void run_route(struct req *r)
{
	if (r->http->stopping)
		problem(r, 503, "The daemon is shutting down.");
	else
		route_run(r);
	check_answered(r);
}

/* A request as the library's threads and ours pass it on to each other. */
struct pending {
	struct job job;
	struct wait wait;
	bool gone; /* the wait was over before its time */
	struct MHD_Connection *connection;
	const char *uri_at; /* where the library has the target; to be compared, not followed */
	struct req req;
};

static void run_later(struct pending *p, bool gone)
{
	struct req *r = &p->req;
	later_fn later = MOVE(r->later);

	later(r, gone);
	check_answered(r);
}

static void wait_is_over(struct wait *wait, bool gone);

/* A thread of ours. After the resumption the request belongs to the library's thread again. */
static void settle(struct pending *p)
{
	struct req *r = &p->req;

	if (r->later) {
		p->wait = (struct wait){
			.fd = r->conn->fd, .due_ns = r->later_ns, .done = wait_is_over};
		if (waits_add(r->http->waits, &p->wait) == 0)
			return;
		run_later(p, true);
	}
	MHD_resume_connection(p->connection);
}

static void run_job(struct job *job)
{
	struct pending *p = (struct pending *)job;

	run_route(&p->req);
	settle(p);
}

static void run_later_job(struct job *job)
{
	struct pending *p = (struct pending *)job;

	run_later(p, p->gone);
	settle(p);
}

/* The thread of the waits, which does the work itself only where all others are busy. */
static void wait_is_over(struct wait *wait, bool gone)
{
	struct pending *p = (struct pending *)((char *)wait - offsetof(struct pending, wait));

	p->gone = gone;
	p->job.run = run_later_job;
	if (jobs_push(p->req.http->jobs, &p->job) < 0)
		run_later_job(&p->job);
}

static void push_job(struct pending *p, struct MHD_Connection *connection)
{
	p->connection = connection;
	p->job.run = run_job;
	MHD_suspend_connection(connection);
	if (jobs_push(p->req.http->jobs, &p->job) == 0)
		return;
	problem(&p->req, 503, "Too many requests wait already; try again in a moment.");
	MHD_resume_connection(connection);
}

static enum MHD_Result on_end(struct pending *p, struct MHD_Connection *connection)
{
	struct req *r = &p->req;

	if (r->finished)
		return MHD_YES;
	if (!conns_phase(r->http->conns, r->conn, CONN_WORK))
		return MHD_NO;
	if (r->body.error)
		problem(r, 503, "There is no memory for this body; try again later.");
	/* Once the daemon stops there may be nobody left to do it. */
	if (!r->answer.status && (r->route->quick || r->http->stopping))
		run_route(r);
	if (r->answer.status)
		return finish(r, connection);
	/* The library calls again once the answer is ready. */
	push_job(p, connection);
	return MHD_YES;
}

static enum MHD_Result handle(void *arg, struct MHD_Connection *connection, const char *url,
	const char *method, const char *version, const char *data, size_t *data_len, void **context)
{
	struct pending *p = *context;

	if (!p)
		return MHD_NO;
	if (!p->req.header_seen)
		return on_header(&p->req, connection, method, version, p->uri_at);
	if (*data_len > 0)
		return on_data(&p->req, data, data_len);
	return on_end(p, connection);
}

/* ---- what the library tells ---- */

static struct conn *conn_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

/* The request line is there. The library calls this before it takes the target apart, in place:
 * cutting the query off here keeps thousands of arguments out of its memory, which it handles badly
 * when that is used up. */
static void *on_request_line(void *arg, const char *uri, struct MHD_Connection *connection)
{
	struct http *h = arg;
	struct conn *conn = conn_of(connection);
	struct pending *p;
	char *query;

	if (!conn)
		return NULL;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->req.http = h;
	p->req.spool_fd = -1;
	p->req.conn = conn;
	p->req.started_ns = time_mono_ns();
	p->req.raw = uri ? strdup(uri) : NULL;
	p->uri_at = uri;
	query = uri ? strchr((char *)(uintptr_t)uri, '?') : NULL;
	if (query && h->old_parser)
		query[1] = 0;
	conns_phase(h->conns, conn, CONN_HEADER);
	return p;
}

static void on_completed(void *arg, struct MHD_Connection *connection, void **context,
	enum MHD_RequestTerminationCode how)
{
	struct pending *p = *context;

	if (!p)
		return;
	conns_phase(p->req.http->conns, p->req.conn, CONN_IDLE);
	follower_free(p->req.answer.follower);
	answer_done(&p->req.answer);
	uri_done(&p->req.uri);
	buf_done(&p->req.body);
	close_auto(&p->req.spool_fd);
	free(p->req.raw);
	free(p);
	*context = NULL;
}

static void on_connection(struct http *h, bool unix_socket, struct MHD_Connection *connection,
	void **context, enum MHD_ConnectionNotificationCode what)
{
	const union MHD_ConnectionInfo *info;
	struct caller who = {.uid = h->setup.self_uid, .all = true};

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (*context)
			conns_remove(h->conns, *context);
		*context = NULL;
		return;
	}
	info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	if (!info)
		return;
	if (unix_socket && auth_peer(info->connect_fd, h->setup.self_uid, h->setup.group, &who) < 0)
		return;
	*context = conns_add(h->conns, info->connect_fd, unix_socket, &who);
}

static void on_tcp_connection(void *arg, struct MHD_Connection *connection, void **context,
	enum MHD_ConnectionNotificationCode what)
{
	on_connection(arg, false, connection, context, what);
}

static void on_local_connection(void *arg, struct MHD_Connection *connection, void **context,
	enum MHD_ConnectionNotificationCode what)
{
	on_connection(arg, true, connection, context, what);
}

__attribute__((format(printf, 2, 0))) static void on_library_log(
	void *arg, const char *fmt, va_list ap)
{
	AUTO(buf_done) struct buf line = {.max_bytes = 1024};

	buf_vprintf(&line, fmt, ap);
	while (line.len && line.data[line.len - 1] == '\n')
		line.data[--line.len] = 0;
	log_debug("http: %s", line.data ? line.data : "?");
}

/* Targets are decoded by uri_parse(), from the bytes as they came. */
static size_t no_unescape(void *arg, struct MHD_Connection *connection, char *text)
{
	return strlen(text);
}

/* ---- start and stop ---- */

static struct MHD_Daemon *listen_on(struct http *h, int fd, bool unix_socket, unsigned max)
{
	return MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC | MHD_USE_ERROR_LOG |
			MHD_ALLOW_SUSPEND_RESUME,
		0, NULL, NULL, handle, h, MHD_OPTION_EXTERNAL_LOGGER, on_library_log, h,
		MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_THREAD_POOL_SIZE, LIBRARY_THREADS,
		MHD_OPTION_CONNECTION_LIMIT, max, MHD_OPTION_PER_IP_CONNECTION_LIMIT, max - max / 4,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, MEMORY_PER_CONNECTION,
		MHD_OPTION_CONNECTION_TIMEOUT, INACTIVE_S, MHD_OPTION_URI_LOG_CALLBACK,
		on_request_line, h, MHD_OPTION_UNESCAPE_CALLBACK, no_unescape, h,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, h, MHD_OPTION_NOTIFY_CONNECTION,
		unix_socket ? on_local_connection : on_tcp_connection, h, MHD_OPTION_END);
}

static unsigned port_of(int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} address = {0};
	socklen_t bytes = sizeof(address);

	if (fd < 0 || getsockname(fd, &address.any, &bytes) < 0)
		return 0;
	if (address.any.sa_family == AF_INET6)
		return ntohs(address.v6.sin6_port);
	return address.any.sa_family == AF_INET ? ntohs(address.v4.sin_port) : 0;
}

static int start(struct http *h, unsigned max)
{
	int r;

	if (max < 16)
		max = 16; /* each thread of the pool needs a few */
	if (conns_new(max, &h->conns) < 0 || jobs_new(JOB_THREADS, JOBS_WAITING, &h->jobs) < 0)
		return -ENOMEM;
	r = followers_new(&h->followers);
	if (r == 0)
		r = waits_new(&h->waits);
	if (r < 0)
		return r;
	if (h->local_fd >= 0) {
		h->local = listen_on(h, h->local_fd, true, max);
		if (!h->local)
			return -EIO;
		h->local_fd = -1; /* the library's now */
	}
	if (h->tcp_fd >= 0) {
		h->tcp = listen_on(h, h->tcp_fd, false, max);
		if (!h->tcp)
			return -EIO;
		h->tcp_fd = -1;
	}
	return 0;
}

int http_new(const struct http_setup *setup, struct http **ret_http)
{
	struct http *h = calloc(1, sizeof(*h));
	int r;

	if (!h) {
		close_auto(&(int){setup->unix_fd});
		close_auto(&(int){setup->tcp_fd});
		return -ENOMEM;
	}
	h->setup = *setup;
	h->config = *setup->config;
	h->setup.config = NULL;
	h->setup.token = NULL;
	h->tcp_fd = setup->tcp_fd;
	h->local_fd = setup->unix_fd;
	h->port = port_of(setup->tcp_fd);
	h->started_ns = time_mono_ns();
	h->started_wall_ns = time_wall_ns();
	h->old_parser = strncmp(MHD_get_version(), "0.9.", 4) == 0;
	if (setup->token)
		memccpy(h->token, setup->token, 0, sizeof(h->token) - 1);
	pthread_rwlock_init(&h->config_lock, NULL);
	counts_init(&h->counts);
	usages_init(&h->usages);
	r = start(h, h->config.max_connections);
	if (r < 0) {
		http_free(h);
		return r;
	}
	*ret_http = h;
	return 0;
}

/* Waits until no request is being worked on, for a while. */
static void let_end(struct http *h)
{
	uint64_t until = time_mono_ns() + STOP_NS;

	conns_shut(h->conns, true);
	while (conns_busy(h->conns) > 0 && time_mono_ns() < until)
		nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
	conns_shut(h->conns, false);
}

void http_free(struct http *h)
{
	if (!h)
		return;
	h->stopping = true;
	if (h->tcp)
		h->tcp_fd = MHD_quiesce_daemon(h->tcp);
	if (h->local)
		h->local_fd = MHD_quiesce_daemon(h->local);
	/* The library must not be stopped with connections suspended: streams are woken here, and
	 * each job resumes its own. */
	followers_stop(h->followers);
	waits_stop(h->waits);
	if (h->conns)
		let_end(h);
	jobs_free(h->jobs);
	if (h->tcp)
		MHD_stop_daemon(h->tcp);
	if (h->local)
		MHD_stop_daemon(h->local);
	close_auto(&h->tcp_fd);
	close_auto(&h->local_fd);
	conns_free(h->conns);
	followers_free(h->followers);
	waits_free(h->waits);
	counts_done(&h->counts);
	usages_done(&h->usages);
	pthread_rwlock_destroy(&h->config_lock);
	explicit_bzero(h->token, sizeof(h->token));
	free(h);
}

void http_reload(struct http *h, const struct config *config)
{
	pthread_rwlock_wrlock(&h->config_lock);
	h->config = *config;
	pthread_rwlock_unlock(&h->config_lock);
}
