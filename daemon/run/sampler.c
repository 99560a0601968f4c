#include "daemon/run/sampler.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "base/io.h"
#include "base/log.h"
#include "base/queue.h"
#include "daemon/run/thrift.h"
#include "daemon/symbol/sigbus.h"
#include "daemon/symbol/unwindtables.h"

#define SLOW_NS      300000000ull /* of the second that rings are sized for */
#define ROUND_MS     100          /* rings are sized for a second at the asked rate */
#define EARLY_MS     25 /* a session that has just begun learns how much of a stack to copy */
#define EARLY_NS     200000000ull
#define IDLE_MS      1000 /* a heartbeat for /healthz and the watchdog */
#define REFRESH_NS   1000000000ull
#define MODULES_MAX  4096
#define QUEUE_LENGTH 1024

struct call {
	sampler_fn fn;
	void *arg;
	bool done;
	pthread_mutex_t lock;
	pthread_cond_t finished;
};

/* Invariant: all but queue, stats (under stats_lock) and stopping belongs to the thread while it
 * lives. */
struct sampler {
	pthread_t thread;
	bool thread_lives;
	atomic_bool stopping, stopped;
	struct queue *queue;
	int epoll_fd;
	struct config config;
	struct sampler_setup setup;
	struct session_env env;
	struct thrift *thrift;
	struct session **sessions;
	unsigned count, room;
	uint64_t last_id, refreshed_ns, rounds;
	struct run_stats live;
	pthread_mutex_t stats_lock;
	struct run_stats stats;
};

struct session_env *sampler_env(struct sampler *s)
{
	return &s->env;
}

struct session **sampler_sessions(struct sampler *s, unsigned *ret_count)
{
	*ret_count = s->count;
	return s->sessions;
}

struct session *sampler_session(struct sampler *s, uint64_t id)
{
	for (unsigned i = 0; i < s->count; i++)
		if (s->sessions[i]->id == id)
			return s->sessions[i];
	return NULL;
}

unsigned sampler_running(const struct sampler *s)
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->count; i++)
		n += s->sessions[i]->state == SESSION_RUNNING;
	return n;
}

