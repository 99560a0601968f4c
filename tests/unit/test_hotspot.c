#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/hotspot.h"

#define STATUS(state, ns, caught)                                                              \
	"Name:\tja\\nUid:\t9\t9\nState:\t" state "\nUid:\t1\t22\t3\t4\nGid:\t5\t66\t7\t8\n" ns \
	"SigIgn:\t0000000000000004\nSigCgt:\t" caught "\n"

static void status_is_read(void **state)
{
	struct hotspot_status s = {0};

	(void)state;
	assert_int_equal(
		hotspot_parse_status(
			STATUS("S (sleeping)", "NSpid:\t4711\t12\t3\n", "0000000181005ccf"), &s),
		0);
	assert_int_equal(s.uid, 22);
	assert_int_equal(s.gid, 66);
	assert_int_equal(s.ns_pid, 3);
	assert_true(s.takes_quit);
	assert_false(s.ended);
}

static void ignored_signal_is_not_taken(void **state)
{
	struct hotspot_status s = {0};

	(void)state;
	assert_int_equal(hotspot_parse_status(
				 STATUS("Z (zombie)", "NSpid:\t4711\n", "0000000181005ccb"), &s),
		0);
	assert_false(s.takes_quit);
	assert_true(s.ended);
}

static void half_a_status_is_none(void **state)
{
	struct hotspot_status s = {0};

	(void)state;
	assert_int_equal(hotspot_parse_status("", &s), -EINVAL);
	assert_int_equal(hotspot_parse_status(STATUS("S", "", "4"), &s), -EINVAL);
	assert_int_equal(hotspot_parse_status(STATUS("S", "NSpid:\t\n", "4"), &s), -EINVAL);
	assert_int_equal(hotspot_parse_status(STATUS("S", "NSpid:\t1\n", "x"), &s), -EINVAL);
}

#define CODE "7f00-7f10 r-xp 00001000 fd:00 12   "
#define DATA "7f10-7f20 r--p 00001000 fd:00 12   "

static void library_with_code_is_found(void **state)
{
	static const char maps[] =
		DATA "/a/libjvm.so\n" CODE "/a/libjvm.so.1\n" CODE
		     "/a/notlibjvm.so\n7f00-7f10 r-xp 0 0:0 0\n" CODE "/a b/libjvm.so\n";
	const char *line, *path;

	(void)state;
	assert_true(hotspot_find_library(maps, &line, &path));
	assert_string_equal(path, "/a b/libjvm.so\n");
	assert_string_equal(line, CODE "/a b/libjvm.so\n");
	assert_true(hotspot_find_library(CODE "/x/libjvm.so (deleted)", &line, &path));
	assert_string_equal(path, "/x/libjvm.so (deleted)");
}

static void other_libraries_are_none(void **state)
{
	const char *line, *path;

	(void)state;
	assert_false(hotspot_find_library("", &line, &path));
	assert_false(hotspot_find_library("\n\n", &line, &path));
	assert_false(hotspot_find_library(DATA "/a/libjvm.so\n", &line, &path));
	assert_false(hotspot_find_library(CODE "/a/libjvm.so/b\n", &line, &path));
	assert_false(hotspot_find_library(CODE " (deleted)\n", &line, &path));
}

static int answer(const char *text, const char *sentence)
{
	struct buf why = BUF_INIT;
	int r = hotspot_parse_answer(text, &why);

	if (sentence)
		assert_non_null(strstr(why.data, sentence));
	else
		assert_int_equal(why.len, 0);
	buf_done(&why);
	return r;
}

static void answers_are_understood(void **state)
{
	(void)state;
	assert_int_equal(answer("0\n", NULL), 0);
	assert_int_equal(answer("0\nCommand executed\n", NULL), 0);
	assert_int_equal(answer("1\nx: Unknown diagnostic command\n", "OpenJDK 17"), -ENOTSUP);
	assert_int_equal(answer("101\nbad version", "refuses: bad version"), -EPROTO);
	assert_int_equal(answer("1", "refuses"), -EPROTO);
	assert_int_equal(answer("", "no sense"), -EPROTO);
	assert_int_equal(answer("0x\n", "no sense"), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(status_is_read),
		cmocka_unit_test(ignored_signal_is_not_taken),
		cmocka_unit_test(half_a_status_is_none),
		cmocka_unit_test(library_with_code_is_found),
		cmocka_unit_test(other_libraries_are_none),
		cmocka_unit_test(answers_are_understood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
