#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/run/budget.h"

#define SECOND UINT64_C(1000000000)
#define MS     UINT64_C(1000000)

/* A session whose cost a second at level 0 is full_ns, and halves with each level but for fixed_ns.
 */
struct play {
	struct budget b;
	uint64_t now, cost, full_ns, fixed_ns, allowance;
	struct budget_ladder ladder;
	unsigned downs, ups;
	uint64_t told; /* the cost that the last step named */
};

static void begin(struct play *p, uint64_t full_ns, uint64_t allowance)
{
	*p = (struct play){.now = 1000 * SECOND,
		.full_ns = full_ns,
		.allowance = allowance,
		.ladder = {.rates = 6}};
	budget_init(&p->b, p->now);
}

static void second(struct play *p, uint64_t extra_ns)
{
	unsigned before = p->b.level, level;
	uint64_t told;

	p->now += SECOND;
	p->cost += p->fixed_ns + (p->full_ns >> budget_halvings(&p->ladder, before)) + extra_ns;
	level = budget_look(&p->b, p->now, p->cost, p->allowance, &p->ladder, &told);
	assert_int_equal(level, p->b.level);
	p->downs += level > before;
	p->ups += level < before;
	assert_true((told > 0) == (level != before));
	if (told)
		p->told = told;
}

static void seconds(struct play *p, unsigned n)
{
	while (n--)
		second(p, 0);
}

static void what_fits_is_left_alone(void **state)
{
	struct play p;

	begin(&p, 19 * MS, 20 * MS);
	seconds(&p, 1000);
	assert_int_equal(p.b.level, 0);
	assert_int_equal(p.downs, 0);
}

static void what_costs_too_much_goes_down_in_one_step(void **state)
{
	struct play p;

	begin(&p, 42 * MS, 20 * MS);
	seconds(&p, 4);
	assert_int_equal(p.b.level, 0); /* not at once */
	seconds(&p, 3);
	assert_int_equal(p.b.level, 2); /* a half would be 21 */
	assert_int_equal(p.downs, 1);
	assert_int_equal(p.told, 42 * MS);
	seconds(&p, 1000);
	assert_int_equal(p.b.level, 2);
	assert_int_equal(p.downs + p.ups, 1);

	begin(&p, 1600 * MS, 20 * MS);
	seconds(&p, 7);
	assert_int_equal(p.b.level, 6);
	seconds(&p, 100); /* no cheaper way is left */
	assert_int_equal(p.b.level, 6);
	assert_int_equal(p.downs, 1);
	assert_int_equal(budget_cost(&p.b), 25 * MS);
}

/* What smaller copies save is not known, and here it is nothing. */
static void smaller_copies_come_first(void **state)
{
	struct play p;

	begin(&p, 30 * MS, 20 * MS);
	p.ladder.copies = true;
	seconds(&p, 7);
	assert_int_equal(p.b.level, 1);
	assert_int_equal(budget_halvings(&p.ladder, p.b.level), 0);
	seconds(&p, 5);
	assert_int_equal(p.b.level, 2);
	assert_int_equal(budget_halvings(&p.ladder, p.b.level), 1);
	seconds(&p, 1000);
	assert_int_equal(p.b.level, 2);
	/* The rate comes back first. */
	p.full_ns = 10 * MS;
	for (unsigned i = 0; p.b.level == 2; i++) {
		assert_true(i < 60);
		second(&p, 0);
	}
	assert_int_equal(p.b.level, 1);
	p.full_ns = 6 * MS;
	seconds(&p, 60);
	assert_int_equal(p.b.level, 0);
}

static void smaller_copies_may_be_enough(void **state)
{
	struct play p;

	begin(&p, 30 * MS, 20 * MS);
	p.ladder.copies = true;
	while (p.b.level == 0)
		second(&p, 0);
	p.full_ns = 15 * MS;
	seconds(&p, 1000);
	assert_int_equal(p.b.level, 1);
	assert_int_equal(p.downs + p.ups, 1);
}

static void far_too_dear_is_both_at_once(void **state)
{
	struct play p;

	begin(&p, 70 * MS, 20 * MS);
	p.ladder.copies = true;
	seconds(&p, 7);
	assert_int_equal(p.b.level, 3); /* copies, and a quarter of the rate */
	assert_int_equal(p.downs, 1);
	begin(&p, 1600 * MS, 20 * MS);
	p.ladder = (struct budget_ladder){.copies = true};
	seconds(&p, 100); /* no rate to lower */
	assert_int_equal(p.b.level, 1);
}

/* Processes that come and go cost the same at any rate. */
static void what_no_rate_saves_is_not_paid_with_it(void **state)
{
	struct play p;

	begin(&p, 4 * MS, 20 * MS);
	p.fixed_ns = 26 * MS;
	seconds(&p, 30);
	assert_int_equal(p.b.level, 1);
	/* Once a minute it may have become worth it. */
	seconds(&p, 60);
	assert_int_equal(p.b.level, 2);
	begin(&p, 40 * MS, 20 * MS);
	p.fixed_ns = 4 * MS;
	seconds(&p, 30);
	assert_int_equal(p.b.level, 2);
}

