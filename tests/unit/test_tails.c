/* What was seen of a stack, for stacks whose copy ended too early. */
#include "daemon/unwind/tails.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define MS      UINT64_C(1000000)
#define THREAD  7
#define FRAMES  64
#define NO_MORE 4096

static struct tails *tails;
static struct unwind_chain chain;

static int set_up(void **state)
{
	return tails_new(FRAMES, &tails);
}

static int tear_down(void **state)
{
	tails_free(tails);
	return 0;
}

/* The frames' names, innermost first; each frame is 16 bytes below its caller, the outermost at
 * 0x8000. */
static void make_chain(const char *names, enum unwind_end end, unsigned outer)
{
	size_t count = strlen(names);

	memset(&chain, 0, sizeof(chain));
	for (size_t i = 0; i < count; i++) {
		chain.addrs[i] = (uint64_t)names[i];
		chain.sps[i] = 0x8000 - 16 * (count - 1 - i + outer);
		chain.how[i] = UNWIND_BY_CFI;
	}
	chain.count = (unsigned)count;
	chain.end = end;
}

static void learn_at(uint64_t thread, uint64_t t_ns, const char *names)
{
	make_chain(names, UNWIND_ROOT, 0);
	tails_learn(tails, thread, t_ns, &chain);
}

static bool complete(
	uint64_t thread, uint64_t t_ns, const char *names, unsigned missing, unsigned max_frames)
{
	make_chain(names, UNWIND_STACK_CUT, missing);
	return tails_complete(tails, thread, t_ns, max_frames, &chain);
}

static void assert_chain(const char *names, unsigned from_tail)
{
	assert_int_equal(chain.count, strlen(names));
	for (unsigned i = 0; i < chain.count; i++) {
		assert_int_equal(chain.addrs[i], (uint64_t)names[i]);
		assert_int_equal(
			chain.how[i], i + from_tail < chain.count ? UNWIND_BY_CFI : UNWIND_BY_TAIL);
	}
}

static void cut_stack_is_made_whole(void **state)
{
	learn_at(THREAD, MS, "edcbam");
	assert_true(complete(THREAD, 2 * MS, "xdcb", 2, NO_MORE));
	assert_chain("xdcbam", 2);
	assert_int_equal(chain.end, UNWIND_ROOT);
}

static void what_was_cut_itself_teaches_what_it_has(void **state)
{
	make_chain("hgfedc", UNWIND_STACK_CUT, 3);
	tails_learn(tails, THREAD, MS, &chain);
	assert_false(complete(THREAD, MS, "xgfed", 4, NO_MORE));
	assert_chain("xgfed", 0);
	learn_at(THREAD, MS, "dcbam");
	assert_true(complete(THREAD, MS, "xgfed", 4, NO_MORE));
	assert_chain("xgfedcbam", 4);
}

static void nothing_is_said_of_what_was_not_seen(void **state)
{
	assert_false(complete(THREAD, MS, "xdcb", 2, NO_MORE));
	learn_at(THREAD, MS, "edcbam");
	assert_false(complete(THREAD + 1, MS, "xdcb", 2, NO_MORE)); /* another thread */
	assert_false(complete(THREAD, MS, "xdcb", 3, NO_MORE));     /* another place */
	assert_false(complete(THREAD, MS, "x", 2, NO_MORE)); /* has no return address at all */
	make_chain("edcb", UNWIND_NO_CFI, 2);
	assert_false(
		tails_complete(tails, THREAD, MS, NO_MORE, &chain)); /* not for want of a copy */
	make_chain("edcbam", UNWIND_NO_CFI, 0);
	tails_learn(tails, THREAD + 2, MS, &chain);
	assert_false(complete(THREAD + 2, MS, "xdcb", 2, NO_MORE));
}

static void what_is_old_is_not_taken(void **state)
{
	learn_at(THREAD, MS, "edcbam");
	assert_true(complete(THREAD, 20000 * MS, "xdcb", 2, NO_MORE));
	assert_false(complete(THREAD, 20001 * MS, "xdcb", 2, NO_MORE));
	assert_chain("xdcb", 0);
	learn_at(THREAD, 20002 * MS, "ycbam"); /* a part of it anew: the frame at the cut is one */
	assert_true(complete(THREAD, 20003 * MS, "xdcb", 2, NO_MORE));
}

