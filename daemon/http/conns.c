#include "daemon/http/conns.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/log.h"
#include "daemon/http/answer.h"

#define SECOND  ((uint64_t)1000000000)
#define TICK_NS (SECOND / 4)

#define FIRST_REQUEST_NS  (5 * SECOND)
#define IDLE_NS           (15 * SECOND)
#define IDLE_HALF_FULL_NS (5 * SECOND)
#define IDLE_FULL_NS      (SECOND)
#define HEADER_NS         (5 * SECOND)
#define BODY_NS           (10 * SECOND)
#define UPLOAD_NS         (30 * SECOND)
#define SEND_NS           (60 * SECOND)

#define LINGER_NS  (2 * SECOND)
#define LINGER_MAX 32

struct lingering {
	int fd; /* ours; -1: free */
	uint64_t until_ns;
};

struct conns {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	bool stop;
	unsigned max;
	struct conn *first;
	struct lingering lingering[LINGER_MAX];
	unsigned lingering_count;
	struct conns_stats stats;
};

static unsigned count(const struct conns *c, bool unix_socket)
{
	unsigned n = 0;

	for (const struct conn *k = c->first; k; k = k->next)
		n += k->unix_socket == unix_socket;
	return n;
}

static void shut(struct conn *conn)
{
	conn->shut = true;
	conn->deadline_ns = 0;
	shutdown(conn->fd, SHUT_RDWR);
}

