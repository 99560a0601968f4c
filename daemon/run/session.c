#include "daemon/run/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/log.h"
#include "base/map.h"
#include "daemon/run/feed.h"
#include "daemon/run/meta.h"
#include "daemon/symbol/unwindtables.h"
#include "daemon/tree/ledger.h"

#define SWEEP_NS        2000000000ull
#define TAIL_FRAMES_MAX 65536
#define LEAN_STEPS_MOST 32 /* that are told */

/* ---- rounds ---- */

struct round_context {
	struct session_env *env;
	struct session *s;
};

static void on_sample(void *arg, const struct sample *sample, unsigned event)
{
	struct round_context *rc = arg;

	feed_sample(rc->env, rc->s, sample, event);
}

static void on_sideband(void *arg, const struct sideband *sb)
{
	feed_sideband(((struct round_context *)arg)->s, sb);
}

static void update_ledger(struct session_env *env, struct session *s)
{
	struct capture_stats now = {0};
	struct calltree_stats tree;
	struct ledger *l = &s->ledger;
	bool one_by_one = true, of_target;

	capture_get_stats(s->capture, &now);
	calltree_get_stats(s->tree, &tree);
	l->samples = tree.samples;
	env->stats->lost += now.lost - l->lost;
	env->stats->throttled += now.throttled - l->throttled;
	env->stats->unknown_records += now.unknown - l->unknown_records;
	env->stats->sideband_lost += now.sideband_lost - l->sideband_lost;
	l->lost = now.lost;
	l->throttled = now.throttled;
	l->unknown_records = now.unknown;
	l->malformed_bytes = now.malformed_bytes;
	l->sideband_lost = now.sideband_lost;
	l->log_dropped = tree.log_dropped;
	l->log_from_ns = tree.log_from_ns;
	env->stats->filtered += now.filtered + s->filtered_here - l->filtered;
	l->filtered = now.filtered + s->filtered_here;
	l->emitted = l->counted_ns = 0;
	for (unsigned i = 0; i < s->plan->request.event_count; i++) {
		if (s->plan->capture.events[i].is_clock || s->plan->capture.period != 1)
			one_by_one = false;
		if (s->plan->capture.events[i].is_clock)
			l->counted_ns += now.counted[i];
		else
			l->emitted += now.counted[i];
	}
	/* What CPU-wide events count is the whole machine's. */
	of_target = (now.plan != CAPTURE_CPU || s->plan->target.kind == TARGET_ALL) && !l->filtered;
	if (!one_by_one || !of_target)
		l->emitted = 0;
	if (!of_target)
		l->counted_ns = 0;
	if (now.ring_peak > env->stats->ring_fill_max)
		env->stats->ring_fill_max = now.ring_peak;
}

void session_round(struct session_env *env, struct session *s)
{
	struct round_context rc = {env, s};
	struct capture_sink sink = {on_sample, on_sideband, &rc};
	uint64_t before = time_thread_cpu_ns();
	int r = capture_round(s->capture, &sink);

	if (r < 0)
		log_warning("session %llu: reading its rings: %s", (unsigned long long)s->id,
			strerror(-r));
	s->ready = false;
	s->cpu_ns += time_thread_cpu_ns() - before;
}

bool session_due(struct session_env *env, struct session *s, const char **ret_why)
{
	uint64_t now = time_mono_ns(), duration = s->plan->request.duration_ns;
	uint64_t before = time_thread_cpu_ns();
	int r = capture_refresh(s->capture);

	if (r < 0)
		log_debug("session %llu: refresh: %s", (unsigned long long)s->id, strerror(-r));
	update_ledger(env, s);
	if (now - s->swept_ns > SWEEP_NS) {
		s->swept_ns = now;
		processes_sweep(s->processes);
	}
	s->cpu_ns += time_thread_cpu_ns() - before;
	if (duration && now - s->started_ns >= duration) {
		*ret_why = "duration";
		return true;
	}
	if (capture_target_gone(s->capture)) {
		*ret_why = "target_gone";
		return true;
	}
	return false;
}

/* ---- life ---- */

static int open_capture(
	struct session_env *env, struct session *s, int epoll_fd, struct buf *message)
{
	struct capture_options *o = &s->plan->capture;
	int r = capture_new(env->broker, &s->plan->target, o, &s->capture, message);

