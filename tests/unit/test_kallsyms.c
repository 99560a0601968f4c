/* The kernel's symbols, from text. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include "daemon/symbol/kallsyms.h"

static struct kallsyms *parse(const char *text)
{
	struct kallsyms *k;

	assert_int_equal(kallsyms_parse(text, strlen(text), &k), 0);
	return k;
}

static const char *at(const struct kallsyms *k, uint64_t addr)
{
	uint64_t start;
	const char *name = kallsyms_find(k, addr, &start);

	assert_true(!name || start <= addr);
	return name ? name : "";
}

static void functions_end_at_the_next_symbol(void **state)
{
	struct kallsyms *k = parse("ffffffff81000200 t second\n"
				   "ffffffff81000000 T first\n"
				   "ffffffff81000300 D some_data\n"
				   "ffffffff81000400 W third\n"
				   "ffffffff81000500 T _etext\n"
				   "ffffffff83000000 T far_away\n");

	assert_false(kallsyms_hidden(k));
	assert_string_equal(at(k, 0xffffffff80ffffff), "");
	assert_string_equal(at(k, 0xffffffff81000000), "first");
	assert_string_equal(at(k, 0xffffffff810001ff), "first");
	assert_string_equal(at(k, 0xffffffff81000200), "second");
	assert_string_equal(at(k, 0xffffffff81000300), "");
	assert_string_equal(at(k, 0xffffffff810003ff), "");
	assert_string_equal(at(k, 0xffffffff81000450), "third");
	assert_string_equal(at(k, 0xffffffff81000500), "");
	assert_string_equal(at(k, 0xffffffff82000000), "");
	assert_string_equal(at(k, 0xffffffff83000010), "far_away");
	assert_string_equal(at(k, 0xffffffff83010000), ""); /* the last does not own all there is */
	kallsyms_unref(k);
}

static void modules_do_not_reach_into_each_other(void **state)
{
	struct kallsyms *k = parse("ffffffff81000000 T core\n"
				   "ffffffffc0001000 t one_fn\t[one]\n"
				   "ffffffffc0001100 t one_last\t[one]\n"
				   "ffffffffc0801000 t two_fn\t[two]\n"
				   "ffffffffc0900000 t bpf_prog_0123456789abcdef_x\t[bpf]\n"
				   "ffffffffc0910000 t bpf_prog_far\t[bpf]\n");

	assert_string_equal(at(k, 0xffffffffc0001050), "one_fn");
	assert_string_equal(at(k, 0xffffffffc0001200), "one_last");
	assert_string_equal(at(k, 0xffffffffc0400000), "");
	assert_string_equal(at(k, 0xffffffffc0801000), "two_fn");
	assert_string_equal(at(k, 0xffffffffc0900800), "bpf_prog_0123456789abcdef_x");
	assert_string_equal(at(k, 0xffffffffb0000000), "");
	kallsyms_unref(k);
}

static void one_name_of_many(void **state)
{
	struct kallsyms *k = parse("ffffffff81000000 T _stext\n"
				   "ffffffff81000000 t local_name\n"
				   "ffffffff81000000 T __do_it\n"
				   "ffffffff81000000 T do_it\n"
				   "ffffffff81000000 T __entry_text_start\n");

	assert_string_equal(at(k, 0xffffffff81000000), "do_it");
	kallsyms_unref(k);
}

static void zeros_name_nothing(void **state)
{
	struct kallsyms *k = parse("0000000000000000 T one\n0000000000000000 t two\n");

	assert_true(kallsyms_hidden(k));
	assert_string_equal(at(k, 0), "");
	assert_string_equal(at(k, 0xffffffff81000000), "");
	kallsyms_unref(k);
	k = parse("");
	assert_true(kallsyms_hidden(k));
	assert_string_equal(at(k, 1), "");
	kallsyms_unref(k);
	/* Some symbols are zero on any machine. */
	k = parse("0000000000000000 A fixed_percpu_data\nffffffff81000000 T one\n");
	assert_false(kallsyms_hidden(k));
	assert_string_equal(at(k, 0xffffffff81000000), "one");
	assert_string_equal(at(k, 0x10), "");
	kallsyms_unref(k);
}

static void lines_of_another_form(void **state)
{
	struct kallsyms *k = parse("\n \nxyz T bad\nffffffff81000000\nffffffff81000000 T\n"
				   "ffffffff81000000 T \nffffffff81000000Tname\n"
				   "ffffffff81000000 TT name\n"
				   "fffffffff81000000f T too_long\n"
				   "ffffffff81000000 T good\nffffffff81000100 T half_a_li");

	assert_int_equal(kallsyms_count(k), 1);
	assert_string_equal(at(k, 0xffffffff81000000), "good");
	kallsyms_unref(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_end_at_the_next_symbol),
		cmocka_unit_test(modules_do_not_reach_into_each_other),
		cmocka_unit_test(one_name_of_many),
		cmocka_unit_test(zeros_name_nothing),
		cmocka_unit_test(lines_of_another_form),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
