#include "daemon/http/followers.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <microhttpd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/log.h"
#include "daemon/http/answer.h"
#include "daemon/http/http.h"

#define SECOND     ((uint64_t)1000000000)
#define TICK_NS    SECOND        /* between two news of a stream, at least */
#define QUIET_NS   (15 * SECOND) /* without a byte, after which a line is sent that says nothing */
#define QUIET_LINE ":\n\n"
/* For each moment of its work the thread rests so many: all streams together take 2 % of a
 * processor. */
#define REST_TIMES 49u

#define BLOCK_BYTES    ((size_t)32 << 10)
#define NEWS_BYTES_MAX ((size_t)32 << 20)

/* While waiting is set its connection is suspended, and nobody but the thread of ours touches it or
 * wakes it; else it is the library's. */
struct follower {
	struct follower *next;
	struct followers *all;
	struct http *http;
	struct conn *conn;
	struct MHD_Connection *connection;
	struct watch *watch;
	struct buf out; /* what the client has not got yet from taken on: one lot of news at most */
	size_t taken;
	bool waiting, gone, user_bound;
	uid_t uid;
	uint64_t due_ns, spoke_ns;
};

struct followers {
	pthread_mutex_t lock;
	pthread_t thread;
	int wake_fd;
	bool stop;
	struct follower *first;
	unsigned count;
	uint64_t rest_until_ns;
};

static void wake(struct followers *f)
{
	(void)!write(f->wake_fd, &(uint64_t){1}, sizeof(uint64_t));
}

/* ---- places ---- */

static unsigned count_of_user(const struct followers *f, uid_t uid)
{
	unsigned n = 0;

	for (const struct follower *s = f->first; s; s = s->next)
		n += s->user_bound && s->uid == uid;
	return n;
}

struct follower *follower_new(struct req *r)
{
	struct followers *f = r->http->followers;
	struct follower *s = calloc(1, sizeof(*s));
	bool room;

	if (!s) {
		problem(r, 503, "There is no memory for this; try again later.");
		return NULL;
	}
	*s = (struct follower){.all = f,
		.http = r->http,
		.conn = r->conn,
		.user_bound = !r->who.all,
		.uid = r->who.uid};
	pthread_mutex_lock(&f->lock);
	room = !f->stop && f->count < FOLLOWERS_MAX &&
		(r->who.all || count_of_user(f, r->who.uid) < FOLLOWERS_MAX_OF_USER);
	if (room) {
		s->next = f->first;
		f->first = s;
		f->count++;
	}
	pthread_mutex_unlock(&f->lock);
	if (room)
		return s;
	free(s);
	problem(r, 503, "Too many follow sessions already; close one, or ask for the profile.");
	return NULL;
}

void follower_free(struct follower *s)
{
	struct followers *f;

	if (!s)
		return;
	f = s->all;
	pthread_mutex_lock(&f->lock);
	for (struct follower **at = &f->first; *at; at = &(*at)->next)
		if (*at == s) {
			*at = s->next;
			f->count--;
			break;
		}
	pthread_mutex_unlock(&f->lock);
	watch_free(s->watch);
	buf_done(&s->out);
	free(s);
}

void follower_begin(struct follower *s, struct watch *w)
{
	s->watch = w;
}

unsigned followers_count(struct followers *f)
{
	unsigned n;

	pthread_mutex_lock(&f->lock);
	n = f->count;
	pthread_mutex_unlock(&f->lock);
	return n;
}

/* ---- the library's threads ---- */

static ssize_t take_out(struct follower *s, char *into, size_t max)
{
	size_t len = s->out.len - s->taken;

	if (len > max)
		len = max;
	memcpy(into, s->out.data + s->taken, len);
	s->taken += len;
	conns_progress(s->http->conns, s->conn);
	return (ssize_t)len;
}

/* The socket has been shut. When a reader says that all is over the library (0.9.75) closes the
 * connection half a minute later; where it fails to write, at once. */
static ssize_t fail_to_write(char *into, size_t max)
{
	size_t len = strlen(QUIET_LINE);

	if (len > max)
		len = max;
	memcpy(into, QUIET_LINE, len);
	return (ssize_t)len;
}

/* The connection rests until there are news. */
static ssize_t suspend(struct follower *s)
{
	buf_done(&s->out);
	s->out = (struct buf)BUF_INIT;
	s->taken = 0;
	s->waiting = true;
	MHD_suspend_connection(s->connection);
	wake(s->all);
	return 0;
}

static ssize_t read_stream(void *arg, uint64_t position, char *into, size_t max)
{
	struct follower *s = arg;
	struct followers *f = s->all;
	ssize_t n;

	pthread_mutex_lock(&f->lock);
	if (s->gone)
		n = fail_to_write(into, max);
	else if (s->taken < s->out.len)
		n = take_out(s, into, max);
	else if (f->stop || watch_is_over(s->watch))
		n = MHD_CONTENT_READER_END_OF_STREAM;
	/* Nothing to read, so that no time for reading runs out; unless it was cut off already. */
	else if (!conns_phase(s->http->conns, s->conn, CONN_WORK))
		n = fail_to_write(into, max);
	else
		n = suspend(s);
	pthread_mutex_unlock(&f->lock);
	return n;
}