	if (r < 0 && o->event_count > s->plan->request.event_count) {
		/* There may be too little memory or too few descriptors for deep samples. */
		log_info("session %llu: without deep samples: %s", (unsigned long long)s->id,
			message->data ? message->data : strerror(-r));
		buf_clear(message);
		o->event_count--;
		s->plan->adaptive = false;
		r = capture_new(env->broker, &s->plan->target, o, &s->capture, message);
	}
	if (r < 0)
		return r;
	r = capture_watch(s->capture, epoll_fd, s);
	if (r < 0) {
		capture_free(s->capture);
		s->capture = NULL;
		buf_printf(message, "cannot watch the rings: %s", strerror(-r));
	}
	return r;
}

static enum run_error error_of(int r)
{
	switch (r) {
	case -ESRCH:
	case -ENOENT: return RUN_NOT_FOUND;
	case -EACCES:
	case -EPERM: return RUN_FORBIDDEN;
	case -EINVAL: return RUN_BAD_REQUEST;
	case -EOPNOTSUPP:
	case -ENODEV: return RUN_UNSUPPORTED;
	case -EMFILE:
	case -ENFILE:
	case -ENOMEM:
	case -EAGAIN: return RUN_UNAVAILABLE;
	default: return RUN_FAILED;
	}
}

static void want_table(void *tables, struct module *m)
{
	unwindtables_want(tables, m);
}

static int get_unwinder(struct session_env *env, enum unwinder_kind kind, struct unwinder **ret)
{
	int r = 0;

	if (!env->unwinders[kind]) {
		r = unwinder_new(unwinder_name(kind), &env->unwinders[kind]);
		if (r == 0 && env->tables)
			unwinder_ask_tables(env->unwinders[kind], want_table, env->tables);
	}
	*ret = env->unwinders[kind];
	return r;
}

static void release_module(void *handle)
{
	module_unref(handle);
}

static void *retain_module(void *handle)
{
	return module_ref(handle);
}

static int make_tree(struct session_env *env, struct session *s)
{
	struct calltree_options o = {.max_nodes = (uint32_t)env->config->max_nodes,
		.log_entries = (uint32_t)env->config->log_entries,
		.event_count = s->plan->request.event_count};
	int r = calltree_new(&o, &s->tree);

	if (r < 0)
		return r;
	calltree_set_release(s->tree, release_module, retain_module);
	r = map_new(64, &s->thread_index);
	if (r < 0)
		return r;
	r = map_new(64, &s->module_index);
	if (r < 0)
		return r;
	s->frames_seen = calloc((size_t)1 << FRAMES_SEEN_BITS, sizeof(*s->frames_seen));
	if (!s->frames_seen)
		return -ENOMEM;
	r = get_unwinder(env, s->plan->unwinder, &s->unwinder);
	if (r == 0 && s->plan->adaptive)
		r = tails_new(TAIL_FRAMES_MAX, &s->tails);
	if (r < 0)
		return r;
	if (s->recorded)
		return processes_new_recorded(env->modules, s->unwinder, &s->processes);
	s->copysize = (struct copysize){.bytes = s->plan->capture.stack_bytes,
		.deep = s->plan->capture.event_count > s->plan->request.event_count,
		.most = s->plan->copy_most};
	r = processes_new(env->broker, env->modules, s->unwinder, &s->processes);
	if (r == 0 && !env->config->arguments)
		processes_hide_arguments(s->processes);
	return r;
}

#define EXPECTED_MAX 64 /* processes whose maps are read before they are sampled */

static void expect_targets(struct session *s)
{
	const struct target_spec *t = &s->plan->target;

	for (size_t i = 0; t->kind == TARGET_PIDS && i < t->pid_count && i < EXPECTED_MAX; i++)
		processes_expect(s->processes, t->pids[i]);
}

/* A rate below says little, and saves less. */
#define HZ_MIN      10
#define PERIOD_MOST 10 /* doublings */

static struct budget_ladder ladder_of(const struct session *s)
{
	struct budget_ladder l = {.copies = s->plan->capture.stack != STACK_FP &&
			s->plan->capture.stack_bytes > COPYSIZE_MIN};