static int make_room(struct sampler *s)
{
	unsigned room = s->room ? 2 * s->room : 32;
	struct session **grown;

	if (s->count < s->room)
		return 0;
	grown = realloc(s->sessions, room * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	s->sessions = grown;
	s->room = room;
	return 0;
}

int sampler_adopt_session(struct sampler *s, struct session *session)
{
	int r = make_room(s);

	if (r < 0)
		return r;
	s->sessions[s->count++] = session;
	if (session->id > s->last_id)
		s->last_id = session->id;
	return 0;
}

int sampler_take_ended(struct sampler *s, struct session *session)
{
	int r;

	session->id = s->last_id + 1;
	session->final->meta.session_id = session->id;
	session->head->meta.session_id = session->id;
	r = sampler_adopt_session(s, session);
	if (r < 0)
		return r;
	log_info("session %llu: %s, %llu samples, %llu lost", (unsigned long long)session->id,
		profile_text(session->head, session->head->meta.target),
		(unsigned long long)session->ledger.samples,
		(unsigned long long)session->ledger.lost);
	s->setup.wake_keeper(s->setup.arg);
	return 0;
}

int sampler_start_session(struct sampler *s, struct session_plan *plan,
	struct session **ret_session, struct buf *message)
{
	int r = make_room(s);

	if (r < 0) {
		buf_append_str(message, "no memory for another session");
		return RUN_UNAVAILABLE;
	}
	r = session_start(&s->env, s->last_id + 1, plan, s->epoll_fd, ret_session, message);
	if (r != RUN_OK)
		return r;
	s->last_id++;
	s->live.sessions_started++;
	s->sessions[s->count++] = *ret_session;
	log_info("session %llu: %s", (unsigned long long)s->last_id,
		(*ret_session)->plan->target_text);
	return RUN_OK;
}

void sampler_end_session(struct sampler *s, struct session *session, const char *why)
{
	enum session_state state = strcmp(why, "stop") == 0 ? SESSION_STOPPED : SESSION_ENDED;

	if (session->state != SESSION_RUNNING)
		return;
	session_end(&s->env, session, state, why);
	log_info("session %llu: over (%s), %llu samples, %llu lost",
		(unsigned long long)session->id, why, (unsigned long long)session->ledger.samples,
		(unsigned long long)session->ledger.lost);
	s->setup.wake_keeper(s->setup.arg);
}

int sampler_change_session(struct sampler *s, struct session *session,
	const struct session_change *change, struct buf *message)
{
	return session_change(&s->env, session, change, message);
}

int sampler_rename_session(struct sampler *s, struct session *session, const char *name)
{
	int r = session_rename(session, name);

	if (r == 0)
		s->setup.wake_keeper(s->setup.arg);
	return r;
}

void sampler_remove_session(struct sampler *s, struct session *session)
{
	unsigned i = 0;

	while (i < s->count && s->sessions[i] != session)
		i++;
	if (i == s->count)
		return;
	memmove(s->sessions + i, s->sessions + i + 1, (s->count - i - 1) * sizeof(*s->sessions));
	s->count--;
	if (session->state == SESSION_RUNNING)
		session_end(&s->env, session, SESSION_STOPPED, "stop");
	session_free(session);
}

void sampler_set_config(struct sampler *s, const struct config *config)
{
	s->config = *config;
}

/* ---- the loop ---- */

static void run_calls(struct sampler *s)
{
	struct call *c;

	while ((c = queue_pop(s->queue))) {
		c->fn(s, c->arg);
		pthread_mutex_lock(&c->lock);
		c->done = true;
		pthread_cond_signal(&c->finished);
		pthread_mutex_unlock(&c->lock);
	}
}

static void round_all(struct sampler *s, bool all)
{
	for (unsigned i = 0; i < s->count; i++) {
		struct session *x = s->sessions[i];

		if (x->state != SESSION_RUNNING || (!all && !x->ready))
			continue;
		session_round(&s->env, x);
		if (all)
			session_adapt(&s->env, x);
	}
	s->rounds++;
}

static void refresh_all(struct sampler *s)
{
	const char *why;

	s->live.ring_fill_max = 0;
	for (unsigned i = 0; i < s->count; i++) {
		struct session *x = s->sessions[i];

		if (x->state != SESSION_RUNNING)
			continue;
		if (session_due(&s->env, x, &why))
			sampler_end_session(s, x, why);
	}
	thrift_look(s->thrift, &s->env, s->sessions, s->count);
}

static void add_table_stats(const struct sampler *s, struct run_stats *live)
{
	const struct unwinder *u = s->env.unwinders[UNWINDER_TABLE];
	struct unwinder_stats walks = {0};
	struct unwindtables_stats tables;

	unwindtables_get_stats(s->env.tables, &tables);
	live->tables_made = tables.made;
	live->tables_loaded = tables.loaded;
	live->tables_failed = tables.failed;
	live->tables_bytes = tables.bytes;
	if (u)
		unwinder_get_stats(u, &walks);
	live->unwind_asked_frames = walks.asked_frames;
	live->unwind_asked_stacks = walks.asked_stacks;
}

static void publish_stats(struct sampler *s)
{
	struct run_stats *live = &s->live;
	struct modules_stats modules;

	live->sessions_running = live->sessions_kept = 0;
	live->tree_nodes = live->tree_bytes = 0;
	for (unsigned i = 0; i < s->count; i++) {
		struct calltree_stats tree;

		live->sessions_kept++;
		if (s->sessions[i]->state != SESSION_RUNNING)
			continue;
		live->sessions_running++;
		calltree_get_stats(s->sessions[i]->tree, &tree);
		live->tree_nodes += tree.nodes;
		live->tree_bytes += tree.bytes;
	}
	modules_get_stats(s->env.modules, &modules);
	live->modules = modules.count;
	live->module_bytes = modules.bytes;
	live->modules_unreadable = modules.unreadable;
	live->sigbus = sigbus_count();
	add_table_stats(s, live);
	live->sessions_max = s->config.max_sessions;
	live->sampler_cpu_ns = time_thread_cpu_ns();
	live->rounds = s->rounds;
	live->last_round_ns = time_mono_ns();
	pthread_mutex_lock(&s->stats_lock);
	s->stats = *live;
	pthread_mutex_unlock(&s->stats_lock);
}

/* How long after the last round of all sessions the next one is due. */
static unsigned round_ms(const struct sampler *s, uint64_t now)
{
	for (unsigned i = 0; i < s->count; i++) {
		const struct session *x = s->sessions[i];

		if (x->state == SESSION_RUNNING && x->plan->adaptive &&
			now - x->started_ns < EARLY_NS)
			return EARLY_MS;
	}
	return ROUND_MS;
}

/* The earliest end of a session decides how long to sleep, so that "5 s" means 5 s. */
static int sleep_ms(const struct sampler *s)
{
	uint64_t now = time_mono_ns(), best = round_ms(s, now);

	if (!sampler_running(s))
		return IDLE_MS;
	for (unsigned i = 0; i < s->count; i++) {
		const struct session *x = s->sessions[i];
		uint64_t end;

		if (x->state != SESSION_RUNNING || !x->plan->request.duration_ns)
			continue;
		end = x->started_ns + x->plan->request.duration_ns;
		if (end <= now)
			return 0;
		if ((end - now) / 1000000 + 1 < best)
			best = (end - now) / 1000000 + 1;
	}
	return (int)best;
}

static bool something_is_over(const struct sampler *s, uint64_t now)
{
	for (unsigned i = 0; i < s->count; i++) {
		const struct session *x = s->sessions[i];

		if (x->state == SESSION_RUNNING && x->plan->request.duration_ns &&
			now - x->started_ns >= x->plan->request.duration_ns)
			return true;
	}
	return false;
}

static void one_turn(struct sampler *s, uint64_t *last_all_ns)
{
	struct epoll_event events[64];
	int n = epoll_wait(s->epoll_fd, events, 64, sleep_ms(s));
	uint64_t now, took;
	bool all;

	for (int i = 0; i < n; i++)
		if (events[i].data.ptr)
			((struct session *)events[i].data.ptr)->ready = true;
	now = time_mono_ns();
	all = now - *last_all_ns >= round_ms(s, now) * 1000000ull;
	if (all)
		*last_all_ns = now;
	round_all(s, all);
	if (s->env.new_jit)
		s->setup.wake_keeper(s->setup.arg);
	s->env.new_jit = false;
	run_calls(s);
	if (now - s->refreshed_ns >= REFRESH_NS || something_is_over(s, now)) {
		s->refreshed_ns = now;
		refresh_all(s);
	}
	publish_stats(s);
	took = time_mono_ns() - now;
	if (took > SLOW_NS)
		log_debug("a round took %llu ms: rings may overflow meanwhile",
			(unsigned long long)took / 1000000);
}

static void *sampler_main(void *arg)
{
	struct sampler *s = arg;
	uint64_t last_all_ns = 0;

	while (!atomic_load(&s->stopping))
		one_turn(s, &last_all_ns);
	for (unsigned i = 0; i < s->count; i++)
		sampler_end_session(s, s->sessions[i], "shutdown");
	atomic_store(&s->stopped, true);
	run_calls(s);
	publish_stats(s);
	return NULL;
}

void sampler_call(struct sampler *s, sampler_fn fn, void *arg)
{
	struct call c = {.fn = fn, .arg = arg};

	if (atomic_load(&s->stopped)) {
		fn(s, arg);
		return;
	}
	pthread_mutex_init(&c.lock, NULL);
	pthread_cond_init(&c.finished, NULL);
	while (queue_push(s->queue, &c) == -EAGAIN)
		nanosleep(&(struct timespec){0, 1000000}, NULL);
	pthread_mutex_lock(&c.lock);
	while (!c.done)
		pthread_cond_wait(&c.finished, &c.lock);
	pthread_mutex_unlock(&c.lock);
	pthread_cond_destroy(&c.finished);
	pthread_mutex_destroy(&c.lock);
}

void sampler_get_stats(struct sampler *s, struct run_stats *ret_stats)
{
	pthread_mutex_lock(&s->stats_lock);
	*ret_stats = s->stats;
	pthread_mutex_unlock(&s->stats_lock);
}

/* ---- set up ---- */

static int open_all(struct sampler *s)
{
	struct epoll_event event = {.events = EPOLLIN};
	int r = queue_new(QUEUE_LENGTH, &s->queue);

	if (r < 0)
		return r;
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll_fd < 0 ||
		epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, queue_fd(s->queue), &event) < 0)
		return -errno;
	return modules_new(s->setup.broker, MODULES_MAX, &s->env.modules);
}