static void free_stream(void *arg)
{
	follower_free(arg);
}

struct MHD_Response *follower_response(
	struct follower *s, struct MHD_Connection *connection, struct buf *first)
{
	struct MHD_Response *response = MHD_create_response_from_callback(
		MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_stream, s, free_stream);

	if (!response) {
		follower_free(s);
		return NULL;
	}
	s->connection = connection;
	s->out = *first;
	*first = (struct buf)BUF_INIT;
	s->spoke_ns = time_mono_ns();
	s->due_ns = s->spoke_ns + TICK_NS;
	return response;
}

/* ---- the thread; the lock is held where nothing else is said ---- */

static void drop(struct follower *s)
{
	s->gone = true;
	(void)shutdown(s->conn->fd, SHUT_RDWR);
}

static void resume(struct follower *s)
{
	s->waiting = false;
	s->gone |= !conns_phase(s->http->conns, s->conn, CONN_SEND);
	MHD_resume_connection(s->connection);
}

static struct follower *find_due(const struct followers *f)
{
	struct follower *best = NULL;

	for (struct follower *s = f->first; s; s = s->next)
		if (s->waiting && (!best || s->due_ns < best->due_ns))
			best = s;
	return best;
}

static void serve(struct followers *f, struct follower *s)
{
	struct buf news = {.max_bytes = NEWS_BYTES_MAX};
	uint64_t cpu_ns, now;

	pthread_mutex_unlock(&f->lock);
	cpu_ns = time_thread_cpu_ns();
	watch_tell(s->watch, &news);
	now = time_mono_ns();
	if (!news.len && now - s->spoke_ns >= QUIET_NS)
		buf_append_str(&news, QUIET_LINE);
	cpu_ns = time_thread_cpu_ns() - cpu_ns;
	pthread_mutex_lock(&f->lock);
	s->due_ns = now + TICK_NS;
	f->rest_until_ns = now + REST_TIMES * cpu_ns;
	if (news.error) {
		log_debug("http: news of a session: %s", strerror(-news.error));
		drop(s);
	}
	if (!news.len && !s->gone) {
		buf_done(&news);
		return;
	}
	s->out = news;
	s->spoke_ns = now;
	resume(s);
}

/* A client that has closed its end is noticed here, as the library does not look at connections
 * that rest. The lock is not held in between: what waits stays until this thread wakes it. */
static void rest(struct followers *f, uint64_t until_ns)
{
	struct follower *waiting[FOLLOWERS_MAX];
	struct pollfd fds[FOLLOWERS_MAX + 1] = {{.fd = f->wake_fd, .events = POLLIN}};
	uint64_t now = time_mono_ns(), ignored;
	int timeout = until_ns <= now ? 0 : (int)((until_ns - now + 999999) / 1000000);
	unsigned count = 0;

	for (struct follower *s = f->first; s && count < FOLLOWERS_MAX; s = s->next) {
		if (!s->waiting)
			continue;
		waiting[count++] = s;
		fds[count] = (struct pollfd){.fd = s->conn->fd, .events = POLLRDHUP};
	}
	pthread_mutex_unlock(&f->lock);
	(void)poll(fds, count + 1, until_ns == UINT64_MAX ? -1 : timeout);
	if (fds[0].revents)
		(void)!read(f->wake_fd, &ignored, sizeof(ignored));
	pthread_mutex_lock(&f->lock);
	for (unsigned i = 0; i < count; i++) {
		if (!fds[i + 1].revents)
			continue;
		drop(waiting[i]);
		resume(waiting[i]);
	}
}

static void *work(void *arg)
{
	struct followers *f = arg;

	pthread_mutex_lock(&f->lock);
	while (!f->stop) {
		struct follower *s = find_due(f);
		uint64_t due = s ? s->due_ns : UINT64_MAX;

		if (s && due < f->rest_until_ns)
			due = f->rest_until_ns;
		if (!s || time_mono_ns() < due)
			rest(f, due);
		else
			serve(f, s);
	}
	for (struct follower *s = f->first; s; s = s->next)
		if (s->waiting)
			resume(s);
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

int followers_new(struct followers **ret_followers)
{
	struct followers *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return -ENOMEM;
	f->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = f->wake_fd < 0 ? errno : 0;
	pthread_mutex_init(&f->lock, NULL);
	if (r == 0)
		r = pthread_create(&f->thread, NULL, work, f);
	if (r) {
		close_auto(&f->wake_fd);
		pthread_mutex_destroy(&f->lock);
		free(f);
		return -r;
	}
	*ret_followers = f;
	return 0;
}

void followers_stop(struct followers *f)
{
	if (!f)
		return;
	pthread_mutex_lock(&f->lock);
	f->stop = true;
	pthread_mutex_unlock(&f->lock);
	wake(f);
	pthread_join(f->thread, NULL);
}

void followers_free(struct followers *f)
{
	if (!f)
		return;
	close_auto(&f->wake_fd);
	pthread_mutex_destroy(&f->lock);
	free(f);
}
