#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "tests/unit/failing_alloc.h"

static void appended_pieces_are_joined_and_closed(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	assert_int_equal(buf_append(&b, "ab\0c", 4), 0);
	assert_int_equal(buf_append_str(&b, "de"), 0);
	assert_int_equal(buf_append_char(&b, 'f'), 0);
	assert_int_equal(buf_append_u64(&b, 0), 0);
	assert_int_equal(buf_append_u64(&b, UINT64_MAX), 0);
	assert_int_equal(buf_printf(&b, "-%s%d", "x", 7), 0);
	assert_int_equal(b.len, 31);
	assert_memory_equal(b.data, "ab\0cdef018446744073709551615-x7", 32);
	buf_done(&b);
	assert_null(b.data);
}

static void growth_keeps_the_bytes(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	for (unsigned i = 0; i < 100000; i++)
		assert_int_equal(buf_append_char(&b, (char)('a' + i % 26)), 0);
	for (unsigned i = 0; i < 100000; i++)
		assert_int_equal(b.data[i], 'a' + i % 26);
	assert_int_equal(b.data[b.len], 0);
	buf_done(&b);
}

static void print_longer_than_the_spare_room_is_whole(void **state)
{
	struct buf b = BUF_INIT;
	char text[300];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	assert_int_equal(buf_append_str(&b, "<"), 0);
	assert_int_equal(buf_printf(&b, "%s>", text), 0);
	assert_int_equal(b.len, 301);
	assert_int_equal(b.data[1], 'x');
	assert_int_equal(b.data[300], '>');
	assert_int_equal(strlen(b.data), 301);
	buf_done(&b);
}

static void cap_is_reached_but_not_passed(void **state)
{
	struct buf b = {.max_bytes = 4};

	(void)state;
	assert_int_equal(buf_append(&b, "abcd", 4), 0);
	assert_int_equal(buf_append_char(&b, 'e'), -EFBIG);
	assert_int_equal(b.error, -EFBIG);
	assert_string_equal(b.data, "abcd");
	/* What would fit comes too late: a hole in the middle would be worse than an end. */
	assert_int_equal(buf_append(&b, "", 0), -EFBIG);
	assert_int_equal(buf_printf(&b, "%s", ""), -EFBIG);
	assert_null(buf_take(&b));

	buf_clear(&b);
	assert_int_equal(buf_append_str(&b, "xyz"), 0);
	assert_string_equal(b.data, "xyz");
	buf_done(&b);
}

static void print_over_the_cap_leaves_nothing_behind(void **state)
{
	struct buf b = {.max_bytes = 4};

	(void)state;
	assert_int_equal(buf_append_str(&b, "ab"), 0);
	assert_int_equal(buf_printf(&b, "%d", 123), -EFBIG);
	assert_int_equal(b.len, 2);
	assert_string_equal(b.data, "ab");
	buf_done(&b);
}

static void absurd_length_is_refused(void **state)
{
	struct buf b = BUF_INIT, capped = {.max_bytes = 10};
	char *at;

	(void)state;
	assert_int_equal(buf_reserve(&b, SIZE_MAX, &at), -ENOMEM);
	assert_int_equal(buf_reserve(&capped, SIZE_MAX - 3, &at), -EFBIG);
	buf_done(&b);
	buf_done(&capped);
}

static void reserved_room_is_filled_by_the_caller(void **state)
{
	struct buf b = BUF_INIT;
	char *at, *text;

	(void)state;
	assert_int_equal(buf_append_str(&b, "head "), 0);
	assert_int_equal(buf_reserve(&b, 1000, &at), 0);
	memset(at, 'y', 1000);
	b.len += 3;
	text = buf_take(&b);
	assert_string_equal(text, "head yyy");
	assert_null(b.data);
	assert_int_equal(b.len, 0);
	free(text);
}

static void taken_empty_buffer_is_an_empty_string(void **state)
{
	struct buf b = {.max_bytes = 5};
	char *text = buf_take(&b);

	(void)state;
	assert_string_equal(text, "");
	assert_int_equal(b.max_bytes, 5);
	free(text);
}

static void failed_allocation_sticks_and_loses_nothing(void **state)
{
	struct buf b = BUF_INIT;
	char piece[100];

	(void)state;
	memset(piece, 'z', sizeof(piece));
	alloc_fail_after = 0;
	assert_int_equal(buf_append_str(&b, "a"), -ENOMEM);
	assert_null(buf_take(&b));
	alloc_fail_after = -1;
	assert_int_equal(buf_append_str(&b, "a"), -ENOMEM);
	buf_clear(&b);

	assert_int_equal(buf_append_str(&b, "abc"), 0);
	alloc_fail_after = 0;
	assert_int_equal(buf_append(&b, piece, sizeof(piece)), -ENOMEM);
	alloc_fail_after = -1;
	assert_string_equal(b.data, "abc");
	buf_clear(&b);

	assert_int_equal(buf_append_str(&b, "abc"), 0);
	alloc_fail_after = 0;
	assert_int_equal(buf_printf(&b, "%0200d", 1), -ENOMEM);
	alloc_fail_after = -1;
	assert_string_equal(b.data, "abc");
	assert_int_equal(b.len, 3);
	buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(appended_pieces_are_joined_and_closed),
		cmocka_unit_test(growth_keeps_the_bytes),
		cmocka_unit_test(print_longer_than_the_spare_room_is_whole),
		cmocka_unit_test(cap_is_reached_but_not_passed),
		cmocka_unit_test(print_over_the_cap_leaves_nothing_behind),
		cmocka_unit_test(absurd_length_is_refused),
		cmocka_unit_test(reserved_room_is_filled_by_the_caller),
		cmocka_unit_test(taken_empty_buffer_is_an_empty_string),
		cmocka_unit_test(failed_allocation_sticks_and_loses_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
