#include "daemon/run/keeper.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/io.h"
#include "base/log.h"
#include "base/map.h"
#include "daemon/run/naming.h"

#define JIT_REFRESH_S 2
#define FINALS_IN_MEMORY \
	16 /* ended profiles kept with their modules, for lines and inline frames */
#define BATCH 64

struct keeper {
	struct names *names;
	struct store *store;
	struct sampler *sampler;
	pthread_t thread;
	bool lives, stopping, woken;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	uint64_t saved_running_ns;
};

/* ---- what the sampler thread does for us ---- */

struct pick {
	bool running; /* these too */
	uint64_t ids[BATCH];
	struct profile *profiles[BATCH];
	bool ended[BATCH];
	unsigned count;
};

static void pick_unsaved(struct sampler *s, void *arg)
{
	struct pick *p = arg;
	struct session **all;
	unsigned count;

	all = sampler_sessions(s, &count);
	for (unsigned i = 0; i < count && p->count < BATCH; i++) {
		struct session *x = all[i];
		struct profile *profile = NULL;

		if (x->state == SESSION_RUNNING && p->running)
			(void)session_snapshot(x, true, &profile);
		else if (x->state != SESSION_RUNNING && !x->stored && x->final)
			profile = profile_ref(x->final);
		if (!profile)
			continue;
		p->ended[p->count] = x->state != SESSION_RUNNING;
		p->ids[p->count] = x->id;
		p->profiles[p->count++] = profile;
	}
}

struct mark {
	uint64_t id;
	bool ended, gone;
	const struct ledger *named;
};

static void forget_old_finals(struct sampler *s)
{
	struct session **all;
	unsigned count, kept = 0;

	all = sampler_sessions(s, &count);
	for (unsigned i = count; i-- > 0;)
		if (all[i]->final && all[i]->stored && ++kept > FINALS_IN_MEMORY) {
			profile_unref(all[i]->final);
			all[i]->final = NULL;
		}
}

static void mark_stored(struct sampler *s, void *arg)
{
	struct mark *m = arg;
	struct session *x = sampler_session(s, m->id);

	m->gone = !x;
	if (x)
		session_note_names(x, m->named);
	if (x && m->ended)
		x->stored = true;
	forget_old_finals(s);
}

/* Sessions whose file the store has let go of by age or size; map holds the ids that are there. */
static void forget_expired(struct sampler *s, void *arg)
{
	struct session **all;
	unsigned count;
	uint64_t there;

	all = sampler_sessions(s, &count);
	for (unsigned i = count; i-- > 0;)
		if (all[i]->stored && !all[i]->final && !map_get(arg, all[i]->id, &there))
			sampler_remove_session(s, all[i]);
}

#define JIT_MAX 256
struct jit_list {
	struct {
		pid_t pid;
		uint64_t start_ticks;
	} at[JIT_MAX];
	unsigned count;
};

static void list_jit(struct sampler *s, void *arg)
{
	struct jit_list *l = arg;
	struct session **all;
	unsigned count;

	all = sampler_sessions(s, &count);
	for (unsigned i = 0; i < count; i++) {
		struct session_process *p;
		size_t cursor = 0;

		if (all[i]->state != SESSION_RUNNING)
			continue;
		while (l->count < JIT_MAX && (p = processes_next(all[i]->processes, &cursor)))
			if (p->has_jit && p->start_ticks) {
				l->at[l->count].pid = p->pid;
				l->at[l->count++].start_ticks = p->start_ticks;
			}
	}
}

/* ---- our own ---- */

static bool save(struct keeper *k, uint64_t id, const struct profile *raw, bool ended)
{
	AUTO(profile_unref_auto) struct profile *named = NULL;
	struct mark mark = {.id = id, .ended = ended};
	int r = naming_apply(k->names, raw, NAMES_PLAIN, &named);

	if (r == 0)
		r = store_put(k->store, named);
	if (r < 0) {
		log_warning("session %llu could not be written to the state directory, it stays in "
			    "memory: %s",
			(unsigned long long)id, strerror(-r));
		return false;
	}
	mark.named = &named->ledger;
	sampler_call(k->sampler, mark_stored, &mark);
	if (mark.gone)
		(void)store_delete(k->store, id); /* deleted while we wrote */
	return true;
}

