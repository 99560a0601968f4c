#include "daemon/run/keeper.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/io.h"
#include "base/log.h"
#include "base/map.h"
#include "daemon/run/meta.h"
#include "daemon/run/naming.h"

#define TICK_S         2
#define SAVING_PART    10                     /* of the CPU time that all may take */
#define SAVING_MOST_NS UINT64_C(300000000000) /* what a crash may cost */
/* Ended profiles kept with their modules, for lines and inline frames: so many, and of the memory
 * that all may have such a part. */
#define FINALS_IN_MEMORY 16
#define FINALS_PART      8

struct keeper {
	struct keeper_setup setup;
	struct sampler *sampler;
	pthread_t thread;
	bool lives, stopping, woken;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	uint64_t saved_running_ns;
	uint64_t saving_ns; /* CPU time that took */
};

/* ---- what the sampler thread does for us ---- */

/* The next one after id, so that there is one copy at a time. */
struct pick {
	bool running; /* these too */
	uint64_t id;
	bool found;              /* false: no more */
	struct profile *profile; /* NULL: on disk alone, under another name */
	struct profile *head;    /* of an ended one */
	bool ended;
};

static void pick_next(struct sampler *s, void *arg)
{
	struct pick *p = arg;
	struct session **all, *next = NULL;
	unsigned count;

	all = sampler_sessions(s, &count);
	for (unsigned i = 0; i < count; i++) {
		struct session *x = all[i];
		bool wanted = x->state == SESSION_RUNNING ? p->running : !x->stored;

		if (wanted && x->id > p->id && (!next || x->id < next->id))
			next = x;
	}
	p->profile = p->head = NULL;
	p->found = next != NULL;
	if (!next)
		return;
	p->id = next->id;
	p->ended = next->state != SESSION_RUNNING;
	if (!p->ended) {
		p->found = session_snapshot(next, true, &p->profile) == 0;
		return;
	}
	p->head = profile_ref(next->head);
	if (next->final)
		p->profile = profile_ref(next->final);
}

struct mark {
	uint64_t id, aside_ns;
	bool ended, gone;
	const struct profile *named;
};

static void forget_old_finals(struct sampler *s)
{
	size_t most = ((size_t)sampler_env(s)->config->memory_mib << 20) / FINALS_PART, bytes = 0;
	struct session **all;
	unsigned count, kept = 0;

	all = sampler_sessions(s, &count);
	for (unsigned i = count; i-- > 0;)
		if (all[i]->final && all[i]->stored &&
			((bytes += profile_bytes(all[i]->final)) > most ||
				++kept > FINALS_IN_MEMORY)) {
			profile_unref(all[i]->final);
			all[i]->final = NULL;
		}
}

