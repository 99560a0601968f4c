#include "daemon/run/run.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/log.h"
#include "daemon/run/abilities.h"
#include "daemon/run/import.h"
#include "daemon/run/keeper.h"
#include "daemon/run/meta.h"
#include "daemon/run/naming.h"
#include "daemon/run/plan.h"
#include "daemon/run/sampler.h"
#include "daemon/symbol/unwindtables.h"

#define DUMP_SLOTS 16
#define DUMP_AGE_NS \
	250000000ull /* askers within this time share one snapshot of a running session */
#define DUMP_KEPT_NS     10000000000ull /* somebody who looks at an ended one asks again and again */
#define TABLES_DIR       "unwind"       /* below the state directory, where we are */
#define TABLES_BYTES_MAX (256ull << 20)
#define HOST_AGE_NS      5000000000ull

/* The last named profile of a session, shared by all who ask at about the same time. Under its
 * lock. */
struct dump_slot {
	pthread_mutex_t lock;
	uint64_t id;
	bool with_log, inlines, ended;
	uint64_t made_ns, used_ns;
	struct profile *profile;
};

struct run {
	struct config config; /* under lock */
	struct broker *broker;
	struct names *names;
	struct store *store;
	struct sampler *sampler;
	struct unwindtables *tables;
	struct keeper *keeper;
	pthread_mutex_t lock;
	struct host host; /* under lock */
	uint64_t host_ns;
	struct dump_slot dumps[DUMP_SLOTS];
};

/* ---- what everybody needs ---- */

static bool may_see(const struct caller *who, uid_t owner)
{
	return who->all || who->uid == owner;
}

static int no_session(uint64_t id, struct buf *message)
{
	buf_printf(message, "there is no session %llu", (unsigned long long)id);
	return RUN_NOT_FOUND;
}

static struct host get_host(struct run *r, struct config *ret_config)
{
	struct host host;

	pthread_mutex_lock(&r->lock);
	if (time_mono_ns() - r->host_ns > HOST_AGE_NS) {
		host_probe(r->broker, &r->host);
		r->host_ns = time_mono_ns();
	}
	host = r->host;
	if (ret_config)
		*ret_config = r->config;
	pthread_mutex_unlock(&r->lock);
	return host;
}

/* ---- requests that the sampler thread answers ---- */

struct request {
	struct run *run;
	const struct caller *who;
	uint64_t id;
	const struct session_change *change;
	struct session_plan *plan;
	struct buf *message;
	int error;
	struct profile *head;
	bool with_log, from_store, ended;
	struct profile *raw;
	struct session *imported;
	struct profile **heads;
	unsigned count;
};

/* The session asked for, if who may see it; else the error is set. */
static struct session *find_session(struct sampler *s, struct request *q)
{
	struct session *x = sampler_session(s, q->id);

	if (x && may_see(q->who, x->owner))
		return x;
	q->error = no_session(q->id, q->message);
	return NULL;
}

static void answer_head(struct session *x, struct request *q)
{
	int r = 0;

	if (x->head)
		q->head = profile_ref(x->head);
	else
		r = session_head(x, &q->head);
	if (r < 0)
		q->error = RUN_FAILED;
}

static void do_start(struct sampler *s, void *arg)
{
	struct request *q = arg;
	const struct config *c = sampler_env(s)->config;
	struct session *x;

	if (sampler_running(s) >= c->max_sessions) {
		buf_printf(q->message,
			"%u sessions are running, which is the limit: stop one, or raise "
			"max_sessions",
			c->max_sessions);
		q->error = RUN_TOO_MANY;
		return;
	}
	q->error = sampler_start_session(s, q->plan, &x, q->message);
	if (q->error == RUN_OK)
		answer_head(x, q);
}

static void do_stop(struct sampler *s, void *arg)
{
	struct request *q = arg;
	struct session *x = find_session(s, q);

	if (!x)
		return;
	sampler_end_session(s, x, "stop");
	answer_head(x, q);
	if (x->final)
		q->raw = profile_ref(x->final);
}

