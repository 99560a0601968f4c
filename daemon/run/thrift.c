#include "daemon/run/thrift.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/log.h"
#include "daemon/run/footprint.h"

#define LINES_MOST 64 /* of the steps of one session that are told one by one */
#define PAGES_NS   UINT64_C(20000000000)

/* What no session can be blamed for: reader, broker, HTTP, the sampler's own loop. Everybody bears
 * an equal part of it. */
struct thrift {
	struct footprint *footprint;
	struct footprint_now now;
	uint64_t attributed_ns; /* to sessions, since the start */
	struct budget_mean shared;
	uint64_t pages_ns; /* when files' pages were let go of last */
};

/* What all running sessions cost together. */
struct sums {
	unsigned count;
	uint64_t cpu_ns;   /* of their sampling, a second */
	uint64_t aside_ns; /* of their names and files, a second */
	size_t bytes, ring_bytes;
};

int thrift_new(struct broker *b, struct thrift **ret_thrift)
{
	AUTO(thrift_free_auto) struct thrift *t = calloc(1, sizeof(*t));
	int r = t ? footprint_new(b, &t->footprint) : -ENOMEM;

	if (r == 0)
		*ret_thrift = MOVE(t);
	return r;
}

void thrift_free(struct thrift *t)
{
	if (!t)
		return;
	footprint_free(t->footprint);
	free(t);
}

static void tell(struct session_env *env, struct session *s, const char *step, const char *why)
{
	double at = (double)(time_mono_ns() - s->started_ns) / 1e9;

	s->ledger.budget_steps++;
	env->stats->budget_steps++;
	log_info("session %llu: %s, %s", (unsigned long long)s->id, step, why);
	if (s->ledger.budget_steps <= LINES_MOST)
		buf_printf(&s->warnings, "after %.1f s: %s, %s\n", at, step, why);
	else if (s->ledger.budget_steps == LINES_MOST + 1)
		buf_printf(&s->warnings,
			"after %.1f s: further steps for its budget are in the log of the daemon\n",
			at);
}

/* ---- CPU time ---- */

static double smaller(double a, double b)
{
	return a < b ? a : b;
}

static unsigned cpus_of(const struct session *s)
{
	struct capture_stats stats = {0};

	capture_get_stats(s->capture, &stats);
	return stats.cpus ? stats.cpus : 1;
}

static uint64_t at_level(uint64_t hz, unsigned halvings)
{
	return (hz + (UINT64_C(1) << halvings) - 1) >> halvings;
}

/* How much of a stack may be copied: half of what it was when that step was taken. */
static uint32_t copies_at_level(const struct session *s, unsigned level)
{
	uint32_t now = s->lean.on ? s->copysize.bytes : s->plan->capture.stack_bytes;
	uint32_t half = now / 16 * 8;

	if (level == 0 || !s->ladder.copies)
		return s->plan->copy_most;
	if (s->copysize.most != s->plan->copy_most)
		return s->copysize.most;
	return half > COPYSIZE_MIN ? half : COPYSIZE_MIN;
}

static void options_at_level(const struct session *s, unsigned level, struct copysize *size,
	struct capture_options *options)
{
	unsigned halvings = budget_halvings(&s->ladder, level);

	if (s->asked_period)
		options->period = s->asked_period << halvings;
	else
		options->freq_hz = at_level(s->asked_hz, halvings);
	(void)copysize_limit(size, copies_at_level(s, level));
	if (level == 0 && !s->plan->adaptive)
		size->bytes = s->plan->request.stack_bytes;
	session_shape(s, size, options);
}

static void tell_level(struct session_env *env, struct session *s,
	const struct capture_options *from, const char *why)
{
	const struct capture_options *to = &s->plan->capture;
	char step[96];

	if (from->stack_bytes != to->stack_bytes || from->event_count != to->event_count) {
		snprintf(step, sizeof(step), "%u -> %u bytes of each stack copied%s",
			from->stack_bytes, to->stack_bytes,
			from->event_count > to->event_count ? ", no deep samples" : "");
		tell(env, s, step, why);
	}
	if (from->freq_hz == to->freq_hz && from->period == to->period)
		return;
	if (to->freq_hz)
		snprintf(step, sizeof(step), "%llu -> %llu Hz", (unsigned long long)from->freq_hz,
			(unsigned long long)to->freq_hz);
	else
		snprintf(step, sizeof(step), "period %llu -> %llu",
			(unsigned long long)from->period, (unsigned long long)to->period);
	tell(env, s, step, why);
}