static void two_callers_of_one_place_are_doubted(void **state)
{
	learn_at(THREAD, MS, "edcbam");
	learn_at(THREAD, 2 * MS, "edcbzm");
	assert_false(complete(THREAD, 3 * MS, "xdcb", 2, NO_MORE));
	assert_chain("xdcb", 0);
	assert_true(complete(THREAD, 3 * MS, "xdcbz", 1, NO_MORE)); /* beyond the doubt */
	learn_at(THREAD, 20002 * MS, "edcbzm");
	assert_true(complete(THREAD, 20003 * MS, "xdcb", 2, NO_MORE));
	assert_chain("xdcbzm", 2);
}

static void cut_stacks_tell_of_doubt_too(void **state)
{
	learn_at(THREAD, MS, "edcbam");
	make_chain("edcbz", UNWIND_STACK_CUT, 1);
	tails_learn(tails, THREAD, 2 * MS, &chain);
	assert_false(complete(THREAD, 3 * MS, "xdcb", 2, NO_MORE));
}

static void recursion_must_be_seen_again_and_again(void **state)
{
	for (unsigned i = 1; i <= 4; i++) {
		assert_false(complete(THREAD, i * MS, "xdcb", 4, NO_MORE));
		assert_chain("xdcb", 0);
		learn_at(THREAD, i * MS, "edcbacbm");
		assert_true(complete(THREAD, i * MS, "xdcbacb", 1, NO_MORE)); /* beyond it */
	}
	assert_true(complete(THREAD, 5 * MS, "xdcb", 4, NO_MORE));
	assert_chain("xdcbacbm", 4);
}

static void recursion_further_out_is_one_too(void **state)
{
	for (unsigned i = 0; i < 3; i++)
		learn_at(THREAD, i * MS, "edcbaqam");
	make_chain("edcbaq", UNWIND_STACK_CUT, 2); /* who called q was seen but three times */
	tails_learn(tails, THREAD, 3 * MS, &chain);
	assert_false(complete(THREAD, 4 * MS, "xdcb", 4, NO_MORE));
	assert_chain("xdcb", 0);
	learn_at(THREAD, 5 * MS, "zqam");
	assert_true(complete(THREAD, 6 * MS, "xdcb", 4, NO_MORE));
	assert_chain("xdcbaqam", 4);
}

static void doubt_makes_a_recursion_begin_anew(void **state)
{
	for (unsigned i = 1; i <= 4; i++)
		learn_at(THREAD, i * MS, "edcbacbm");
	learn_at(THREAD, 5 * MS, "edcbzcbm");
	for (unsigned i = 6; i <= 8; i++)
		learn_at(THREAD, i * MS, "edcbacbm");
	assert_false(complete(THREAD, 20007 * MS, "xdcb", 4, NO_MORE)); /* the doubt is over */
	learn_at(THREAD, 20008 * MS, "edcbacbm");
	assert_true(complete(THREAD, 20009 * MS, "xdcb", 4, NO_MORE));
}

static void max_frames_end_it(void **state)
{
	learn_at(THREAD, MS, "edcbam");
	assert_true(complete(THREAD, MS, "xdcb", 2, 5));
	assert_chain("xdcba", 1);
	assert_int_equal(chain.end, UNWIND_MAX_FRAMES);
	assert_true(complete(THREAD, MS, "xdcb", 2, 6));
	assert_int_equal(chain.end, UNWIND_ROOT);
}

static void full_table_begins_anew(void **state)
{
	char names[FRAMES + 2];

	learn_at(THREAD, MS, "edcbam");
	memset(names, 'f', sizeof(names) - 1);
	names[sizeof(names) - 1] = '\0';
	learn_at(THREAD, MS, names); /* more than there is room for, ever */
	assert_true(complete(THREAD, MS, "xdcb", 2, NO_MORE));
	names[FRAMES] = '\0';
	learn_at(THREAD + 1, MS, names);
	assert_false(complete(THREAD, MS, "xdcb", 2, NO_MORE));
	learn_at(THREAD, MS, "edcbam");
	assert_true(complete(THREAD, MS, "xdcb", 2, NO_MORE));
	assert_true(tails_bytes(tails) >= FRAMES * 48 && tails_bytes(tails) < FRAMES * 100);
}