static void do_change(struct sampler *s, void *arg)
{
	struct request *q = arg;
	const struct session_change *c = q->change;
	bool more = c->freq_hz || c->kernel >= 0 || c->cpu_percent || c->memory_mib;
	struct session *x = find_session(s, q);

	if (!x)
		return;
	if (more && x->state != SESSION_RUNNING) {
		buf_printf(q->message,
			"session %llu is not running any more: its name alone can be changed",
			(unsigned long long)q->id);
		q->error = RUN_CONFLICT;
		return;
	}
	if (c->kernel > 0 && !q->who->all) {
		buf_append_str(q->message, "the kernel side is for root and the service group");
		q->error = RUN_FORBIDDEN;
		return;
	}
	if (more)
		q->error = sampler_change_session(s, x, c, q->message);
	if (q->error == RUN_OK && c->name[0] && sampler_rename_session(s, x, c->name) < 0)
		q->error = RUN_UNAVAILABLE;
	if (q->error == RUN_OK)
		answer_head(x, q);
}

static void do_delete(struct sampler *s, void *arg)
{
	struct request *q = arg;
	struct session *x = find_session(s, q);

	if (x)
		sampler_remove_session(s, x);
}

static void do_head(struct sampler *s, void *arg)
{
	struct request *q = arg;
	struct session *x = find_session(s, q);

	if (x)
		answer_head(x, q);
}

static void do_list(struct sampler *s, void *arg)
{
	struct request *q = arg;
	struct session **all;
	unsigned count;

	all = sampler_sessions(s, &count);
	q->heads = calloc(count + 1, sizeof(*q->heads));
	if (!q->heads) {
		q->error = RUN_UNAVAILABLE;
		return;
	}
	for (int running = 1; running >= 0; running--)
		for (unsigned i = count; i-- > 0;) {
			if ((all[i]->state == SESSION_RUNNING) != running ||
				!may_see(q->who, all[i]->owner))
				continue;
			q->head = NULL;
			answer_head(all[i], q);
			if (q->head)
				q->heads[q->count++] = q->head;
		}
	q->head = NULL;
	q->error = RUN_OK;
}

static void do_snapshot(struct sampler *s, void *arg)
{
	struct request *q = arg;
	struct session *x = find_session(s, q);
	int r = 0;

	if (!x)
		return;
	q->ended = x->state != SESSION_RUNNING;
	if (!q->ended)
		r = session_snapshot(x, q->with_log, &q->raw);
	else if (x->final)
		q->raw = profile_ref(x->final);
	else
		q->from_store = true;
	if (r < 0) {
		buf_printf(q->message, "no snapshot: %s", strerror(-r));
		q->error = RUN_UNAVAILABLE;
	}
}

int run_start(struct run *r, const struct caller *who, const struct session_request *request,
	struct profile **ret_head, struct buf *message)
{
	AUTO(free_auto) struct session_plan *plan = calloc(1, sizeof(*plan));
	struct request q = {.run = r, .who = who, .plan = plan, .message = message};
	struct config config;
	struct host host = get_host(r, &config);
	int e;

	if (!plan)
		return RUN_UNAVAILABLE;
	e = plan_make(r->broker, &config, &host, who, request, plan, message);
	if (e != RUN_OK)
		return e;
	sampler_call(r->sampler, do_start, &q);
	free(plan->target.pids); /* NULL once a session has it */
	*ret_head = q.head;
	return q.error;
}

static void do_take(struct sampler *s, void *arg)
{
	struct request *q = arg;

	if (sampler_take_ended(s, q->imported) < 0) {
		buf_append_str(q->message, "no memory for another session");
		q->error = RUN_UNAVAILABLE;
		return;
	}
	answer_head(q->imported, q);
	q->imported = NULL;
}

int run_import(struct run *r, const struct caller *who, int fd, const char *name,
	const atomic_bool *stop, struct profile **ret_head, struct buf *message)
{
	struct request q = {.run = r, .who = who, .message = message};
	struct config config;
	struct import_setup setup = {.config = &config,
		.broker = r->broker,
		.names = r->names,
		.owner = who->uid,
		.name = name,
		.stop = stop};
	int e;

	if (!who->all) {
		buf_append_str(message,
			"imports are for root and the service group: the files that a recording "
			"names are opened with the daemon's rights");
		return RUN_FORBIDDEN;
	}
	(void)get_host(r, &config);
	e = import_file(&setup, fd, &q.imported, message);
	if (e != RUN_OK)
		return e;
	sampler_call(r->sampler, do_take, &q);
	session_free(q.imported);
	*ret_head = q.head;
	return q.error;
}