static void mark_stored(struct sampler *s, void *arg)
{
	struct mark *m = arg;
	struct session *x = sampler_session(s, m->id);

	m->gone = !x;
	if (x) {
		session_note_names(x, &m->named->ledger);
		x->aside_ns += m->aside_ns;
	}
	/* It may have got another name meanwhile. */
	if (x && m->ended)
		x->stored = strcmp(profile_text(x->head, x->head->meta.name),
				    profile_text(m->named, m->named->meta.name)) == 0;
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
		struct jitrules *rules; /* NULL: none */
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

static void hand_over_rules(struct sampler *s, void *arg)
{
	struct jit_list *l = arg;
	struct session **all;
	unsigned count;

	all = sampler_sessions(s, &count);
	for (unsigned i = 0; i < count; i++)
		for (unsigned k = 0; k < l->count && all[i]->state == SESSION_RUNNING; k++) {
			struct session_process *p = l->at[k].rules
				? processes_find(all[i]->processes, l->at[k].pid)
				: NULL;

			if (p && p->start_ticks == l->at[k].start_ticks)
				space_set_jit_take(p->space, jitrules_ref(l->at[k].rules));
		}
}

/* ---- our own ---- */

static bool save_take(struct keeper *k, const struct pick *p)
{
	AUTO(profile_unref_auto) struct profile *named = NULL;
	AUTO(profile_unref_auto) struct profile *head = p->head;
	uint64_t id = p->id;
	struct mark mark = {.id = id, .ended = p->ended};
	uint64_t begin_ns = time_thread_cpu_ns();
	int r = p->profile ? naming_apply_take(k->setup.names, p->profile, NAMES_PLAIN, &named)
			   : store_get(k->setup.store, id, &named);

	if (r == 0 && head)
		r = meta_rename(named, profile_text(head, head->meta.name));
	if (r == 0)
		r = store_put(k->setup.store, named);
	if (r < 0) {
		log_warning("session %llu could not be written to the state directory, it stays in "
			    "memory: %s",
			(unsigned long long)id, strerror(-r));
		return false;
	}
	mark.named = named;
	mark.aside_ns = time_thread_cpu_ns() - begin_ns;
	sampler_call(k->sampler, mark_stored, &mark);
	if (mark.gone)
		(void)store_delete(k->setup.store, id); /* deleted while we wrote */
	return true;
}

static int note_id(const struct profile *head, void *arg)
{
	return map_set(arg, head->meta.session_id, 1);
}

static void expire(struct keeper *k)
{
	struct map *there;

	store_expire(k->setup.store);
	if (map_new(64, &there) < 0)
		return;
	if (store_list(k->setup.store, note_id, there) == 0)
		sampler_call(k->sampler, forget_expired, there);
	map_free(there);
}

/* One pass; running: running sessions too. True: there were some. */
static bool save_all(struct keeper *k, bool running)
{
	struct pick p = {.running = running};
	bool some = false;

	for (;;) {
		sampler_call(k->sampler, pick_next, &p);
		if (!p.found)
			break;
		some |= save_take(k, &p);
	}
	if (some)
		expire(k);
	return some;
}

static void refresh_jit(struct keeper *k)
{
	struct jit_list *l = calloc(1, sizeof(*l));
	bool any = false;

	if (!l)
		return;
	sampler_call(k->sampler, list_jit, l);
	for (unsigned i = 0; i < l->count; i++) {
		names_jit_refresh(k->setup.names, l->at[i].pid, l->at[i].start_ticks);
		any |= names_jit_rules(k->setup.names, l->at[i].pid, l->at[i].start_ticks,
			       &l->at[i].rules) == 0;
	}
	if (any)
		sampler_call(k->sampler, hand_over_rules, l);
	for (unsigned i = 0; i < l->count; i++)
		jitrules_unref(l->at[i].rules);
	free(l);
}

static bool wait_for_work(struct keeper *k)
{
	struct timespec until;
	bool woken;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += TICK_S;
	pthread_mutex_lock(&k->lock);
	while (!k->woken && !k->stopping)
		if (pthread_cond_timedwait(&k->wake, &k->lock, &until) == ETIMEDOUT)
			break;
	woken = k->woken;
	k->woken = false;
	pthread_mutex_unlock(&k->lock);
	return woken;
}

struct interval {
	uint64_t cost_ns, ns;
};

/* As configured, or as long as it takes for the last pass to have cost a tenth of the budget. */
static void read_interval(struct sampler *s, void *arg)
{
	const struct config *c = sampler_env(s)->config;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	double budget = c->cpu_percent / 100 * (double)(cpus > 0 ? cpus : 1);
	struct interval *i = arg;
	double least = (double)i->cost_ns * SAVING_PART / budget;

	i->ns = c->save_interval_ns;
	if (least > (double)i->ns)
		i->ns = least < (double)SAVING_MOST_NS ? (uint64_t)least : SAVING_MOST_NS;
}

static uint64_t save_interval_ns(struct keeper *k)
{
	struct interval i = {.cost_ns = k->saving_ns};

	sampler_call(k->sampler, read_interval, &i);
	return i.ns;
}

static void *keeper_main(void *arg)
{
	struct keeper *k = arg;

	for (;;) {
		bool woken = wait_for_work(k), stop, due, left_over;
		uint64_t now = time_mono_ns(), begin_ns;

		pthread_mutex_lock(&k->lock);
		stop = k->stopping;
		pthread_mutex_unlock(&k->lock);
		if (stop)
			return NULL;
		refresh_jit(k);
		due = now - k->saved_running_ns >= save_interval_ns(k);
		if (due)
			k->saved_running_ns = now;
		left_over = k->setup.tidy(k->setup.arg);
		begin_ns = time_thread_cpu_ns();
		if (woken || due)
			left_over |= save_all(k, due);
		if (due)
			k->saving_ns = time_thread_cpu_ns() - begin_ns;
		if (left_over)
			heap_trim();
	}
}

int keeper_new(const struct keeper_setup *setup, struct keeper **ret_keeper)
{
	struct keeper *k = calloc(1, sizeof(*k));
	pthread_condattr_t attr;

	if (!k)
		return -ENOMEM;
	k->setup = *setup;
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