/* The lock is held, so that the library's thread cannot have begun an answer meanwhile. */
static void say(struct conn *conn, unsigned status, const char *detail)
{
	AUTO(buf_done) struct buf text = BUF_INIT;

	if (problem_raw(status, detail, &text) < 0)
		return;
	if (send(conn->fd, text.data, text.len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		log_debug("http: last words to a client: %m");
}

static void time_out(struct conns *c, struct conn *conn)
{
	/* Where no request has begun there is nothing to answer: the words would be taken for the
	 * answer to the next one. */
	if (conn->phase == CONN_HEADER)
		say(conn, 408, "The header took longer than 5 seconds; send it at once.");
	else if (conn->phase == CONN_BODY)
		say(conn, 408, "The body took longer than 10 seconds; send it at once.");
	else if (conn->phase == CONN_UPLOAD)
		say(conn, 408, "Nothing more of the file came for 30 seconds.");
	shut(conn);
	c->stats.timed_out++;
}

/* How long a connection may wait without a request: the fuller the table, the shorter. */
static uint64_t idle_limit(unsigned open, unsigned max)
{
	if (open >= max - max / 4)
		return IDLE_FULL_NS;
	return open >= max / 2 ? IDLE_HALF_FULL_NS : IDLE_NS;
}

static void check_deadlines(struct conns *c)
{
	uint64_t now = time_mono_ns();
	uint64_t tcp_idle = idle_limit(count(c, false), c->max);
	uint64_t unix_idle = idle_limit(count(c, true), c->max);

	for (struct conn *k = c->first; k; k = k->next) {
		uint64_t idle = k->unix_socket ? unix_idle : tcp_idle;

		if (k->shut)
			continue;
		if (k->deadline_ns && now >= k->deadline_ns)
			time_out(c, k);
		else if (k->phase == CONN_IDLE && now >= k->since_ns + idle)
			time_out(c, k);
	}
}

static void drain(struct lingering *l)
{
	static char waste[64 << 10];
	ssize_t n = 1;

	for (unsigned i = 0; n > 0 && i < 64; i++)
		n = recv(l->fd, waste, sizeof(waste), MSG_DONTWAIT);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		l->until_ns = 0;
}

static void check_lingering(struct conns *c)
{
	for (unsigned i = 0; i < LINGER_MAX; i++) {
		struct lingering *l = &c->lingering[i];

		if (l->fd < 0)
			continue;
		drain(l);
		if (time_mono_ns() < l->until_ns)
			continue;
		close(l->fd);
		l->fd = -1;
		c->lingering_count--;
	}
}

static void *watch(void *arg)
{
	struct conns *c = arg;
	struct timespec until;

	pthread_mutex_lock(&c->lock);
	while (!c->stop) {
		if (!c->first && !c->lingering_count) {
			pthread_cond_wait(&c->wake, &c->lock);
			continue;
		}
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += TICK_NS;
		if ((uint64_t)until.tv_nsec >= SECOND) {
			until.tv_nsec -= (long)SECOND;
			until.tv_sec++;
		}
		pthread_cond_timedwait(&c->wake, &c->lock, &until);
		check_deadlines(c);
		check_lingering(c);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

int conns_new(unsigned max, struct conns **ret_conns)
{
	struct conns *c = calloc(1, sizeof(*c));
	pthread_condattr_t attr;
	int r;

	if (!c)
		return -ENOMEM;
	c->max = max ? max : 1;
	for (unsigned i = 0; i < LINGER_MAX; i++)
		c->lingering[i].fd = -1;
	pthread_mutex_init(&c->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&c->wake, &attr);
	pthread_condattr_destroy(&attr);
	r = pthread_create(&c->thread, NULL, watch, c);
	if (r) {
		free(c);
		return -r;
	}
	*ret_conns = c;
	return 0;
}

void conns_free(struct conns *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	c->stop = true;
	pthread_cond_signal(&c->wake);
	pthread_mutex_unlock(&c->lock);
	pthread_join(c->thread, NULL);
	for (unsigned i = 0; i < LINGER_MAX; i++)
		close_auto(&c->lingering[i].fd);
	while (c->first)
		conns_remove(c, c->first);
	pthread_cond_destroy(&c->wake);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* One user of the Unix socket who may not see all gets a quarter of it at most. */
static bool over_user_limit(const struct conns *c, const struct caller *who)
{
	unsigned n = 0;

	if (who->all)
		return false;
	for (const struct conn *k = c->first; k; k = k->next)
		n += k->unix_socket && !k->who.all && k->who.uid == who->uid;
	return n > c->max / 4;
}

struct conn *conns_add(struct conns *c, int fd, bool unix_socket, const struct caller *who)
{
	struct conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		return NULL;
	conn->fd = fd;
	conn->unix_socket = unix_socket;
	conn->who = *who;
	conn->phase = CONN_IDLE;
	conn->since_ns = time_mono_ns();
	conn->deadline_ns = conn->since_ns + FIRST_REQUEST_NS;
	pthread_mutex_lock(&c->lock);
	if (c->first)
		c->first->prev = conn;
	else
		pthread_cond_signal(&c->wake);
	conn->next = c->first;
	c->first = conn;
	c->stats.accepted++;
	if (unix_socket && over_user_limit(c, who)) {
		say(conn, 429, "This user has too many connections; close some.");
		shut(conn);
		c->stats.refused++;
	}
	pthread_mutex_unlock(&c->lock);
	return conn;
}

static void keep_open(struct conns *c, const struct conn *conn)
{
	for (unsigned i = 0; i < LINGER_MAX; i++) {
		struct lingering *l = &c->lingering[i];

		if (l->fd >= 0)
			continue;
		l->fd = fcntl(conn->fd, F_DUPFD_CLOEXEC, 0);
		if (l->fd < 0)
			return;
		l->until_ns = time_mono_ns() + LINGER_NS;
		c->lingering_count++;
		return;
	}
}

void conns_remove(struct conns *c, struct conn *conn)
{
	pthread_mutex_lock(&c->lock);
	if (conn->prev)
		conn->prev->next = conn->next;
	else
		c->first = conn->next;
	if (conn->next)
		conn->next->prev = conn->prev;
	/* The library closes its descriptor next. It takes it out of its epoll set first, by
	 * itself. */
	if (conn->linger && !c->stop)
		keep_open(c, conn);
	pthread_mutex_unlock(&c->lock);
	free(conn);
}

bool conns_phase(struct conns *c, struct conn *conn, enum conn_phase phase)
{
	static const uint64_t limits[CONN_PHASES] = {
		[CONN_HEADER] = HEADER_NS,
		[CONN_BODY] = BODY_NS,
		[CONN_UPLOAD] = UPLOAD_NS,
		[CONN_SEND] = SEND_NS,
	};
	uint64_t deadline;
	bool alive;

	pthread_mutex_lock(&c->lock);
	alive = !conn->shut;
	conn->since_ns = time_mono_ns();
	deadline = limits[phase] ? conn->since_ns + limits[phase] : 0;
	/* The first request has five seconds in all, however they are spent. */
	if (phase != CONN_HEADER || conn->used || !conn->deadline_ns)
		conn->deadline_ns = alive ? deadline : 0;
	conn->phase = phase;
	conn->used |= phase == CONN_SEND;
	pthread_mutex_unlock(&c->lock);
	return alive;
}

void conns_progress(struct conns *c, struct conn *conn)
{
	pthread_mutex_lock(&c->lock);
	if (!conn->shut && conn->phase == CONN_SEND)
		conn->deadline_ns = time_mono_ns() + SEND_NS;
	if (!conn->shut && conn->phase == CONN_UPLOAD)
		conn->deadline_ns = time_mono_ns() + UPLOAD_NS;
	pthread_mutex_unlock(&c->lock);
}

void conns_last_words(struct conns *c, struct conn *conn, unsigned status, const char *detail)
{
	pthread_mutex_lock(&c->lock);
	if (!conn->shut) {
		say(conn, status, detail);
		conn->linger = true;
	}
	pthread_mutex_unlock(&c->lock);
}

void conns_linger(struct conns *c, struct conn *conn)
{
	pthread_mutex_lock(&c->lock);
	conn->linger = true;
	pthread_mutex_unlock(&c->lock);
}

void conns_shut(struct conns *c, bool idle_only)
{
	pthread_mutex_lock(&c->lock);
	for (struct conn *k = c->first; k; k = k->next)
		if (!k->shut && (!idle_only || k->phase == CONN_IDLE))
			shut(k);
	pthread_mutex_unlock(&c->lock);
}

unsigned conns_busy(struct conns *c)
{
	unsigned n = 0;

	pthread_mutex_lock(&c->lock);
	for (const struct conn *k = c->first; k; k = k->next)
		n += !k->shut && k->phase != CONN_IDLE;
	pthread_mutex_unlock(&c->lock);
	return n;
}

void conns_get_stats(struct conns *c, struct conns_stats *ret_stats)
{
	pthread_mutex_lock(&c->lock);
	*ret_stats = c->stats;
	for (const struct conn *k = c->first; k; k = k->next) {
		ret_stats->open++;
		ret_stats->idle += k->phase == CONN_IDLE;
	}
	pthread_mutex_unlock(&c->lock);
}