int run_stop(struct run *r, const struct caller *who, uint64_t id, struct profile **ret_head,
	struct buf *message)
{
	struct request q = {.run = r, .who = who, .id = id, .message = message};

	sampler_call(r->sampler, do_stop, &q);
	/* Whoever hears that it has stopped may end the target, and its perf map with it. */
	if (q.raw)
		naming_keep_jit(r->names, q.raw);
	profile_unref(q.raw);
	*ret_head = q.head;
	return q.error;
}

int run_change(struct run *r, const struct caller *who, uint64_t id,
	const struct session_change *change, struct profile **ret_head, struct buf *message)
{
	struct request q = {.run = r, .who = who, .id = id, .change = change, .message = message};
	struct config config;
	struct host host = get_host(r, &config);
	uint64_t top = config.max_freq_hz;

	if (host.max_rate && host.max_rate < top)
		top = host.max_rate;
	if (change->freq_hz > top) {
		buf_printf(message, "frequency_hz %llu is over the limit of %llu",
			(unsigned long long)change->freq_hz, (unsigned long long)top);
		return RUN_BAD_REQUEST;
	}
	if (plan_check_budget(&config, change->cpu_percent, change->memory_mib, message) < 0)
		return RUN_BAD_REQUEST;
	if (change->kernel > 0 && !host.kernel) {
		buf_append_str(message,
			"kernel.perf_event_paranoid forbids the kernel side without CAP_PERFMON");
		return RUN_FORBIDDEN;
	}
	sampler_call(r->sampler, do_change, &q);
	*ret_head = q.head;
	return q.error;
}

int run_head(struct run *r, const struct caller *who, uint64_t id, struct profile **ret_head,
	struct buf *message)
{
	struct request q = {.run = r, .who = who, .id = id, .message = message};

	sampler_call(r->sampler, do_head, &q);
	*ret_head = q.head;
	return q.error;
}

int run_list(
	struct run *r, const struct caller *who, struct profile ***ret_heads, unsigned *ret_count)
{
	struct request q = {.run = r, .who = who};

	sampler_call(r->sampler, do_list, &q);
	*ret_heads = q.heads;
	*ret_count = q.count;
	return q.error;
}

/* ---- dumps ---- */

static void drop_dump(struct dump_slot *d)
{
	profile_unref(d->profile);
	d->profile = NULL;
}

/* On the keeper's thread. One that is being made is in use. */
static bool tidy_dumps(void *arg)
{
	struct run *r = arg;
	bool some = false;

	for (unsigned i = 0; i < DUMP_SLOTS; i++) {
		struct dump_slot *d = &r->dumps[i];
		uint64_t kept_ns;

		if (pthread_mutex_trylock(&d->lock) != 0)
			continue;
		kept_ns = d->ended ? DUMP_KEPT_NS : DUMP_AGE_NS;
		if (d->profile && time_mono_ns() - d->used_ns > kept_ns) {
			drop_dump(d);
			some = true;
		}
		pthread_mutex_unlock(&d->lock);
	}
	return some;
}

int run_delete(struct run *r, const struct caller *who, uint64_t id, struct buf *message)
{
	struct request q = {.run = r, .who = who, .id = id, .message = message};
	struct dump_slot *d = &r->dumps[id % DUMP_SLOTS];
	int e;

	sampler_call(r->sampler, do_delete, &q);
	if (q.error != RUN_OK)
		return q.error;
	pthread_mutex_lock(&d->lock);
	if (d->id == id)
		drop_dump(d);
	pthread_mutex_unlock(&d->lock);
	e = store_delete(r->store, id);
	if (e < 0 && e != -ENOENT)
		log_warning("session %llu: its file could not be removed: %s",
			(unsigned long long)id, strerror(-e));
	return RUN_OK;
}

/* What was made while the session ran lacks its last samples: once it has ended that serves nobody.
 */
static bool dump_serves(const struct dump_slot *d, const struct request *q, bool inlines,
	const struct profile *head)
{
	bool ended = head->meta.ended_wall_ns != 0;

	if (!d->profile ||
		strcmp(profile_text(d->profile, d->profile->meta.name),
			profile_text(head, head->meta.name)) != 0)
		return false;
	return d->id == q->id && d->inlines == inlines && (d->with_log || !q->with_log) &&
		(d->profile->meta.ended_wall_ns != 0) == ended &&
		(d->ended || time_mono_ns() - d->made_ns < DUMP_AGE_NS);
}