static int note_id(const struct profile *head, void *arg)
{
	return map_set(arg, head->meta.session_id, 1);
}

static void expire(struct keeper *k)
{
	struct map *there;

	store_expire(k->store);
	if (map_new(64, &there) < 0)
		return;
	if (store_list(k->store, note_id, there) == 0)
		sampler_call(k->sampler, forget_expired, there);
	map_free(there);
}

/* One pass; running: running sessions too. */
static void save_all(struct keeper *k, bool running)
{
	struct pick *p = calloc(1, sizeof(*p));
	bool some = false;

	if (!p)
		return;
	p->running = running;
	sampler_call(k->sampler, pick_unsaved, p);
	for (unsigned i = 0; i < p->count; i++) {
		some |= save(k, p->ids[i], p->profiles[i], p->ended[i]);
		profile_unref(p->profiles[i]);
	}
	free(p);
	if (some)
		expire(k);
}

static void refresh_jit(struct keeper *k)
{
	struct jit_list *l = calloc(1, sizeof(*l));

	if (!l)
		return;
	sampler_call(k->sampler, list_jit, l);
	for (unsigned i = 0; i < l->count; i++)
		names_jit_refresh(k->names, l->at[i].pid, l->at[i].start_ticks);
	free(l);
}

static bool wait_for_work(struct keeper *k)
{
	struct timespec until;
	bool woken;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += JIT_REFRESH_S;
	pthread_mutex_lock(&k->lock);
	while (!k->woken && !k->stopping)
		if (pthread_cond_timedwait(&k->wake, &k->lock, &until) == ETIMEDOUT)
			break;
	woken = k->woken;
	k->woken = false;
	pthread_mutex_unlock(&k->lock);
	return woken;
}

static void read_interval(struct sampler *s, void *arg)
{
	*(uint64_t *)arg = sampler_env(s)->config->save_interval_ns;
}

static uint64_t save_interval_ns(struct keeper *k)
{
	uint64_t ns = 0;

	sampler_call(k->sampler, read_interval, &ns);
	return ns;
}

static void *keeper_main(void *arg)
{
	struct keeper *k = arg;

	for (;;) {
		bool woken = wait_for_work(k), stop, due;
		uint64_t now = time_mono_ns();

		pthread_mutex_lock(&k->lock);
		stop = k->stopping;
		pthread_mutex_unlock(&k->lock);
		if (stop)
			return NULL;
		refresh_jit(k);
		due = now - k->saved_running_ns >= save_interval_ns(k);
		if (due)
			k->saved_running_ns = now;
		if (woken || due)
			save_all(k, due);
	}
}

int keeper_new(struct names *names, struct store *store, struct keeper **ret_keeper)
{
	struct keeper *k = calloc(1, sizeof(*k));
	pthread_condattr_t attr;

	if (!k)
		return -ENOMEM;
	k->names = names;
	k->store = store;
	pthread_mutex_init(&k->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&k->wake, &attr);
	pthread_condattr_destroy(&attr);
	*ret_keeper = k;
	return 0;
}

int keeper_start(struct keeper *k, struct sampler *sampler)
{
	int r;

	k->sampler = sampler;
	k->saved_running_ns = time_mono_ns();
	r = -pthread_create(&k->thread, NULL, keeper_main, k);
	k->lives = r == 0;
	return r;
}

void keeper_wake(void *keeper)
{
	struct keeper *k = keeper;

	pthread_mutex_lock(&k->lock);
	k->woken = true;
	pthread_cond_signal(&k->wake);
	pthread_mutex_unlock(&k->lock);
}

void keeper_stop(struct keeper *k, bool final)
{
	if (k->lives) {
		pthread_mutex_lock(&k->lock);
		k->stopping = true;
		pthread_cond_signal(&k->wake);
		pthread_mutex_unlock(&k->lock);
		pthread_join(k->thread, NULL);
		k->lives = false;
	}
	if (final && k->sampler)
		save_all(k, false);
}

void keeper_free(struct keeper *k)
{
	if (!k)
		return;
	keeper_stop(k, false);
	pthread_cond_destroy(&k->wake);
	pthread_mutex_destroy(&k->lock);
	free(k);
}