static void what_is_not_sampling_leaves_less_for_it(void **state)
{
	struct budget_mean m = {0};
	uint64_t now = 1000 * SECOND, cost = 500 * SECOND;

	assert_int_equal(budget_left(100, 0), 100);
	assert_int_equal(budget_left(100, 30), 70);
	assert_int_equal(budget_left(100, 80), 50);
	assert_int_equal(budget_left(100, 1000), 50);
	assert_int_equal(budget_memory_left(100, 70), 30);
	assert_int_equal(budget_memory_left(100, 80), 25);

	budget_mean_look(&m, now, cost); /* what was before is not its business */
	assert_true(m.a_second == 0);
	/* A second of CPU at once is a three-hundredth of that in each second. */
	budget_mean_look(&m, now += SECOND, cost += SECOND);
	assert_in_range((uint64_t)m.a_second, 3 * MS, 4 * MS);
	for (unsigned i = 0; i < 600; i++)
		budget_mean_look(&m, now += SECOND, cost);
	assert_true(m.a_second < 1 * MS);
	for (unsigned i = 0; i < 3000; i++)
		budget_mean_look(&m, now += SECOND, cost += 5 * MS);
	assert_in_range((uint64_t)m.a_second, 4900000, 5000001);
	budget_mean_look(&m, now, cost += SECOND); /* the clock stands still */
	budget_mean_look(&m, now += SECOND, cost -= 2 * SECOND);
	assert_in_range((uint64_t)m.a_second, 4900000, 5000001);
}

static void a_start_and_single_dear_seconds_are_forgiven(void **state)
{
	struct play p;

	begin(&p, 10 * MS, 20 * MS);
	second(&p, 900 * MS);
	second(&p, 300 * MS);
	for (unsigned i = 0; i < 100; i++)
		second(&p, i % 12 == 0 ? 100 * MS : 0);
	assert_int_equal(p.downs, 0);
}

static void many_dear_seconds_are_not(void **state)
{
	struct play p;

	begin(&p, 5 * MS, 20 * MS);
	for (unsigned i = 0; i < 15; i++)
		second(&p, i % 2 ? 60 * MS : 0);
	assert_int_equal(p.downs, 1);
}

static void it_goes_up_again_step_by_step(void **state)
{
	struct play p;

	begin(&p, 160 * MS, 20 * MS);
	seconds(&p, 7);
	assert_int_equal(p.b.level, 4);
	p.full_ns = 10 * MS;
	seconds(&p, 7);
	assert_int_equal(p.b.level, 4);
	seconds(&p, 4);
	assert_int_equal(p.b.level, 3);
	seconds(&p, 7);
	assert_int_equal(p.b.level, 3);
	seconds(&p, 60);
	assert_int_equal(p.b.level, 0);
	assert_int_equal(p.ups, 4);
	assert_int_equal(p.downs, 1);
}

/* Half of it looks as if the whole would fit, and it does not. */
static void what_cannot_stay_up_is_tried_less_and_less(void **state)
{
	struct play p;
	unsigned early;

	begin(&p, 30 * MS, 20 * MS);
	seconds(&p, 7);
	assert_int_equal(p.b.level, 1);
	for (unsigned i = 0; i < 3600; i++) {
		p.full_ns = p.b.level == 0 ? 30 * MS : 8 * MS;
		second(&p, 0);
		if (i == 120)
			early = p.ups;
	}
	assert_in_range(early, 2, 6);
	/* Else it would be some 200 times. */
	assert_in_range(p.ups, 5, 25);
	assert_int_equal(p.downs, p.ups + (p.b.level > 0));
}

static void another_rate_begins_anew(void **state)
{
	struct play p;

	begin(&p, 80 * MS, 20 * MS);
	seconds(&p, 7);
	assert_int_equal(p.b.level, 3);
	budget_restart(&p.b, p.now);
	assert_int_equal(p.b.level, 0);
	assert_int_equal(budget_cost(&p.b), 0);
	p.full_ns = 10 * MS;
	seconds(&p, 60);
	assert_int_equal(p.b.level, 0);
}

static void a_clock_that_stands_still_does_no_harm(void **state)
{
	struct play p;
	uint64_t told;

	begin(&p, 0, 20 * MS);
	p.now += 10 * SECOND;
	for (unsigned i = 0; i < 30; i++)
		assert_int_equal(
			budget_look(&p.b, p.now, i * SECOND, p.allowance, &p.ladder, &told), 0);
	assert_int_equal(budget_cost(&p.b), 0);
}