	if (s->asked_period)
		l.rates = PERIOD_MOST;
	else
		while (s->asked_hz >> (l.rates + 1) >= HZ_MIN)
			l.rates++;
	return l;
}

/* What it owns goes over; the rest is the caller's to free. NULL: no memory. */
static struct session_plan *take_plan(struct session *s, struct session_plan *plan)
{
	struct session_plan *own = malloc(sizeof(*own));

	if (!own)
		return NULL;
	*own = *plan;
	plan->target.pids = NULL;
	s->owner = own->owner;
	return own;
}

int session_start(struct session_env *env, uint64_t id, struct session_plan *plan, int epoll_fd,
	struct session **ret_session, struct buf *message)
{
	AUTO(session_free_auto) struct session *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return RUN_UNAVAILABLE;
	s->id = id;
	s->plan = take_plan(s, plan);
	if (!s->plan)
		return RUN_UNAVAILABLE;
	buf_append_str(&s->warnings, s->plan->warnings);
	r = make_tree(env, s);
	if (r < 0) {
		buf_printf(message, "cannot set the session up: %s", strerror(-r));
		return RUN_UNAVAILABLE;
	}
	r = open_capture(env, s, epoll_fd, message);
	if (r < 0)
		return error_of(r);
	expect_targets(s);
	s->started_ns = s->swept_ns = time_mono_ns();
	s->started_wall_ns = time_wall_ns();
	s->asked_hz = s->plan->capture.freq_hz;
	s->asked_period = s->plan->capture.period;
	s->ladder = ladder_of(s);
	budget_init(&s->budget, s->started_ns);
	s->memory.max_nodes = s->memory.nodes_wanted = (uint32_t)env->config->max_nodes;
	s->memory.log_entries = s->memory.log_wanted = (uint32_t)env->config->log_entries;
	*ret_session = MOVE(s);
	return RUN_OK;
}

int session_new_recorded(
	struct session_env *env, struct session_plan *plan, struct session **ret_session)
{
	AUTO(session_free_auto) struct session *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->plan = take_plan(s, plan);
	if (!s->plan)
		return -ENOMEM;
	s->recorded = true;
	r = make_tree(env, s);
	if (r < 0)
		return r;
	*ret_session = MOVE(s);
	return 0;
}

static void let_go(struct session *s)
{
	capture_free(s->capture);
	processes_free(s->processes);
	calltree_free(s->tree);
	tails_free(s->tails);
	map_free(s->thread_index);
	map_free(s->module_index);
	free(s->frames_seen);
	if (s->plan)
		free(s->plan->target.pids);
	free(s->plan);
	s->plan = NULL;
	s->capture = NULL;
	s->processes = NULL;
	s->tree = NULL;
	s->tails = NULL;
	s->thread_index = NULL;
	s->module_index = NULL;
	s->frames_seen = NULL;
}

void session_free(struct session *s)
{
	if (!s)
		return;
	let_go(s);
	profile_unref(s->final);
	profile_unref(s->head);
	buf_done(&s->warnings);
	free(s);
}

void session_end(
	struct session_env *env, struct session *s, enum session_state state, const char *why)
{
	int r;

	if (s->capture)
		capture_stop(s->capture);
	if (!s->recorded) {
		s->ended_ns = time_mono_ns();
		s->ended_wall_ns = time_wall_ns();
	}
	if (s->capture) {
		session_round(env, s);
		update_ledger(env, s);
	}
	s->state = state;
	s->ended_by = why;
	r = session_snapshot(s, true, &s->final);
	if (r < 0)
		log_error("session %llu: its profile is lost: %s", (unsigned long long)s->id,
			strerror(-r));
	r = session_head(s, &s->head);
	if (r < 0)
		log_error("session %llu: no description: %s", (unsigned long long)s->id,
			strerror(-r));
	let_go(s);
}

int session_recapture(struct session_env *env, struct session *s,
	const struct capture_options *options, struct buf *message)
{
	int r;

	session_round(env, s); /* what an earlier change has left behind */
	r = capture_change(s->capture, options, message);
	if (r < 0)
		return r;
	s->plan->capture = *options;
	return 0;
}

