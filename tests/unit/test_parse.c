#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/parse.h"

#define UNTOUCHED 424242

static void decimal_numbers(void **state)
{
	static const struct {
		const char *text;
		uint64_t max, value;
		int r;
	} cases[] = {
		{"0", UINT64_MAX, 0, 0},
		{"007", 7, 7, 0},
		{"18446744073709551615", UINT64_MAX, UINT64_MAX, 0},
		{"18446744073709551616", UINT64_MAX, UNTOUCHED, -ERANGE},
		{"99999999999999999999999", UINT64_MAX, UNTOUCHED, -ERANGE},
		{"8", 7, UNTOUCHED, -ERANGE},
		{"", 7, UNTOUCHED, -EINVAL},
		{"-1", 7, UNTOUCHED, -EINVAL},
		{"+1", 7, UNTOUCHED, -EINVAL},
		{" 1", 7, UNTOUCHED, -EINVAL},
		{"1 ", 7, UNTOUCHED, -EINVAL},
		{"0x1", 7, UNTOUCHED, -EINVAL},
		{"99999999999999999999999x", 7, UNTOUCHED, -EINVAL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t value = UNTOUCHED;

		assert_int_equal(parse_u64(cases[i].text, cases[i].max, &value), cases[i].r);
		assert_true(value == cases[i].value);
	}
}

static void hex_numbers(void **state)
{
	uint64_t value = UNTOUCHED;

	(void)state;
	assert_int_equal(parse_hex("7fffDEADbeef-", 12, &value), 0);
	assert_true(value == 0x7fffdeadbeef);
	assert_int_equal(parse_hex("0000ffffffffffffffff", 20, &value), 0);
	assert_true(value == UINT64_MAX);
	value = UNTOUCHED;
	assert_int_equal(parse_hex("10000000000000000", 17, &value), -ERANGE);
	assert_int_equal(parse_hex("", 0, &value), -EINVAL);
	assert_int_equal(parse_hex("0x1", 3, &value), -EINVAL);
	assert_int_equal(parse_hex("g", 1, &value), -EINVAL);
	assert_int_equal(parse_hex("10000000000000000g", 18, &value), -EINVAL);
	assert_int_equal(value, UNTOUCHED);
}

static void words_for_true_and_false(void **state)
{
	static const char *const yes[] = {"yes", "true", "on", "1", "TRUE"};
	static const char *const no[] = {"no", "false", "off", "0", "No"};
	bool value;

	(void)state;
	for (int i = 0; i < 5; i++) {
		value = false;
		assert_int_equal(parse_bool(yes[i], &value), 0);
		assert_true(value);
		assert_int_equal(parse_bool(no[i], &value), 0);
		assert_false(value);
	}
	assert_int_equal(parse_bool("", &value), -EINVAL);
	assert_int_equal(parse_bool("2", &value), -EINVAL);
	assert_int_equal(parse_bool("yes ", &value), -EINVAL);
}

static void durations(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
		int r;
	} cases[] = {
		{"90", 90000000000, 0},
		{"90s", 90000000000, 0},
		{"1500ms", 1500000000, 0},
		{"2m", 120000000000, 0},
		{"1h", 3600000000000, 0},
		{"7d", 604800000000000, 0},
		{"0.5s", 500000000, 0},
		{"1.25m", 75000000000, 0},
		{"0.0000000019", 1, 0},
		{"0.333333333h", 1199999998800, 0},
		{"0", 0, 0},
		{"18446744073s", 18446744073000000000u, 0},
		{"18446744073.709551616s", UNTOUCHED, -ERANGE},
		{"18446744074s", UNTOUCHED, -ERANGE},
		{"99999999999999999999999h", UNTOUCHED, -ERANGE},
		{"", UNTOUCHED, -EINVAL},
		{"s", UNTOUCHED, -EINVAL},
		{".5s", UNTOUCHED, -EINVAL},
		{"1.s", UNTOUCHED, -EINVAL},
		{"1.5.5s", UNTOUCHED, -EINVAL},
		{"-1s", UNTOUCHED, -EINVAL},
		{"1 s", UNTOUCHED, -EINVAL},
		{"1S", UNTOUCHED, -EINVAL},
		{"1sec", UNTOUCHED, -EINVAL},
		{"inf", UNTOUCHED, -EINVAL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t ns = UNTOUCHED;

		if (parse_duration_ns(cases[i].text, &ns) != cases[i].r || ns != cases[i].ns)
			fail_msg("\"%s\" gives %llu", cases[i].text, (unsigned long long)ns);
	}
}

static void sizes_in_bytes(void **state)
{
	uint64_t value = UNTOUCHED;

	(void)state;
	assert_int_equal(parse_bytes("512", &value), 0);
	assert_int_equal(value, 512);
	assert_int_equal(parse_bytes("64k", &value), 0);
	assert_int_equal(value, 65536);
	assert_int_equal(parse_bytes("128M", &value), 0);
	assert_int_equal(value, 134217728);
	assert_int_equal(parse_bytes("17179869183G", &value), 0);
	assert_true(value == 17179869183u * (1ull << 30));
	value = UNTOUCHED;
	assert_int_equal(parse_bytes("17179869184G", &value), -ERANGE);
	assert_int_equal(parse_bytes("18446744073709551616", &value), -ERANGE);
	assert_int_equal(parse_bytes("1kB", &value), -EINVAL);
	assert_int_equal(parse_bytes("1kk", &value), -EINVAL);
	assert_int_equal(parse_bytes("k", &value), -EINVAL);
	assert_int_equal(parse_bytes("1.5k", &value), -EINVAL);
	assert_int_equal(parse_bytes("-1", &value), -EINVAL);
	assert_int_equal(value, UNTOUCHED);
}

struct cpus {
	unsigned seen[16];
	size_t count;
	int answer;
};

static int note_cpu(unsigned cpu, void *arg)
{
	struct cpus *c = arg;

	if (c->count < 16)
		c->seen[c->count] = cpu;
	c->count++;
	return c->answer;
}

static void cpu_lists(void **state)
{
	static const unsigned expected[] = {0, 1, 2, 3, 5, 8, 9};
	static const char *const bad[] = {
		"", "\n", ",", "1,", ",1", "3-1", "1-", "-1", "1-2-3", "a", "1 2", "1\n\n", "0,x"};
	struct cpus c = {.count = 0};

	(void)state;
	assert_int_equal(parse_cpu_list("0-3,5,8-9\n", note_cpu, &c), 0);
	assert_int_equal(c.count, 7);
	assert_memory_equal(c.seen, expected, sizeof(expected));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(parse_cpu_list(bad[i], note_cpu, &c), -EINVAL);
	assert_int_equal(parse_cpu_list("65536", note_cpu, &c), -ERANGE);
	assert_int_equal(parse_cpu_list("0-99999999999999999999", note_cpu, &c), -ERANGE);
	c = (struct cpus){.answer = -EMFILE};
	assert_int_equal(parse_cpu_list("4-7", note_cpu, &c), -EMFILE);
	assert_int_equal(c.count, 1);
}

#define BAD "\xef\xbf\xbd"

static void text_becomes_valid_utf8(void **state)
{
	static const struct {
		const char *in;
		size_t len;
		const char *out;
	} cases[] = {
		{"plain", 5, "plain"}, {"", 0, ""},
		{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
		{"a\xff"
		 "b",
			3, "a" BAD "b"},
		{"\xc3", 1, BAD}, {"\xe2\x82", 2, BAD BAD},
		{"\xc0\x80", 2, BAD BAD},                 /* overlong NUL */
		{"\xe0\x80\xaf", 3, BAD BAD BAD},         /* overlong slash */
		{"\xed\xa0\x80", 3, BAD BAD BAD},         /* surrogate */
		{"\xf4\x90\x80\x80", 4, BAD BAD BAD BAD}, /* past U+10FFFF */
		{"x\n\t\x1b\x7f", 5, "x" BAD BAD BAD BAD}, {"a\0b", 3, "a" BAD "b"},
		{"\xc2\x9b"
		 "2J",
			4, BAD "2J"}, /* C1: a terminal reads it as ESC [ */
	};
	char out[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t n = text_utf8(cases[i].in, cases[i].len, out, sizeof(out));

		assert_string_equal(out, cases[i].out);
		assert_int_equal(n, strlen(cases[i].out));
		assert_true(text_is_utf8(out, n));
	}
}

static void characters_are_never_cut_in_half(void **state)
{
	static const char text[] = "a\xe2\x82\xac\xff";
	static const size_t expected[] = {0, 0, 1, 1, 1, 4, 4, 4, 7};
	char out[16];

	(void)state;
	for (size_t room = 0; room < 9; room++) {
		memset(out, '#', sizeof(out));
		assert_int_equal(text_utf8(text, 5, out, room), expected[room]);
		if (room > 0)
			assert_int_equal(out[expected[room]], 0);
		assert_int_equal(out[room], '#');
	}
}

static void validity_is_told(void **state)
{
	(void)state;
	assert_true(text_is_utf8("", 0));
	assert_true(text_is_utf8("a\n\xc3\xa9", 4));
	assert_false(text_is_utf8("a\xc3", 2));
	assert_false(text_is_utf8("\x80", 1));
	assert_false(text_is_utf8("\xed\xbf\xbf", 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decimal_numbers),
		cmocka_unit_test(hex_numbers),
		cmocka_unit_test(words_for_true_and_false),
		cmocka_unit_test(durations),
		cmocka_unit_test(sizes_in_bytes),
		cmocka_unit_test(cpu_lists),
		cmocka_unit_test(text_becomes_valid_utf8),
		cmocka_unit_test(characters_are_never_cut_in_half),
		cmocka_unit_test(validity_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