/* Learnt from one whole stack, then asked of one that chains alone led to. */
static bool complete_base(uint64_t process, uint64_t t_ns, const char *names)
{
	make_chain(names, UNWIND_STACK_CUT, 0);
	memset(chain.sps, 0, sizeof(chain.sps));
	return tails_complete_base(tails, process, t_ns, NO_MORE, &chain);
}

static void learn_base(uint64_t t_ns, const char *names, unsigned base, unsigned times)
{
	make_chain(names, UNWIND_ROOT, 0);
	for (unsigned i = 0; i < times; i++)
		tails_learn_base(tails, THREAD, t_ns, &chain, base);
}

static void how_stacks_begin_is_the_process_s(void **state)
{
	learn_base(MS, "edcbam", 2, 4);
	assert_true(complete_base(THREAD, 190000 * MS, "zyxb"));
	assert_chain("zyxbam", 2);
	assert_int_equal(chain.end, UNWIND_ROOT);
	assert_false(complete_base(THREAD + 1, MS, "zyxb"));
	assert_false(complete_base(THREAD, MS, "zyxc")); /* further in than what was learnt */
	assert_false(complete_base(THREAD, MS, "b"));    /* has no return address */
	assert_false(complete_base(THREAD, 210000 * MS, "zyxb"));
}

static void a_start_must_be_seen_again_and_again(void **state)
{
	learn_base(MS, "edcbam", 2, 3);
	assert_false(complete_base(THREAD, MS, "zyxb"));
	learn_base(MS, "edcbam", 2, 1);
	assert_true(complete_base(THREAD, MS, "zyxb"));
}

static void two_ways_to_begin_are_none(void **state)
{
	learn_base(MS, "edcbam", 2, 4);
	learn_base(2 * MS, "edcbom", 2, 1);
	learn_base(3 * MS, "edcbam", 2, 9);
	assert_false(complete_base(THREAD, 4 * MS, "zyxb"));
	assert_chain("zyxb", 0);
	learn_base(200002 * MS, "edcbam", 2, 1);
	assert_true(complete_base(THREAD, 200003 * MS, "zyxb"));
}

static void a_start_that_is_called_elsewhere_is_none(void **state)
{
	learn_base(MS, "edcbam", 2, 4);
	make_chain("edcbxyzbam", UNWIND_ROOT, 0);
	tails_doubt_base(tails, THREAD, 2 * MS, &chain, 7); /* as it is known */
	tails_doubt_base(tails, THREAD, 2 * MS, &chain, 4); /* nothing is known of it */
	assert_true(complete_base(THREAD, 3 * MS, "zyxb"));
	make_chain("edcbxyzbam", UNWIND_ROOT, 0);
	tails_doubt_base(tails, THREAD, 4 * MS, &chain, 3);
	assert_false(complete_base(THREAD, 5 * MS, "zyxb"));
	assert_false(complete_base(THREAD, 5 * MS, "edcx"));
	learn_base(6 * MS, "edcbam", 3, 9); /* too many */
	assert_false(complete_base(THREAD, 7 * MS, "zyxc"));
}

static void frames_without_a_place_are_not_learnt(void **state)
{
	make_chain("edcbam", UNWIND_ROOT, 0);
	memset(&chain.sps[3], 0, 3 * sizeof(chain.sps[0]));
	tails_learn(tails, THREAD, MS, &chain);
	assert_false(complete(THREAD, MS, "xdc", 3, NO_MORE));
	assert_false(complete_base(THREAD, MS, "zyxb"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(cut_stack_is_made_whole),
		TEST(what_was_cut_itself_teaches_what_it_has),
		TEST(nothing_is_said_of_what_was_not_seen),
		TEST(what_is_old_is_not_taken),
		TEST(two_callers_of_one_place_are_doubted),
		TEST(cut_stacks_tell_of_doubt_too),
		TEST(recursion_must_be_seen_again_and_again),
		TEST(recursion_further_out_is_one_too),
		TEST(doubt_makes_a_recursion_begin_anew),
		TEST(max_frames_end_it),
		TEST(full_table_begins_anew),
		TEST(how_stacks_begin_is_the_process_s),
		TEST(a_start_must_be_seen_again_and_again),
		TEST(two_ways_to_begin_are_none),
		TEST(a_start_that_is_called_elsewhere_is_none),
		TEST(frames_without_a_place_are_not_learnt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