void session_shape(
	const struct session *s, const struct copysize *size, struct capture_options *options)
{
	options->chain = s->lean.on;
	options->stack_bytes = s->lean.on ? LEAN_BYTES : size->bytes;
	options->event_count = s->plan->request.event_count + (size->deep && !s->lean.on);
}

static void tell_lean(struct session *s, enum lean_turn turn, const struct lean_look *shown)
{
	double at = (double)(time_mono_ns() - s->started_ns) / 1e9;
	unsigned long long left = shown->left, samples = shown->samples;
	struct buf *w = &s->warnings;

	log_debug("session %llu: %s frame-pointer chains: %llu of %llu stacks %s cut",
		(unsigned long long)s->id, s->lean.on ? "on to" : "off", left, samples,
		turn == LEAN_BEGINS ? "would be" : "are");
	if ((turn != LEAN_BEGINS && turn != LEAN_ENDS) || s->lean_steps >= LEAN_STEPS_MOST)
		return;
	if (++s->lean_steps == LEAN_STEPS_MOST)
		buf_printf(w, "after %.1f s: whether chains do is no longer told\n", at);
	else if (turn == LEAN_BEGINS)
		buf_printf(w,
			"after %.1f s: frame-pointer chains and %u bytes of each stack instead of "
			"%u, which would leave %llu of %llu stacks cut\n",
			at, LEAN_BYTES, s->copysize.bytes, left, samples);
	else
		buf_printf(w,
			"after %.1f s: %u bytes of each stack instead of frame-pointer chains, "
			"which leave %llu of %llu stacks cut\n",
			at, s->copysize.bytes, left, samples);
}

/* True: other copies are called for, and said. */
static bool adapt(struct session *s, uint64_t now_ns)
{
	struct lean_look shown = s->lean_look;
	enum lean_turn turn = lean_next(&s->lean, &s->lean_look, now_ns);

	if (turn != LEAN_STAYS) {
		s->look = (struct copysize_look){0};
		tell_lean(s, turn, &shown);
		return true;
	}
	if (s->lean.on || !copysize_next(&s->copysize, &s->look, now_ns))
		return false;
	log_debug("session %llu: %u bytes of each stack%s", (unsigned long long)s->id,
		s->copysize.bytes, s->copysize.deep ? ", deep samples beside" : "");
	return true;
}

void session_adapt(struct session_env *env, struct session *s)
{
	struct capture_options options = s->plan->capture;
	AUTO(buf_done) struct buf message = BUF_INIT;
	int r;

	if (!s->plan->adaptive || !adapt(s, time_mono_ns()))
		return;
	session_shape(s, &s->copysize, &options);
	r = session_recapture(env, s, &options, &message);
	if (r == 0)
		return;
	log_warning("session %llu goes on with %u bytes of each stack: %s",
		(unsigned long long)s->id, s->plan->capture.stack_bytes,
		message.data ? message.data : strerror(-r));
	s->lean.on = s->plan->capture.chain;
	s->plan->adaptive = false;
}

/* What somebody changed by hand. */
static void tell_change(struct session *s, const struct session_change *change)
{
	const struct capture_options *o = &s->plan->capture;
	struct buf *w = &s->warnings;

	buf_printf(w, "after %.1f s: ", (double)(time_mono_ns() - s->started_ns) / 1e9);
	if (o->freq_hz)
		buf_printf(w, "%llu Hz", (unsigned long long)o->freq_hz);
	else
		buf_printf(w, "period %llu", (unsigned long long)o->period);
	buf_printf(w, ", kernel %s", o->kernel ? "on" : "off");
	if (change->cpu_percent)
		buf_printf(w, ", a budget of %.9g %% of the machine", change->cpu_percent);
	if (change->memory_mib)
		buf_printf(w, ", a budget of %u MiB", change->memory_mib);
	buf_append_char(w, '\n');
}

int session_change(struct session_env *env, struct session *s, const struct session_change *change,
	struct buf *message)
{
	struct capture_options options = s->plan->capture;
	bool anew = change->freq_hz || change->cpu_percent;
	int r = 0;

