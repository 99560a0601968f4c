/* What was meant by a word that is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "cli/words.h"

static void distance_counts_letters(void **state)
{
	assert_int_equal(words_distance("record", "record"), 0);
	assert_int_equal(words_distance("", "top"), 3);
	assert_int_equal(words_distance("top", ""), 3);
	assert_int_equal(words_distance("recod", "record"), 1);
	assert_int_equal(words_distance("recoord", "record"), 1);
	assert_int_equal(words_distance("rekord", "record"), 1);
	assert_int_equal(words_distance("kitten", "sitting"), 3);
}

static void neighbours_swapped_are_one_mistake(void **state)
{
	assert_int_equal(words_distance("recrod", "record"), 1);
	assert_int_equal(words_distance("otp", "top"), 1);
	assert_int_equal(words_distance("abcdef", "badcfe"), 3);
}

static void long_words_are_cut(void **state)
{
	char a[200], b[200];

	memset(a, 'x', sizeof(a));
	memset(b, 'y', sizeof(b));
	a[sizeof(a) - 1] = b[sizeof(b) - 1] = 0;
	assert_int_equal(words_distance(a, b), 32);
}

static const char *nearest_of(const char *word)
{
	struct nearest n = {.word = word};

	words_try(&n, "record");
	words_try(&n, "report");
	words_try(&n, "top");
	words_try(&n, "stop");
	words_try(&n, "delete");
	return n.best;
}

static void the_nearest_is_found(void **state)
{
	assert_string_equal(nearest_of("recrod"), "record");
	assert_string_equal(nearest_of("repotr"), "report");
	assert_string_equal(nearest_of("sotp"), "stop");
	assert_string_equal(nearest_of("tpo"), "top");
	assert_string_equal(nearest_of("del"), "delete");
}

static void what_is_like_none_has_none(void **state)
{
	assert_null(nearest_of("fly"));
	assert_null(nearest_of("configuration"));
	assert_null(nearest_of("x"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(distance_counts_letters),
		cmocka_unit_test(neighbours_swapped_are_one_mistake),
		cmocka_unit_test(long_words_are_cut),
		cmocka_unit_test(the_nearest_is_found),
		cmocka_unit_test(what_is_like_none_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
