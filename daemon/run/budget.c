#include "daemon/run/budget.h"

#include <string.h>

#define SECOND_NS     UINT64_C(1000000000)
#define REST_NS       (2 * SECOND_NS)
#define QUICK         3 /* looks over the allowance, one after the other, are enough */
#define PATIENCE_NS   (10 * SECOND_NS)
#define PATIENCE_MOST (300 * SECOND_NS)
#define VAIN_NS       (60 * SECOND_NS)
#define MEAN_S        300.0

void budget_init(struct budget *b, uint64_t now_ns)
{
	memset(b, 0, sizeof(*b));
	b->patience_ns = PATIENCE_NS;
	b->rests_until_ns = now_ns + REST_NS;
}

void budget_restart(struct budget *b, uint64_t now_ns)
{
	budget_init(b, now_ns);
	b->changed_ns = now_ns;
}

static uint64_t between(const struct budget_look *from, const struct budget_look *to)
{
	uint64_t t = to->t_ns - from->t_ns;

	return t ? (uint64_t)((double)(to->cost_ns - from->cost_ns) * (double)SECOND_NS / (double)t)
		 : 0;
}

/* A second of the last n seconds. */
static uint64_t mean(const struct budget *b, unsigned n)
{
	return between(&b->looks[b->count - 1 - n], &b->looks[b->count - 1]);
}

uint64_t budget_cost(const struct budget *b)
{
	unsigned seconds = b->count > 0 ? b->count - 1 : 0;

	return seconds ? mean(b, seconds < QUICK ? seconds : QUICK) : 0;
}

static void remember(struct budget *b, uint64_t now_ns, uint64_t cost_ns)
{
	if (b->count == BUDGET_LOOKS + 1)
		memmove(b->looks, b->looks + 1, (--b->count) * sizeof(*b->looks));
	b->looks[b->count++] = (struct budget_look){now_ns, cost_ns};
}

/* One second that is dear may be a dump, or a program that loads its libraries. */
static bool is_over(const struct budget *b, uint64_t allowance, uint64_t *ret_cost)
{
	if (b->count <= QUICK)
		return false;
	*ret_cost = mean(b, QUICK);
	for (unsigned i = b->count - QUICK; i < b->count; i++)
		if (between(&b->looks[i - 1], &b->looks[i]) <= allowance) {
			*ret_cost = mean(b, b->count - 1);
			return b->count == BUDGET_LOOKS + 1 && *ret_cost > allowance;
		}
	return true;
}

/* Twice of it would fit, with a third to spare. */
static bool has_room(
	const struct budget *b, uint64_t now_ns, uint64_t allowance, uint64_t *ret_cost)
{
	if (b->level == 0 || b->count < BUDGET_LOOKS + 1 || now_ns - b->changed_ns < b->patience_ns)
		return false;
	*ret_cost = mean(b, BUDGET_LOOKS);
	return 3 * *ret_cost <= allowance;
}

static bool is_vain(const struct budget *b, uint64_t now_ns, uint64_t cost)
{
	return b->halved_cost_ns && cost > b->halved_cost_ns / 8 * 7 &&
		now_ns - b->changed_ns < VAIN_NS;
}

static void step(struct budget *b, uint64_t now_ns, unsigned level)
{
	bool up = level < b->level;
	bool in_vain = !up && b->went_up && now_ns - b->changed_ns < 2 * b->patience_ns;

	if (in_vain)
		b->patience_ns *= 2;
	else if (!up)
		b->patience_ns = PATIENCE_NS;
	if (b->patience_ns > PATIENCE_MOST)
		b->patience_ns = PATIENCE_MOST;
	b->level = level;
	b->changed_ns = now_ns;
	b->went_up = up;
	/* The change has a cost of its own. */
	b->rests_until_ns = now_ns + SECOND_NS / 2;
	b->count = 0;
}

unsigned budget_halvings(const struct budget_ladder *l, unsigned level)
{
	unsigned copies = l->copies ? 1 : 0;

	return level > copies ? level - copies : 0;
}

