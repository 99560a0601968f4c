#include "daemon/run/thrift.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/io.h"
#include "base/log.h"

#define HZ_MIN      10 /* a rate below says little, and saves less */
#define PERIOD_MOST 10 /* doublings */
#define LINES_MOST  64 /* of the steps of one session that are told one by one */

/* What all running sessions cost together. */
struct sums {
	unsigned count;
	uint64_t cpu_ns; /* a second */
	size_t bytes;
};

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

static unsigned top_level(const struct session *s)
{
	unsigned level = 0;

	if (s->asked_period)
		return PERIOD_MOST;
	while (s->asked_hz >> (level + 1) >= HZ_MIN)
		level++;
	return level;
}

static uint64_t at_level(uint64_t hz, unsigned level)
{
	return (hz + (UINT64_C(1) << level) - 1) >> level;
}

static void say_rate(char *text, size_t bytes, const struct capture_options *from,
	const struct capture_options *to)
{
	if (to->freq_hz)
		snprintf(text, bytes, "%llu -> %llu Hz", (unsigned long long)from->freq_hz,
			(unsigned long long)to->freq_hz);
	else
		snprintf(text, bytes, "period %llu -> %llu", (unsigned long long)from->period,
			(unsigned long long)to->period);
}

/* Another rate; the shares stay right, as samples are weighed with their period. */
static void set_level(struct session_env *env, struct session *s, unsigned level, const char *why)
{
	struct capture_options before = s->plan.capture, options = before;
	AUTO(buf_done) struct buf message = BUF_INIT;
	char step[96];
	int r;

	if (s->asked_period)
		options.period = s->asked_period << level;
	else
		options.freq_hz = at_level(s->asked_hz, level);
	r = session_recapture(env, s, &options, &message);
	if (r < 0) {
		log_warning("session %llu: its rate cannot be changed: %s",
			(unsigned long long)s->id, message.data ? message.data : strerror(-r));
		return;
	}
	say_rate(step, sizeof(step), &before, &options);
	tell(env, s, step, why);
}

static void look_at_cpu(struct session_env *env, struct session *s, const struct sums *all)
{
	double whole = (double)cpus_of(s) * 1e9 / 100; /* a percent of the machine, a second */
	double own = smaller(s->plan.request.cpu_percent, env->config->cpu_percent) * whole;
	uint64_t mine = budget_cost(&s->budget), others = all->cpu_ns - mine, cost;
	uint64_t share =
		budget_share((uint64_t)(env->config->cpu_percent * whole), all->count, others);
	uint64_t allowance = (uint64_t)smaller(own, (double)share);
	unsigned top = top_level(s), before = s->budget.level, level;
	char why[128];

	level = budget_look(&s->budget, time_mono_ns(), s->cpu_ns, allowance, top, &cost);
	if (level != before) {
		snprintf(why, sizeof(why), "its cost was %.2g %% of the machine, of %.2g %%",
			(double)cost / whole, (double)allowance / whole);
		set_level(env, s, level, why);
	} else if (level == top && !s->at_the_bottom && mine > 2 * allowance) {
		s->at_the_bottom = true;
		snprintf(why, sizeof(why), "its cost is %.2g %% of the machine, of %.2g %%",
			(double)mine / whole, (double)allowance / whole);
		tell(env, s, "the rate is as low as it gets", why);
	}
}

/* ---- memory ---- */

static void look_at_memory(struct session_env *env, struct session *s, const struct sums *all)
{
	struct budget_memory *m = &s->memory, before = *m;
	size_t most = (size_t)env->config->memory_mib << 20, own, share;
	struct calltree_stats tree;
	char step[96], why[96];

	calltree_get_stats(s->tree, &tree);
	own = (size_t)s->plan.request.memory_mib << 20;
	share = budget_share(most, all->count, all->bytes - tree.bytes);
	own = own < share ? own : share;
	m->bytes = tree.bytes;
	m->log_used = tree.log_count;
	m->nodes = (uint32_t)tree.nodes;
	if (!budget_memory(m, own))
		return;
	if (calltree_limit(s->tree, m->max_nodes, m->log_entries) < 0) {
		m->log_entries = before.log_entries;
		return;
	}
	if (m->log_entries != before.log_entries)
		snprintf(step, sizeof(step), "the log keeps the last %u samples one by one, not %u",
			m->log_entries, before.log_entries);
	else
		snprintf(step, sizeof(step), "the call tree may have %u nodes, not %u",
			m->max_nodes, before.max_nodes);
	snprintf(why, sizeof(why), "it had %.1f MiB of %.1f", (double)m->bytes / (1 << 20),
		(double)own / (1 << 20));
	tell(env, s, step, why);
}

void thrift_look(struct session_env *env, struct session **sessions, unsigned count)
{
	struct sums all = {0};

	for (unsigned i = 0; i < count; i++) {
		struct calltree_stats tree;

		if (sessions[i]->state != SESSION_RUNNING)
			continue;
		calltree_get_stats(sessions[i]->tree, &tree);
		all.count++;
		all.cpu_ns += budget_cost(&sessions[i]->budget);
		all.bytes += tree.bytes;
	}
	for (unsigned i = 0; i < count; i++) {
		if (sessions[i]->state != SESSION_RUNNING)
			continue;
		look_at_memory(env, sessions[i], &all);
		look_at_cpu(env, sessions[i], &all);
	}
}