static int name_or_load(
	struct run *r, struct request *q, bool inlines, struct profile **ret, struct buf *message)
{
	int e;

	if (q->from_store)
		e = store_get(r->store, q->id, ret);
	else
		e = naming_apply_take(
			r->names, MOVE(q->raw), inlines ? NAMES_INLINES : NAMES_PLAIN, ret);
	if (e == 0)
		return RUN_OK;
	buf_printf(message, "the profile of session %llu cannot be %s: %s",
		(unsigned long long)q->id, q->from_store ? "read back" : "made", strerror(-e));
	return e == -ENOENT ? RUN_NOT_FOUND : e == -ENOMEM ? RUN_UNAVAILABLE : RUN_FAILED;
}

struct note {
	const struct profile *named;
	uint64_t aside_ns; /* that it took */
};

static void do_note_names(struct sampler *s, void *arg)
{
	const struct note *note = arg;
	struct session *x = sampler_session(s, note->named->meta.session_id);

	if (!x)
		return;
	session_note_names(x, &note->named->ledger);
	x->aside_ns += note->aside_ns;
}

/* A program may write the names of its JIT code at its end, or not until its buffer is full. */
static bool is_settled(const struct profile *p)
{
	for (uint32_t i = 0; p->name_starts && i < p->frame_count; i++)
		if (p->frames[i].kind == FRAME_JIT && p->name_starts[i] == p->name_starts[i + 1])
			return false;
	return true;
}

static int make_dump(struct run *r, struct dump_slot *d, struct request *q, bool inlines,
	const struct profile *head)
{
	uint64_t begin_ns = time_thread_cpu_ns();
	struct profile *p = NULL;
	struct note note;
	int e;

	sampler_call(r->sampler, do_snapshot, q);
	if (q->error != RUN_OK)
		return q->error;
	e = name_or_load(r, q, inlines, &p, q->message);
	if (e != RUN_OK)
		return e;
	if (q->ended)
		(void)meta_rename(p, profile_text(head, head->meta.name));
	note = (struct note){p, time_thread_cpu_ns() - begin_ns};
	if (!q->from_store)
		sampler_call(r->sampler, do_note_names, &note);
	drop_dump(d);
	d->id = q->id;
	d->with_log = q->with_log || q->ended;
	d->inlines = inlines;
	d->ended = q->ended && (q->from_store || is_settled(p));
	d->made_ns = time_mono_ns();
	d->profile = p;
	return RUN_OK;
}

int run_profile(struct run *r, const struct caller *who, uint64_t id, bool with_log, bool inlines,
	struct profile **ret_profile, struct buf *message)
{
	struct dump_slot *d = &r->dumps[id % DUMP_SLOTS];
	struct request q = {
		.run = r, .who = who, .id = id, .with_log = with_log, .message = message};
	struct request see = q;
	int e;

	/* Whether it is there and ours to see is asked anew each time: a cached answer must not
	 * outlive that. */
	sampler_call(r->sampler, do_head, &see);
	if (see.error != RUN_OK)
		return see.error;
	pthread_mutex_lock(&d->lock);
	e = dump_serves(d, &q, inlines, see.head) ? RUN_OK : make_dump(r, d, &q, inlines, see.head);
	if (e == RUN_OK) {
		d->used_ns = time_mono_ns();
		*ret_profile = profile_ref(d->profile);
	}
	pthread_mutex_unlock(&d->lock);
	profile_unref(see.head);
	return e;
}

/* ---- status ---- */

unsigned run_abilities(struct run *r, struct ability ret[RUN_ABILITIES_MAX])
{
	struct host host = get_host(r, NULL);

	return abilities_list(&host, ret);
}

unsigned run_events(struct run *r, struct run_event *ret, unsigned max)
{
	return abilities_events(r->broker, ret, max);
}

void run_get_stats(struct run *r, struct run_stats *ret_stats)
{
	sampler_get_stats(r->sampler, ret_stats);
}

static void do_reload(struct sampler *s, void *arg)
{
	sampler_set_config(s, arg);
}

