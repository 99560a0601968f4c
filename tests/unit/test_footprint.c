#include "daemon/run/footprint.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static const char rollup[] =
	"55d4ee9f4000-7ffd6d9fd000 ---p 00000000 00:00 0                          [rollup]\n"
	"Rss:               90468 kB\n"
	"Pss:               81234 kB\n"
	"Pss_Dirty:         50000 kB\n"
	"Pss_Anon:          49000 kB\n";

static void the_sum_is_found(void **state)
{
	size_t bytes = 1;

	assert_int_equal(footprint_parse_pss(rollup, strlen(rollup), &bytes), 0);
	assert_int_equal(bytes, 81234 * 1024);
	assert_int_equal(footprint_parse_pss("x\nPss: 0", 8, &bytes), 0);
	assert_int_equal(bytes, 0);
}

/* Whatever is cut off, nothing behind the end is read, and half a number is a number at most. */
static void other_text_is_none(void **state)
{
	char exact[sizeof(rollup)];
	size_t bytes;

	for (size_t len = 0; len < sizeof(rollup) - 1; len++) {
		memcpy(exact, rollup, len);
		memset(exact + len, '9', sizeof(exact) - len);
		if (footprint_parse_pss(exact, len, &bytes) == 0)
			assert_true(bytes <= 81234 * 1024);
		else
			assert_true(len < (size_t)(strstr(rollup, "81234") - rollup) + 1);
	}
	assert_int_equal(footprint_parse_pss("Pss: 12 kB", 10, &bytes), -EINVAL);
	assert_int_equal(footprint_parse_pss("x\nPss: kB", 9, &bytes), -EINVAL);
	assert_int_equal(footprint_parse_pss("x\nPss: 99999999999999999999999 kB", 34, &bytes), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_sum_is_found),
		cmocka_unit_test(other_text_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
