/* Whether frame-pointer chains do, by what the last samples showed. */
#include "daemon/run/lean.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define MS     UINT64_C(1000000)
#define SECOND (1000 * MS)

/* What 100 ms show. */
static const struct lean_look good = {.samples = 100, .chains = 90},
			      shallow = {.samples = 100, .chains = 11},
			      poor = {.samples = 100, .left = 1, .chains = 90},
			      bad = {.samples = 100, .left = 3, .chains = 90},
			      hopeless = {.samples = 9, .left = 9};

static uint64_t now_ns;

/* After how many times 100 ms something changes, in at most so many; 0: not at all. */
static unsigned looks_until(
	struct lean *l, const struct lean_look *shown, enum lean_turn turn, unsigned most)
{
	struct lean_look look = {0};

	for (unsigned i = 1; i <= most; i++) {
		enum lean_turn got;

		now_ns += 100 * MS;
		look.samples += shown->samples;
		look.left += shown->left;
		look.chains += shown->chains;
		got = lean_next(l, &look, now_ns);
		if (got != LEAN_STAYS) {
			assert_int_equal(got, turn);
			assert_int_equal(look.samples, 0);
			return i;
		}
	}
	return 0;
}

static void it_begins_when_nearly_all_would_be_whole(void **state)
{
	struct lean l = {0};

	(void)state;
	assert_int_equal(looks_until(&l, &poor, LEAN_BEGINS, 100), 0);
	assert_int_equal(looks_until(&l, &good, LEAN_BEGINS, 100), 4);
	assert_true(l.on);
}

static void not_where_copies_would_do(void **state)
{
	struct lean l = {0};

	(void)state;
	assert_int_equal(looks_until(&l, &shallow, LEAN_BEGINS, 100), 0);
	assert_false(l.on);
}

static void it_ends_when_stacks_are_cut(void **state)
{
	struct lean l = {0};

	(void)state;
	assert_int_equal(looks_until(&l, &good, LEAN_BEGINS, 4), 4);
	assert_int_equal(looks_until(&l, &poor, LEAN_ENDS, 100), 0); /* by chance */
	assert_true(l.on);
	assert_int_equal(looks_until(&l, &bad, LEAN_ENDS, 100), 3);
	assert_false(l.on);
}

static void at_once_when_all_are(void **state)
{
	struct lean l = {0};

	(void)state;
	assert_int_equal(looks_until(&l, &good, LEAN_BEGINS, 4), 4);
	assert_int_equal(looks_until(&l, &hopeless, LEAN_ENDS, 100), 1);
}

static void attempts_that_fail_get_rare(void **state)
{
	struct lean l = {0};
	unsigned waits[8];

	(void)state;
	assert_int_equal(looks_until(&l, &good, LEAN_BEGINS, 4), 4);
	for (unsigned i = 0; i < 8; i++) {
		assert_int_equal(looks_until(&l, &hopeless, LEAN_ENDS, 4), 1);
		waits[i] = looks_until(&l, &good, LEAN_BEGINS, 10000);
	}
	assert_in_range(waits[0], 100, 104);
	assert_in_range(waits[1], 200, 204);
	assert_in_range(waits[2], 400, 404);
	assert_in_range(waits[6], 6400, 6404);
	assert_in_range(waits[7], 6400, 6404); /* and no rarer than that */
}

static void what_was_good_for_long_is_tried_soon(void **state)
{
	struct lean l = {0};

	(void)state;
	assert_int_equal(looks_until(&l, &good, LEAN_BEGINS, 4), 4);
	assert_int_equal(looks_until(&l, &hopeless, LEAN_ENDS, 4), 1);
	assert_in_range(looks_until(&l, &good, LEAN_BEGINS, 200), 100, 104);
	assert_int_equal(looks_until(&l, &poor, LEAN_ENDS, 500), 0);
	assert_int_equal(looks_until(&l, &hopeless, LEAN_ENDS, 4), 1);
	assert_in_range(looks_until(&l, &good, LEAN_BEGINS, 200), 100, 104);
}

static void long_copies_are_looked_at_now_and_then(void **state)
{
	struct lean l = {0};

	(void)state;
	assert_int_equal(looks_until(&l, &good, LEAN_BEGINS, 4), 4);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(looks_until(&l, &good, LEAN_CHECKS, 1000), 600);
		assert_false(l.on);
		assert_int_equal(looks_until(&l, &good, LEAN_GOES_ON, 10), 2);
		assert_true(l.on);
	}
	/* Also where nothing is sampled. */
	now_ns += 60 * SECOND;
	assert_int_equal(lean_next(&l, &(struct lean_look){0}, now_ns), LEAN_CHECKS);
	assert_int_equal(looks_until(&l, &bad, LEAN_ENDS, 10), 2);
	assert_int_equal(looks_until(&l, &good, LEAN_BEGINS, 99), 0);
	assert_in_range(looks_until(&l, &good, LEAN_BEGINS, 10), 1, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_begins_when_nearly_all_would_be_whole),
		cmocka_unit_test(not_where_copies_would_do),
		cmocka_unit_test(it_ends_when_stacks_are_cut),
		cmocka_unit_test(at_once_when_all_are),
		cmocka_unit_test(attempts_that_fail_get_rare),
		cmocka_unit_test(what_was_good_for_long_is_tried_soon),
		cmocka_unit_test(long_copies_are_looked_at_now_and_then),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