/* Other copies and another rate; the shares stay right, as samples are weighed with their period.
 */
static void set_level(struct session_env *env, struct session *s, unsigned level, const char *why)
{
	struct capture_options before = s->plan->capture, options = before;
	struct copysize size = s->copysize;
	AUTO(buf_done) struct buf message = BUF_INIT;
	int r;

	options_at_level(s, level, &size, &options);
	if (options.freq_hz != before.freq_hz || options.period != before.period ||
		options.stack_bytes != before.stack_bytes ||
		options.event_count != before.event_count) {
		r = session_recapture(env, s, &options, &message);
		if (r < 0) {
			log_warning("session %llu: its rate cannot be changed: %s",
				(unsigned long long)s->id,
				message.data ? message.data : strerror(-r));
			return;
		}
	}
	s->copysize = size;
	tell_level(env, s, &before, why);
}

static void look_at_cpu(
	struct thrift *t, struct session_env *env, struct session *s, const struct sums *all)
{
	double whole = (double)cpus_of(s) * 1e9 / 100; /* a percent of the machine, a second */
	double asked = smaller(s->plan->request.cpu_percent, env->config->cpu_percent);
	uint64_t shared = (uint64_t)t->shared.a_second, mine = budget_cost(&s->budget);
	uint64_t own = budget_left(
		(uint64_t)(asked * whole), (uint64_t)s->aside.a_second + shared / all->count);
	uint64_t left =
		budget_left((uint64_t)(env->config->cpu_percent * whole), shared + all->aside_ns);
	uint64_t share = budget_share(left, all->count, all->cpu_ns - mine), cost;
	uint64_t allowance = own < share ? own : share;
	unsigned before = s->budget.level, level;
	char why[128];

	level = budget_look(&s->budget, time_mono_ns(), s->cpu_ns, allowance, &s->ladder, &cost);
	if (level != before) {
		snprintf(why, sizeof(why), "its cost was %.2g %% of the machine, of %.2g %%",
			(double)cost / whole, (double)allowance / whole);
		set_level(env, s, level, why);
	} else if (level == s->ladder.copies + s->ladder.rates && !s->at_the_bottom &&
		mine > 2 * allowance) {
		s->at_the_bottom = true;
		snprintf(why, sizeof(why), "its cost is %.2g %% of the machine, of %.2g %%",
			(double)mine / whole, (double)allowance / whole);
		tell(env, s, "the rate is as low as it gets", why);
	}
}

/* ---- memory ---- */

/* Which of the tree's processes still run. */
struct living {
	bool *is;
	size_t count;
};

static bool is_over(void *arg, uint32_t process)
{
	const struct living *l = arg;

	return process < l->count && !l->is[process];
}

/* -ENOMEM, or how many processes went into others. */
static int64_t merge_ended(struct session *s, size_t processes)
{
	AUTO(free_auto) bool *is = calloc(processes + 1, sizeof(*is));
	struct living l = {is, processes};
	struct session_process *p;
	size_t cursor = 0;

	if (!is)
		return -ENOMEM;
	while ((p = processes_next(s->processes, &cursor)))
		if (p->tree_index >= 0 && (size_t)p->tree_index < processes)
			is[p->tree_index] = true;
	return calltree_merge(s->tree, is_over, &l);
}

static void say_memory(char why[96], size_t bytes, size_t of)
{
	snprintf(why, 96, "it had %.1f MiB of %.1f", (double)bytes / (1 << 20),
		(double)of / (1 << 20));
}

static void take_memory_step(struct session_env *env, struct session *s,
	enum budget_memory_step kind, const struct budget_memory *before, size_t allowance)
{
	struct budget_memory *m = &s->memory;
	struct calltree_stats tree;
	int64_t merged = 0;
	char step[128] = "", why[96];

