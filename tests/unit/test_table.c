/* Text in cells, and tables of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "cli/table.h"

static void characters_have_a_width(void **state)
{
	assert_int_equal(cells_of(""), 0);
	assert_int_equal(cells_of("main"), 4);
	assert_int_equal(cells_of("na\xc3\xafve"), 5);             /* ï */
	assert_int_equal(cells_of("e\xcc\x81"), 1);                /* e and an accent above it */
	assert_int_equal(cells_of("\xe6\xbc\xa2\xe5\xad\x97"), 4); /* two of East Asia */
	assert_int_equal(cells_of("\x1b[31m"), 5);                 /* no escape gets through */
	assert_int_equal(cells_of("\xff"), 1);
}

static void put(char *out, const char *text, unsigned cells, enum align align)
{
	AUTO(buf_done) struct buf b = BUF_INIT;

	cells_put(&b, text, cells, align);
	strcpy(out, b.data ? b.data : "");
}

static void text_is_padded_and_cut(void **state)
{
	char out[64];

	put(out, "main", 6, ALIGN_LEFT);
	assert_string_equal(out, "main  ");
	put(out, "main", 6, ALIGN_RIGHT);
	assert_string_equal(out, "  main");
	put(out, "main", 4, ALIGN_LEFT);
	assert_string_equal(out, "main");
	put(out, "main", 3, ALIGN_LEFT);
	assert_string_equal(out, "ma~");
	put(out, "main", 0, ALIGN_LEFT);
	assert_string_equal(out, "");
	put(out, "\xe6\xbc\xa2\xe5\xad\x97", 3, ALIGN_LEFT); /* what is two wide is never halved */
	assert_string_equal(out, "\xe6\xbc\xa2~");
	put(out, "\xe6\xbc\xa2\xe5\xad\x97", 2, ALIGN_LEFT);
	assert_string_equal(out, "~ ");
	put(out,
		"a\x1b"
		"b",
		5, ALIGN_LEFT);
	assert_string_equal(out,
		"a\xef\xbf\xbd"
		"b  ");
}

static struct table people(void)
{
	struct table t = {0};

	table_column(&t, "N", ALIGN_RIGHT, 3);
	table_column_of_names(&t, "Function", 0);
	table_column_of_names(&t, "Module", 0);
	table_cell(&t, STYLE_PLAIN, "%d", 7);
	table_cell(&t, STYLE_RED, "%s", "a_rather_long_name");
	table_cell(&t, STYLE_PLAIN, "%s", "libc.so.6");
	table_cell(&t, STYLE_PLAIN, "%d", 12345);
	table_cell(&t, STYLE_PLAIN, "%s", "main");
	table_cell(&t, STYLE_PLAIN, "%s", "");
	return t;
}

static void columns_are_as_wide_as_needed(void **state)
{
	AUTO(table_done) struct table t = people();
	AUTO(buf_done) struct buf b = BUF_INIT;

	table_write(&t, 0, false, &b);
	assert_string_equal(b.data,
		"    N  Function            Module\n"
		"    7  a_rather_long_name  libc.so.6\n"
		"12345  main                \n");
}

static void names_give_way(void **state)
{
	AUTO(table_done) struct table t = people();

	for (unsigned width = 1; width < 60; width++) {
		AUTO(buf_done) struct buf b = BUF_INIT;
		char *line, *next = NULL;

		table_write(&t, width, false, &b);
		for (line = strtok_r(b.data, "\n", &next); line; line = strtok_r(NULL, "\n", &next))
			assert_true(cells_of(line) <= width);
	}
}

static void numbers_stay_when_names_are_cut(void **state)
{
	AUTO(table_done) struct table t = people();
	AUTO(buf_done) struct buf b = BUF_INIT;

	table_write(&t, 27, false, &b);
	assert_non_null(strstr(b.data, "\n12345  main"));
	assert_non_null(strstr(b.data, "\n    7  a_rathe"));
	assert_non_null(strstr(b.data, "libc.so"));
}

static void colours_only_when_asked_for(void **state)
{
	AUTO(table_done) struct table t = people();
	AUTO(buf_done) struct buf with = BUF_INIT, without = BUF_INIT;

	table_write(&t, 0, true, &with);
	table_write(&t, 0, false, &without);
	assert_non_null(strstr(with.data, "\033[31ma_rather_long_name\033[0m"));
	assert_null(strchr(without.data, '\033'));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(characters_have_a_width),
		cmocka_unit_test(text_is_padded_and_cut),
		cmocka_unit_test(columns_are_as_wide_as_needed),
		cmocka_unit_test(names_give_way),
		cmocka_unit_test(numbers_stay_when_names_are_cut),
		cmocka_unit_test(colours_only_when_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