static void each_has_its_part_or_what_others_leave(void **state)
{
	assert_int_equal(budget_share(100, 1, 0), 100);
	assert_int_equal(budget_share(100, 4, 10), 90);
	assert_int_equal(budget_share(100, 4, 90), 25);
	assert_int_equal(budget_share(100, 4, 1000), 25);
	assert_int_equal(budget_share(100, 0, 0), 100);
}

static struct budget_memory memory_of(size_t bytes, uint32_t log_used, uint32_t nodes)
{
	return (struct budget_memory){.bytes = bytes,
		.log_used = log_used,
		.log_entries = 1 << 20,
		.log_wanted = 1 << 20,
		.nodes = nodes,
		.max_nodes = 1 << 20,
		.nodes_wanted = 1 << 20};
}

static void the_log_goes_first_then_the_tree_stops(void **state)
{
	struct budget_memory m = memory_of(80, 1000000, 50000);

	assert_int_equal(budget_memory(&m, 100), BUDGET_MEMORY_STAYS);
	m.bytes = 95;
	assert_int_equal(budget_memory(&m, 100), BUDGET_MEMORY_LOG);
	assert_int_equal(m.log_entries, 500000);
	assert_int_equal(m.max_nodes, 1 << 20);
	/* A short one stays until the tree has no more to give by itself. */
	m.log_used = BUDGET_LOG_SHORT;
	assert_int_equal(budget_memory(&m, 100), BUDGET_MEMORY_MERGE);
	m.nodes = m.merged_nodes = 30000;
	assert_int_equal(budget_memory(&m, 100), BUDGET_MEMORY_LOG);
	assert_int_equal(m.log_entries, BUDGET_LOG_SHORT / 2);
	m.log_used = 5000;
	assert_int_equal(budget_memory(&m, 100), BUDGET_MEMORY_LOG);
	assert_int_equal(m.log_entries, BUDGET_LOG_MIN);
	m.log_used = BUDGET_LOG_MIN;
	assert_int_equal(budget_memory(&m, 100), BUDGET_MEMORY_NODES);
	assert_int_equal(m.max_nodes, 30000);
	/* Nothing is left to take. */
	assert_int_equal(budget_memory(&m, 100), BUDGET_MEMORY_STAYS);
	m.max_nodes = m.nodes_wanted;
	m.nodes = 41000; /* many since the last time */
	assert_int_equal(budget_memory(&m, 100), BUDGET_MEMORY_MERGE);
}

/* Nothing is won by it, and samples would be dropped. */
static void small_tree_is_left_alone(void **state)
{
	struct budget_memory m = memory_of(200, BUDGET_LOG_MIN, BUDGET_NODES_MIN - 1);

	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(budget_memory(&m, 100), BUDGET_MEMORY_STAYS);
	assert_int_equal(m.max_nodes, 1 << 20);
	m.nodes++;
	assert_int_equal(budget_memory(&m, 100), BUDGET_MEMORY_MERGE);
}

static void memory_comes_back_slowly(void **state)
{
	struct budget_memory m = memory_of(40, 4096, 50000);
	unsigned looks = 0;

	m.log_entries = 4096;
	m.max_nodes = 50000;
	while (budget_memory(&m, 100) == BUDGET_MEMORY_STAYS)
		looks++;
	assert_in_range(looks, 5, 20);
	assert_int_equal(m.max_nodes, 1 << 20);
	for (unsigned steps = 0; m.log_entries < m.log_wanted; steps++) {
		uint32_t before = m.log_entries;

		assert_true(steps < 10);
		for (looks = 0; budget_memory(&m, 100) == BUDGET_MEMORY_STAYS; looks++)
			assert_true(looks < 20);
		assert_int_equal(m.log_entries, 2 * before);
	}
	m.bytes = 70; /* between: neither */
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(budget_memory(&m, 100), BUDGET_MEMORY_STAYS);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_fits_is_left_alone),
		cmocka_unit_test(what_costs_too_much_goes_down_in_one_step),
		cmocka_unit_test(smaller_copies_come_first),
		cmocka_unit_test(smaller_copies_may_be_enough),
		cmocka_unit_test(far_too_dear_is_both_at_once),
		cmocka_unit_test(what_no_rate_saves_is_not_paid_with_it),
		cmocka_unit_test(what_is_not_sampling_leaves_less_for_it),
		cmocka_unit_test(a_start_and_single_dear_seconds_are_forgiven),
		cmocka_unit_test(many_dear_seconds_are_not),
		cmocka_unit_test(it_goes_up_again_step_by_step),
		cmocka_unit_test(what_cannot_stay_up_is_tried_less_and_less),
		cmocka_unit_test(another_rate_begins_anew),
		cmocka_unit_test(a_clock_that_stands_still_does_no_harm),
		cmocka_unit_test(each_has_its_part_or_what_others_leave),
		cmocka_unit_test(the_log_goes_first_then_the_tree_stops),
		cmocka_unit_test(small_tree_is_left_alone),
		cmocka_unit_test(memory_comes_back_slowly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