	calltree_get_stats(s->tree, &tree);
	say_memory(why, m->bytes, allowance);
	switch (kind) {
	case BUDGET_MEMORY_STAYS: return;
	case BUDGET_MEMORY_LOG:
		if (calltree_limit(s->tree, m->max_nodes, m->log_entries) < 0) {
			m->log_entries = before->log_entries;
			return;
		}
		snprintf(step, sizeof(step), "the log keeps the last %u samples one by one, not %u",
			m->log_entries, before->log_entries);
		break;
	case BUDGET_MEMORY_NODES:
		(void)calltree_limit(s->tree, m->max_nodes, m->log_entries);
		snprintf(step, sizeof(step), "the call tree may have %u nodes, not %u",
			m->max_nodes, before->max_nodes);
		break;
	case BUDGET_MEMORY_MERGE:
		merged = merge_ended(s, tree.processes);
		calltree_get_stats(s->tree, &tree);
		m->merged_nodes = (uint32_t)tree.nodes;
		if (merged <= 0)
			return;
		snprintf(step, sizeof(step),
			"%lld processes that are over became one for each name, %u nodes -> %u",
			(long long)merged, before->nodes, m->merged_nodes);
		break;
	}
	tell(env, s, step, why);
}

static void look_at_memory(
	struct thrift *t, struct session_env *env, struct session *s, const struct sums *all)
{
	struct budget_memory *m = &s->memory, before;
	size_t most = (size_t)env->config->memory_mib << 20, own, share;
	/* Of what the processes have, trees and logs are the sessions' own; the rings come on top.
	 */
	size_t held = all->bytes - all->ring_bytes;
	size_t shared = t->now.bytes > held ? t->now.bytes - held : 0;
	struct calltree_stats tree;
	char why[96];

	calltree_get_stats(s->tree, &tree);
	m->bytes = session_bytes(s);
	m->log_used = tree.log_count;
	m->nodes = (uint32_t)tree.nodes;
	own = (size_t)s->plan->request.memory_mib << 20;
	share = budget_share(budget_memory_left(most, shared), all->count, all->bytes - m->bytes);
	own = own < share ? own : share;
	before = *m;
	take_memory_step(env, s, budget_memory(m, own), &before, own);
	if (m->bytes > own && m->log_used <= BUDGET_LOG_MIN &&
		(m->nodes >= m->max_nodes || m->nodes < BUDGET_NODES_MIN) && !s->full) {
		s->full = true;
		say_memory(why, m->bytes, own);
		tell(env, s, "there is nothing left to make smaller", why);
	}
}

/* ---- both ---- */

static void add_up(struct thrift *t, struct session *s, uint64_t now_ns, struct sums *all)
{
	struct capture_stats capture = {0};
	uint64_t cost_ns = s->cpu_ns + s->aside_ns;

	capture_get_stats(s->capture, &capture);
	t->attributed_ns += cost_ns - s->attributed_ns;
	s->attributed_ns = cost_ns;
	budget_mean_look(&s->aside, now_ns, s->aside_ns);
	all->count++;
	all->cpu_ns += budget_cost(&s->budget);
	all->aside_ns += (uint64_t)s->aside.a_second;
	all->bytes += session_bytes(s);
	all->ring_bytes += capture.ring_bytes_all;
}

static void look_at_all(struct thrift *t, struct session_env *env, const struct sums *all)
{
	uint64_t now_ns = time_mono_ns();
	size_t bytes;

	footprint_look(t->footprint, now_ns, &t->now);
	budget_mean_look(&t->shared, now_ns, t->now.cpu_ns - t->attributed_ns);
	bytes = t->now.bytes + all->ring_bytes;
	env->stats->budget_bytes = bytes;
	env->stats->ring_bytes = all->ring_bytes;
	env->stats->shared_cpu_ns = (uint64_t)t->shared.a_second;
	/* Costs nobody anything but some page faults. */
	if (bytes > ((size_t)env->config->memory_mib << 20) / 4 * 3 &&
		now_ns - t->pages_ns > PAGES_NS) {
		modules_let_go_of_pages(env->modules);
		t->pages_ns = now_ns;
	}
}

void thrift_look(
	struct thrift *t, struct session_env *env, struct session **sessions, unsigned count)
{
	uint64_t now_ns = time_mono_ns();
	struct sums all = {0};

	for (unsigned i = 0; i < count; i++)
		if (sessions[i]->state == SESSION_RUNNING)
			add_up(t, sessions[i], now_ns, &all);
	if (all.count == 0) {
		env->stats->budget_bytes = env->stats->ring_bytes = 0;
		t->shared.t_ns = 0; /* what passes until the next one is nobody's */
		return;
	}
	look_at_all(t, env, &all);
	for (unsigned i = 0; i < count; i++) {
		if (sessions[i]->state != SESSION_RUNNING)
			continue;
		look_at_memory(t, env, sessions[i], &all);
		look_at_cpu(t, env, sessions[i], &all);
	}
}