int sampler_new(const struct sampler_setup *setup, struct sampler **ret_sampler)
{
	AUTO(sampler_free_auto) struct sampler *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->epoll_fd = -1;
	s->setup = *setup;
	s->config = *setup->config;
	s->last_id = setup->last_id;
	s->env.config = &s->config;
	s->env.broker = setup->broker;
	s->env.tables = setup->tables;
	s->env.stats = &s->live;
	pthread_mutex_init(&s->stats_lock, NULL);
	s->live.last_round_ns = time_mono_ns();
	s->stats = s->live;
	r = open_all(s);
	if (r == 0)
		r = thrift_new(s->setup.broker, &s->thrift);
	if (r < 0)
		return r;
	r = -pthread_create(&s->thread, NULL, sampler_main, s);
	if (r < 0)
		return r;
	s->thread_lives = true;
	*ret_sampler = MOVE(s);
	return 0;
}

static void nothing(struct sampler *s, void *arg)
{
}

void sampler_stop(struct sampler *s)
{
	if (!s->thread_lives)
		return;
	atomic_store(&s->stopping, true);
	sampler_call(s, nothing, NULL); /* wakes it */
	pthread_join(s->thread, NULL);
	s->thread_lives = false;
}

void sampler_free(struct sampler *s)
{
	if (!s)
		return;
	sampler_stop(s);
	for (unsigned i = 0; i < s->count; i++)
		session_free(s->sessions[i]);
	free(s->sessions);
	for (unsigned i = 0; i < UNWINDER_KINDS; i++)
		unwinder_free(s->env.unwinders[i]);
	modules_free(s->env.modules);
	thrift_free(s->thrift);
	queue_free(s->queue);
	close_auto(&s->epoll_fd);
	pthread_mutex_destroy(&s->stats_lock);
	free(s);
}