void run_reload(struct run *r, const struct config *config)
{
	struct config copy = *config;

	pthread_mutex_lock(&r->lock);
	r->config = *config;
	pthread_mutex_unlock(&r->lock);
	sampler_call(r->sampler, do_reload, &copy);
}

/* ---- life ---- */

/* A session from disk, as it was. One that was running when the daemon was killed has ended by
 * that. */
static int adopt(const struct profile *head, void *arg)
{
	struct sampler *s = arg;
	struct session *x = calloc(1, sizeof(*x));
	struct profile *copy = NULL;

	if (!x || profile_copy(head, NULL, &copy) < 0) {
		free(x);
		return -ENOMEM;
	}
	x->id = head->meta.session_id;
	x->state = SESSION_ENDED;
	x->stored = true;
	x->owner = head->meta.owner;
	if (strcmp(profile_text(head, head->meta.state), "running") == 0) {
		copy->meta.state = meta_text(copy, "ended");
		copy->meta.ended_by = meta_text(copy, "killed");
		copy->meta.ended_wall_ns =
			head->meta.started_wall_ns + (head->meta.taken_ns - head->meta.started_ns);
	}
	x->head = copy;
	if (sampler_adopt_session(s, x) < 0) {
		session_free(x);
		return -ENOMEM;
	}
	return 0;
}

static int compare_ids(const void *a, const void *b)
{
	const struct session *x = *(struct session *const *)a, *y = *(struct session *const *)b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static void do_adopt(struct sampler *s, void *arg)
{
	struct session **all;
	unsigned count;
	int r = store_list(arg, adopt, s);

	if (r < 0)
		log_warning("not all finished profiles could be listed: %s", strerror(-r));
	all = sampler_sessions(s, &count);
	if (!count)
		return;
	qsort(all, count, sizeof(*all), compare_ids);
	log_info("%u finished profile%s found", count, count == 1 ? "" : "s");
}

AUTO_FREE_FN(struct run, run_free)

int run_new(const struct config *config, struct broker *broker, struct names *names,
	struct store *store, struct run **ret_run)
{
	AUTO(run_free_auto) struct run *r = calloc(1, sizeof(*r));
	struct tablefiles_options files = {.dir = TABLES_DIR,
		.max_bytes = TABLES_BYTES_MAX,
		.free_floor_bytes = config->store_free_floor_bytes};
	struct sampler_setup setup = {.config = config,
		.broker = broker,
		.last_id = store_last_id(store),
		.wake_keeper = keeper_wake};
	int e;

	if (!r)
		return -ENOMEM;
	r->config = *config;
	r->broker = broker;
	r->names = names;
	r->store = store;
	pthread_mutex_init(&r->lock, NULL);
	for (unsigned i = 0; i < DUMP_SLOTS; i++)
		pthread_mutex_init(&r->dumps[i].lock, NULL);
	host_probe(broker, &r->host);
	r->host_ns = time_mono_ns();
	e = keeper_new(
		&(struct keeper_setup){
			.names = names, .store = store, .tidy = tidy_dumps, .arg = r},
		&r->keeper);
	if (e < 0)
		return e;
	e = unwindtables_new(names, &files, &r->tables);
	if (e < 0)
		return e;
	setup.arg = r->keeper;
	setup.tables = r->tables;
	e = sampler_new(&setup, &r->sampler);
	if (e < 0)
		return e;
	sampler_call(r->sampler, do_adopt, store);
	e = keeper_start(r->keeper, r->sampler);
	if (e < 0)
		return e;
	*ret_run = MOVE(r);
	return 0;
}

void run_free(struct run *r)
{
	if (!r)
		return;
	/* The keeper's thread first, so that nobody asks the sampler any more; then what ended just
	 * now. */
	if (r->keeper)
		keeper_stop(r->keeper, false);
	if (r->sampler) {
		sampler_stop(r->sampler);
		if (r->keeper)
			keeper_stop(r->keeper, true);
	}
	keeper_free(r->keeper);
	sampler_free(r->sampler);
	unwindtables_free(r->tables);
	for (unsigned i = 0; i < DUMP_SLOTS; i++) {
		drop_dump(&r->dumps[i]);
		pthread_mutex_destroy(&r->dumps[i].lock);
	}
	pthread_mutex_destroy(&r->lock);
	free(r);
}
