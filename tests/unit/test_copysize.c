/* How much is copied of the stacks, by what the last seconds showed. */
#include "daemon/run/copysize.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#define MS UINT64_C(1000000)

static const struct copysize_look none = {0}, shallow = {.samples = 100, .shallow = 100},
				  fitting = {.samples = 100, .shallow = 50},
				  completed = {.samples = 100, .cut = 60, .left = 2},
				  failing = {.samples = 100, .cut = 60, .left = 3},
				  hopeless = {.samples = 100, .cut = 60, .left = 11},
				  lost = {.samples = 100, .cut = 60, .left = 21};

static uint64_t now_ns;

/* After how many looks, each 100 ms after the last, something changes; 0: not in two hundred. */
static unsigned looks_until_change(struct copysize *c, const struct copysize_look *shown)
{
	for (unsigned i = 1; i <= 200; i++) {
		struct copysize_look look = *shown;

		now_ns += 100 * MS;
		if (copysize_next(c, &look, now_ns))
			return i;
		assert_true(look.samples == 0 || shown->samples < 100);
	}
	return 0;
}

static void stacks_left_cut_make_it_grow(void **state)
{
	struct copysize c = {.bytes = 16384, .deep = true};

	assert_int_equal(looks_until_change(&c, &failing), 3);
	assert_int_equal(c.bytes, 32768);
	assert_int_equal(looks_until_change(&c, &hopeless), 1);
	assert_int_equal(c.bytes, 65528);
	assert_false(c.deep); /* they would be as long */
	assert_int_equal(looks_until_change(&c, &hopeless), 0);
	assert_false(c.deep);
	c.bytes = 16384;
	assert_int_equal(looks_until_change(&c, &lost), 1);
	assert_true(c.deep);
	assert_int_equal(looks_until_change(&c, &lost), 1);
	assert_int_equal(c.bytes, 65528);
}

static void two_bad_looks_are_none(void **state)
{
	struct copysize c = {.bytes = 16384, .deep = true};

	for (unsigned i = 0; i < 100; i++) {
		struct copysize_look look = i % 3 == 2 ? completed : failing;

		assert_false(copysize_next(&c, &look, MS));
	}
}

static void tails_that_help_leave_it(void **state)
{
	struct copysize c = {.bytes = 16384, .deep = true};

	assert_int_equal(looks_until_change(&c, &completed), 0);
}

static void deep_samples_of_no_use_end(void **state)
{
	struct copysize c = {.bytes = 16384, .deep = true};

	assert_int_equal(looks_until_change(&c, &fitting), 101);
	assert_false(c.deep);
	assert_int_equal(c.bytes, 16384);
	assert_int_equal(looks_until_change(&c, &fitting), 0);
	assert_int_equal(looks_until_change(&c, &completed), 1);
	assert_true(c.deep);
}

static void shallow_stacks_make_it_shrink(void **state)
{
	struct copysize c = {.bytes = 16384};

	assert_int_equal(looks_until_change(&c, &shallow), 101);
	assert_int_equal(c.bytes, 8192);
	assert_int_equal(looks_until_change(&c, &shallow), 101);
	assert_int_equal(c.bytes, COPYSIZE_MIN);
	assert_int_equal(looks_until_change(&c, &shallow), 0);
	c.bytes = 65528;
	assert_int_equal(looks_until_change(&c, &shallow), 1);
	assert_int_equal(c.bytes % 8, 0);
}

static void too_few_samples_tell_nothing(void **state)
{
	struct copysize c = {.bytes = 16384, .deep = true};
	struct copysize_look few = {.samples = 99, .cut = 99, .left = 7},
			     enough = {.samples = 10, .cut = 10, .left = 8};

	assert_int_equal(looks_until_change(&c, &none), 0);
	assert_int_equal(looks_until_change(&c, &few), 0);
	assert_int_equal(looks_until_change(&c, &enough), 1);
}

static void a_limit_holds_until_it_is_lifted(void **state)
{
	struct copysize c = {.bytes = 32768, .deep = true};

	assert_true(copysize_limit(&c, 8192));
	assert_int_equal(c.bytes, 8192);
	assert_false(c.deep);
	assert_int_equal(looks_until_change(&c, &failing), 0);
	assert_false(copysize_limit(&c, 16384));
	assert_true(looks_until_change(&c, &failing) > 0);
	assert_int_equal(c.bytes, 16384);
	assert_int_equal(looks_until_change(&c, &failing), 0);
	assert_false(copysize_limit(&c, 0));
	assert_int_equal(looks_until_change(&c, &failing), 1);
	assert_true(c.deep);
	assert_true(looks_until_change(&c, &failing) > 0);
	assert_int_equal(c.bytes, 32768);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_limit_holds_until_it_is_lifted),
		cmocka_unit_test(stacks_left_cut_make_it_grow),
		cmocka_unit_test(two_bad_looks_are_none),
		cmocka_unit_test(tails_that_help_leave_it),
		cmocka_unit_test(deep_samples_of_no_use_end),
		cmocka_unit_test(shallow_stacks_make_it_shrink),
		cmocka_unit_test(too_few_samples_tell_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