	if (change->freq_hz) {
		options.freq_hz = change->freq_hz;
		options.period = 0;
	} else if (anew) {
		options.freq_hz = s->asked_hz;
		options.period = s->asked_period;
	}
	if (change->kernel >= 0)
		options.kernel = change->kernel;
	if (anew && !s->plan->adaptive)
		options.stack_bytes = s->plan->request.stack_bytes;
	if (change->freq_hz || change->kernel >= 0 || (anew && s->budget.level > 0))
		r = session_recapture(env, s, &options, message);
	if (r < 0)
		return error_of(r);
	if (anew) {
		s->asked_hz = options.freq_hz;
		s->asked_period = options.period;
		s->at_the_bottom = false;
		(void)copysize_limit(&s->copysize, s->plan->copy_most);
		s->ladder = ladder_of(s);
		budget_restart(&s->budget, time_mono_ns());
	}
	if (change->cpu_percent)
		s->plan->request.cpu_percent = change->cpu_percent;
	if (change->memory_mib)
		s->plan->request.memory_mib = change->memory_mib;
	s->full = false;
	tell_change(s, change);
	return RUN_OK;
}

size_t session_bytes(struct session *s)
{
	struct calltree_stats tree;
	struct capture_stats capture = {0};

	calltree_get_stats(s->tree, &tree);
	if (s->capture)
		capture_get_stats(s->capture, &capture);
	return tree.bytes + capture.ring_bytes_all + processes_bytes(s->processes);
}

int session_head(struct session *s, struct profile **ret_head)
{
	AUTO(profile_unref_auto) struct profile *p = NULL;
	struct calltree_stats tree = {0};
	int r = s->plan ? profile_new(&p) : -ENOMEM; /* there was none for it when it ended */

	if (r < 0)
		return r;
	meta_fill(p, s);
	if (s->tree)
		calltree_get_stats(s->tree, &tree);
	p->meta.cost_bytes = s->tree ? session_bytes(s) : 0;
	p->ledger = s->ledger;
	if (s->tree)
		p->ledger.samples = tree.samples; /* as of now, like the ends of their stacks */
	p->ledger.frames_total = tree.frames;
	*ret_head = MOVE(p);
	return 0;
}

static void copy_names_of(struct ledger *to, const struct ledger *from)
{
	to->frames_unnamed = from->frames_unnamed;
	memcpy(to->names_from, from->names_from, sizeof(to->names_from));
}

static uint64_t jit_names(const struct ledger *l)
{
	return l->names_from[LEDGER_FROM_JITDUMP] + l->names_from[LEDGER_FROM_PERF_MAP];
}

void session_note_names(struct session *s, const struct ledger *named)
{
	struct profile *head;

	/* More names of JIT code than were written: another time. */
	if (s->final && jit_names(named) > jit_names(&s->ledger))
		s->stored = false;
	copy_names_of(&s->ledger, named);
	/* Others may be reading the one that is there. */
	if (!s->head || profile_copy(s->head, NULL, &head) < 0)
		return;
	copy_names_of(&head->ledger, named);
	profile_unref(s->head);
	s->head = head;
}

int session_rename(struct session *s, const char *name)
{
	struct profile *head;
	int r;

	if (s->state == SESSION_RUNNING) {
		snprintf(s->plan->request.name, sizeof(s->plan->request.name), "%s", name);
		return 0;
	}
	r = profile_copy(s->head, NULL, &head);
	if (r == 0)
		r = meta_rename(head, name);
	if (r < 0) {
		profile_unref(head);
		return r;
	}
	profile_unref(s->head);
	s->head = head;
	s->stored = false;
	return 0;
}

int session_snapshot(struct session *s, bool with_log, struct profile **ret_profile)
{
	AUTO(profile_unref_auto) struct profile *p = NULL;
	struct calltree_stats tree;
	int r = calltree_snapshot(s->tree, with_log || s->has_jit, &p);

	if (r < 0)
		return r;
	calltree_get_stats(s->tree, &tree);
	meta_fill(p, s);
	p->meta.cost_bytes = session_bytes(s);
	p->ledger = s->ledger;
	p->ledger.samples = tree.samples;
	p->ledger.frames_total = p->frame_count;
	*ret_profile = MOVE(p);
	return 0;
}