/* Nobody knows what smaller copies save: where that may do, it is tried alone. */
static unsigned level_below(
	const struct budget *b, const struct budget_ladder *l, uint64_t cost, uint64_t allowance)
{
	unsigned level = b->level, top = l->copies + l->rates;
	unsigned now = budget_halvings(l, level);

	if (level == 0 && l->copies && cost <= 2 * allowance)
		return 1;
	/* A tenth to spare. */
	while (level < top && (cost >> (budget_halvings(l, level) - now)) > allowance / 10 * 9)
		level++;
	return level;
}

unsigned budget_look(struct budget *b, uint64_t now_ns, uint64_t cost_ns, uint64_t allowance_ns,
	const struct budget_ladder *ladder, uint64_t *ret_cost_ns)
{
	unsigned level = b->level;
	uint64_t cost = 0;

	*ret_cost_ns = 0;
	if (now_ns < b->rests_until_ns)
		return level;
	remember(b, now_ns, cost_ns);
	if (is_over(b, allowance_ns, &cost)) {
		level = is_vain(b, now_ns, cost) ? level
						 : level_below(b, ladder, cost, allowance_ns);
	} else if (has_room(b, now_ns, allowance_ns, &cost)) {
		level--;
	}
	if (level != b->level) {
		bool halves = budget_halvings(ladder, level) > budget_halvings(ladder, b->level);

		*ret_cost_ns = cost;
		step(b, now_ns, level);
		b->halved_cost_ns = halves ? cost : 0;
	}
	return level;
}

uint64_t budget_share(uint64_t all, unsigned count, uint64_t others)
{
	uint64_t part = all / (count ? count : 1);

	return others < all && all - others > part ? all - others : part;
}

uint64_t budget_left(uint64_t total, uint64_t rest)
{
	return rest < total / 2 ? total - rest : total - total / 2;
}

size_t budget_memory_left(size_t total, size_t rest)
{
	return rest < total / 4 * 3 ? total - rest : total / 4;
}

void budget_mean_look(struct budget_mean *m, uint64_t now_ns, uint64_t cost_ns)
{
	double s = (double)(now_ns - m->t_ns) / (double)SECOND_NS;
	double cost = cost_ns > m->cost_ns ? (double)(cost_ns - m->cost_ns) : 0;

	if (m->t_ns && now_ns <= m->t_ns)
		return;
	/* Each second takes its part of five minutes, however long after the last one we look. */
	if (m->t_ns)
		m->a_second += (cost / s - m->a_second) * (s < MEAN_S ? s / MEAN_S : 1);
	m->t_ns = now_ns;
	m->cost_ns = cost_ns;
}

/* Merging again is worth it when a good part of the nodes came after the last time. */
static bool merge_may_help(const struct budget_memory *m)
{
	return m->nodes >= BUDGET_NODES_MIN && m->nodes / 4 * 3 > m->merged_nodes;
}

enum budget_memory_step budget_memory(struct budget_memory *m, size_t allowance_bytes)
{
	size_t high = allowance_bytes / 10 * 9, low = allowance_bytes / 10 * 5;
	enum budget_memory_step step;

	m->looks++;
	if (m->bytes > high && m->log_used <= BUDGET_LOG_SHORT && merge_may_help(m)) {
		step = BUDGET_MEMORY_MERGE;
	} else if (m->bytes > high && m->log_used > BUDGET_LOG_MIN) {
		step = BUDGET_MEMORY_LOG;
		m->log_entries = m->log_used / 2;
		if (m->log_entries < BUDGET_LOG_MIN)
			m->log_entries = BUDGET_LOG_MIN;
	} else if (m->bytes > high && m->nodes >= BUDGET_NODES_MIN && m->nodes < m->max_nodes) {
		step = BUDGET_MEMORY_NODES;
		m->max_nodes = m->nodes;
	} else if (m->bytes < low && m->looks >= BUDGET_LOOKS && m->max_nodes < m->nodes_wanted) {
		step = BUDGET_MEMORY_NODES;
		m->max_nodes = m->nodes_wanted;
	} else if (m->bytes < low && m->looks >= BUDGET_LOOKS && m->log_entries < m->log_wanted) {
		step = BUDGET_MEMORY_LOG;
		m->log_entries =
			m->log_wanted / 2 < m->log_entries ? m->log_wanted : 2 * m->log_entries;
	} else {
		return BUDGET_MEMORY_STAYS;
	}
	m->looks = 0;
	return step;
}
