/* Jitdump files: which code names an address at which time, lines, moves, and damage. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/io.h"
#include "daemon/cfi/table.h"
#include "daemon/symbol/jitdump.h"
#include "daemon/symbol/jitrules.h"
#include "tests/unit/jit_bytes.h"

#define S 1000000000ull

static struct jitdump *d;
static struct buf b;

static int setup(void **state)
{
	memset(&b, 0, sizeof(b));
	jit_header(&b, 7, 0);
	return jitdump_new(7, 10 * S, &d);
}

static int teardown(void **state)
{
	jitdump_unref(d);
	buf_done(&b);
	d = NULL;
	return 0;
}

static void feed(void)
{
	assert_int_equal(jitdump_feed(d, b.data, b.len, 100 * S), b.len);
	buf_clear(&b);
}

/* The name at addr at that time; "" for none. */
static const char *at(uint64_t addr, uint64_t t_ns)
{
	static char name[300];
	struct jithistory h;
	uint32_t i;

	assert_int_equal(jithistory_init(&h, &addr, 1), 0);
	assert_int_equal(jitdump_history(d, &h), 0);
	for (i = h.last[0]; i != JITHISTORY_NONE && h.codes[i].since_ns > t_ns;
		i = h.codes[i].before)
		;
	snprintf(
		name, sizeof(name), "%s", i == JITHISTORY_NONE ? "" : jitdump_name(d, &h.codes[i]));
	jithistory_done(&h);
	return name;
}

static const char *line_at(uint64_t addr)
{
	static char text[300];
	struct jithistory h;
	const char *file;
	uint32_t line;

	assert_int_equal(jithistory_init(&h, &addr, 1), 0);
	assert_int_equal(jitdump_history(d, &h), 0);
	assert_int_not_equal(h.last[0], JITHISTORY_NONE);
	jitdump_line(d, &h.codes[h.last[0]], addr, &file, &line);
	snprintf(text, sizeof(text), "%s:%u", file, line);
	jithistory_done(&h);
	return text;
}

static void loads_name_their_bytes(void **state)
{
	jit_load(&b, 20 * S, 0x1000, 0x40, 1, "first;fn <x>");
	jit_load(&b, 20 * S, 0x2000, 0x10, 2, "second");
	feed();
	assert_string_equal(at(0xfff, 30 * S), "");
	assert_string_equal(at(0x1000, 30 * S), "first;fn <x>");
	assert_string_equal(at(0x103f, 30 * S), "first;fn <x>");
	assert_string_equal(at(0x1040, 30 * S), "");
	assert_string_equal(at(0x2008, 30 * S), "second");
}

static void memory_used_anew_has_the_name_of_the_time(void **state)
{
	jit_load(&b, 20 * S, 0x1000, 0x40, 1, "old");
	jit_load(&b, 30 * S, 0x1020, 0x40, 2, "new");
	feed();
	assert_string_equal(at(0x1020, 29 * S), "old");
	assert_string_equal(at(0x1020, 30 * S), "new");
	assert_string_equal(at(0x1000, 40 * S), "old"); /* its head is still there */
	jit_load(&b, 40 * S, 0x1020, 0x40, 3, "newest");
	feed();
	assert_string_equal(at(0x1020, 39 * S), "new");
	assert_string_equal(at(0x1020, 41 * S), "newest");
}

static void order_is_that_of_time(void **state)
{
	jit_load(&b, 40 * S, 0x1000, 0x40, 2, "late");
	jit_load(&b, 20 * S, 0x1000, 0x40, 1, "early");
	feed();
	assert_string_equal(at(0x1000, 50 * S), "late");
	assert_string_equal(at(0x1000, 30 * S), "early");
}

static void moved_code_keeps_name_and_lines(void **state)
{
	static const struct jit_line lines[] = {{0x1000, 5, "a.js"}, {0x1010, 6, "\xff"}};

	jit_lines(&b, 20 * S, 0x1000, lines, 2);
	jit_load(&b, 20 * S, 0x1000, 0x20, 9, "wanderer");
	jit_move(&b, 30 * S, 0x1000, 0x5000, 0x20, 9);
	jit_load(&b, 31 * S, 0x1000, 0x20, 10, "settler");
	feed();
	assert_string_equal(at(0x5010, 40 * S), "wanderer");
	assert_string_equal(line_at(0x5014), "a.js:6");
	assert_string_equal(at(0x1000, 25 * S), "wanderer");
	assert_string_equal(at(0x1000, 40 * S), "settler");
}

static void lines_belong_to_the_next_load(void **state)
{
	static const struct jit_line lines[] = {
		{0x1010, 12, "b.js"}, {0x1000, 11, "a.js"}, {0x1018, 13, "\xff"}};

	jit_lines(&b, 20 * S, 0x1000, lines, 3);
	jit_load(&b, 20 * S, 0x1000, 0x20, 1, "with");
	jit_load(&b, 20 * S, 0x2000, 0x20, 2, "without");
	feed();
	assert_string_equal(line_at(0x100f), "a.js:11");
	assert_string_equal(line_at(0x1010), "b.js:12");
	assert_string_equal(line_at(0x101f), "a.js:13");
	assert_string_equal(line_at(0x2000), ":0");
	/* Lines of other code are not taken for those of what comes next. */
	jit_lines(&b, 20 * S, 0x1000, lines, 3);
	jit_load(&b, 20 * S, 0x3000, 0x20, 3, "other");
	feed();
	assert_string_equal(line_at(0x3000), ":0");
}

static void lines_of_v8(void **state)
{
	static const struct jit_line lines[] = {{0x1040, 1, "a.js"}, {0x1050, 2, "a.js"}},
				     junk[] = {{0x2000, 5, "\xde\x44\x31"}, {0x2004, 6, "\xff"},
					     {0x2008, 7, "b.js"}};

	jit_lines(&b, 20 * S, 0x1000, lines, 2);
	jit_load(&b, 20 * S, 0x1000, 0x20, 1, "one");
	jit_lines(&b, 20 * S, 0x2000, junk, 3);
	jit_load(&b, 20 * S, 0x2000, 0x20, 2, "two");
	feed();
	assert_string_equal(line_at(0x100f), "a.js:1");
	assert_string_equal(line_at(0x1010), "a.js:2");
	assert_string_equal(line_at(0x2000), ":0");
	assert_string_equal(line_at(0x2004), ":0");
	assert_string_equal(line_at(0x2009), "b.js:7");
}

static void another_clock_leaves_the_order_of_the_file(void **state)
{
	struct jitdump_stats s;

	jit_load(&b, 5000 * S, 0x1000, 0x20, 1, "one"); /* cycles, say */
	jit_load(&b, 4000 * S, 0x1000, 0x20, 2, "two");
	feed();
	jitdump_get_stats(d, &s);
	assert_true(s.timeless);
	assert_string_equal(at(0x1000, 20 * S), "two");
}

/* The header may say what it likes. */
static void a_wrong_flag_is_no_other_clock(void **state)
{
	struct jitdump_stats s;

	buf_clear(&b);
	jit_header(&b, 7, 1);
	jit_load(&b, 20 * S, 0x1000, 0x20, 1, "one");
	feed();
	jitdump_get_stats(d, &s);
	assert_false(s.timeless);
	assert_string_equal(at(0x1000, 20 * S), "one");
}

static void times_before_the_process_are_those_of_its_parent(void **state)
{
	struct jitdump_stats s;

	jit_load(&b, 1 * S, 0x1000, 0x20, 1, "one");
	feed();
	jitdump_get_stats(d, &s);
	assert_true(s.timeless);
	jitdump_unref(d);
	assert_int_equal(jitdump_new(8, 10 * S, &d), 0); /* a fork of process 7 */
	jit_header(&b, 7, 0);
	jit_load(&b, 1 * S, 0x1000, 0x20, 1, "one");
	feed();
	jitdump_get_stats(d, &s);
	assert_false(s.timeless);
}

static void damage_is_passed_over_or_ends_it(void **state)
{
	struct jitdump_stats s;

	jit_load(&b, 20 * S, 0x1000, 0, 1, "empty");
	jit_load(&b, 20 * S, UINT64_MAX - 8, 0x20, 1, "overflows");
	jit_load(&b, 20 * S, 0x1000, 0x20, 1, "");
	jit_move(&b, 20 * S, 0x1000, 0x2000, 0x20, 77);
	jit_prefix(&b, 0, 8, 20 * S);
	jit_u64(&b, 0);
	jit_prefix(&b, 99, 4, 20 * S);
	jit_u32(&b, 0);
	jit_load(&b, 20 * S, 0x4000, 0x20, 1, "good");
	feed();
	jitdump_get_stats(d, &s);
	assert_int_equal(s.junk, 5);
	assert_string_equal(at(0x4000, 20 * S), "good");
	jit_u64(&b, 0); /* a record of no bytes */
	jit_u64(&b, 0);
	assert_int_equal(jitdump_feed(d, b.data, b.len, 100 * S), -EBADMSG);
	assert_string_equal(at(0x4000, 20 * S), "good");
}

static void other_files_are_refused(void **state)
{
	static const uint8_t other[40] = "\177ELF";
	struct jitdump *x;

	assert_int_equal(jitdump_feed(d, other, sizeof(other), 100 * S), -EBADMSG);
	assert_int_equal(jitdump_new(7, 10 * S, &x), 0);
	b.data[0] = 0x4A;
	b.data[1] = 0x69;
	b.data[2] = 0x54;
	b.data[3] = 0x44;
	assert_int_equal(jitdump_feed(x, b.data, b.len, 100 * S), -ENOTSUP);
	jitdump_unref(x);
}

/* A file that grows by single bytes, with code longer than what is read at once. */
static void files_are_read_as_they_grow(void **state)
{
	AUTO(close_auto) int fd = memfd_create("dump", MFD_CLOEXEC);

	jit_load(&b, 20 * S, 0x1000, 3 * JITDUMP_RECORD_MAX, 1, "huge");
	jit_load(&b, 20 * S, 0x8000000, 0x20, 2, "after");
	jitdump_unref(d);
	assert_int_equal(jitdump_new(7, 0, &d), 0);
	for (size_t i = 0; i < b.len; i++) {
		if (i > 150 && i < b.len - 150)
			continue;
		assert_int_equal(pwrite(fd, b.data + i, 1, (off_t)i), 1);
		assert_int_equal(jitdump_read(d, fd), 0);
		if (i == b.len - 33)
			assert_string_equal(at(0x8000000, UINT64_MAX), "");
	}
	assert_string_equal(at(0x1000 + JITDUMP_RECORD_MAX, UINT64_MAX), "huge");
	assert_string_equal(at(0x8000000, UINT64_MAX), "after");
}

static void one_address_has_no_endless_history(void **state)
{
	char name[16];

	for (unsigned i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "fn%u", i);
		jit_load(&b, 20 * S + i, 0x1000, 0x20, i, name);
	}
	feed();
	assert_string_equal(at(0x1000, 30 * S), "fn999");
	assert_string_equal(at(0x1000, 20 * S), "fn0");
}

/* ---- unwind rules ---- */

static struct jitrules *rules;

static void read_rules(void)
{
	jitrules_unref(rules);
	rules = NULL;
	feed();
	assert_int_equal(jitdump_rules(d, &rules), 0);
}

static void let_go_of_rules(void)
{
	jitrules_unref(rules);
	rules = NULL;
}

static void has_rule(uint64_t addr, uint64_t t_ns, uint32_t words, uint32_t bp_words)
{
	assert_int_equal(jitrules_find(rules, addr, t_ns), cfi_code(CFI_BY_SP, words, bp_words));
}

static void has_rules_at(uint64_t start, uint64_t t_ns)
{
	assert_int_equal(jitrules_find(rules, start - 1, t_ns), CFI_NONE);
	has_rule(start, t_ns, 1, 0);
	has_rule(start + 1, t_ns, 2, 2);
	has_rule(start + 6, t_ns, 2, 2);
	has_rule(start + 7, t_ns, 7, 2);
	has_rule(start + 19, t_ns, 7, 2);
	has_rule(start + 20, t_ns, 2, 2);
	has_rule(start + 21, t_ns, 1, 0);
	assert_int_equal(jitrules_find(rules, start + 22, t_ns), CFI_NONE);
}

static void rules_are_for_the_code_that_follows(void **state)
{
	struct jitrules *again;

	jit_load(&b, 20 * S, 0x5000, 22, 1, "without");
	feed();
	assert_int_equal(jitdump_rules(d, &rules), -ENOENT);
	jit_unwinding(&b, 21 * S, jit_eh_frame, sizeof(jit_eh_frame), 20);
	jit_load(&b, 21 * S, 0x10000, 22, 2, "with");
	jit_load(&b, 22 * S, 0x20000, 22, 3, "without");
	read_rules();
	has_rules_at(0x10000, 30 * S);
	assert_int_equal(jitrules_find(rules, 0x5001, 30 * S), CFI_NONE);
	assert_int_equal(jitrules_find(rules, 0x20001, 30 * S), CFI_NONE);
	/* Nobody knows what was there before. */
	assert_int_equal(jitrules_find(rules, 0x10001, 21 * S - 1), CFI_NONE);
	assert_int_equal(jitdump_rules(d, &again), 0);
	assert_ptr_equal(again, rules);
	jitrules_unref(again);
	let_go_of_rules();
}

static void moved_code_takes_its_rules_along(void **state)
{
	jit_unwinding(&b, 20 * S, jit_eh_frame, sizeof(jit_eh_frame), 0);
	jit_load(&b, 20 * S, 0x10000, 22, 1, "moving");
	jit_move(&b, 30 * S, 0x10000, 0x30000, 22, 1);
	read_rules();
	has_rules_at(0x30000, 31 * S);
	assert_int_equal(jitrules_find(rules, 0x30001, 29 * S), CFI_NONE);
	let_go_of_rules();
}

static void memory_used_anew_has_the_rules_of_its_last_code(void **state)
{
	jit_unwinding(&b, 20 * S, jit_eh_frame, sizeof(jit_eh_frame), 0);
	jit_load(&b, 20 * S, 0x10000, 22, 1, "first");
	read_rules();
	has_rules_at(0x10000, 25 * S);
	jit_load(&b, 30 * S, 0x10010, 22, 2, "over_its_end");
	read_rules();
	has_rule(0x10007, 35 * S, 7, 2);
	assert_int_equal(jitrules_find(rules, 0x10010, 35 * S), CFI_NONE);
	jit_unwinding(&b, 40 * S, jit_eh_frame, sizeof(jit_eh_frame), 0);
	jit_load(&b, 40 * S, 0x10008, 22, 3, "over_both");
	read_rules();
	has_rule(0x10007, 45 * S, 7, 2);
	has_rule(0x10008, 45 * S, 1, 0);
	has_rule(0x1000f, 45 * S, 7, 2);
	assert_int_equal(jitrules_find(rules, 0x1000f, 35 * S), CFI_NONE);
	/* Out of its order in the file: somewhere in between, who knows. */
	jit_unwinding(&b, 39 * S, jit_eh_frame, sizeof(jit_eh_frame), 0);
	jit_load(&b, 39 * S, 0x10008, 22, 4, "late");
	read_rules();
	assert_int_equal(jitrules_find(rules, 0x1000f, 45 * S), CFI_NONE);
	let_go_of_rules();
}

static void without_times_memory_used_anew_has_no_rules(void **state)
{
	jit_unwinding(&b, 20 * S, jit_eh_frame, sizeof(jit_eh_frame), 0);
	jit_load(&b, 20 * S, 0x10000, 22, 1, "first");
	jit_unwinding(&b, 21 * S, jit_eh_frame, sizeof(jit_eh_frame), 0);
	jit_load(&b, 21 * S, 0x10010, 22, 2, "second");
	read_rules();
	has_rule(0x10010, 25 * S, 1, 0);
	jit_unwinding(&b, 5000 * S, jit_eh_frame, sizeof(jit_eh_frame), 0);
	jit_load(&b, 5000 * S, 0x40000, 22, 3, "of_another_clock");
	read_rules();
	has_rules_at(0x40000, 1);
	has_rule(0x10007, 1, 7, 2);
	assert_int_equal(jitrules_find(rules, 0x10010, 25 * S), CFI_NONE);
	let_go_of_rules();
}

static void rules_of_what_could_not_be_read_are_nobody_elses(void **state)
{
	/* A load without a size, one without a name, and rules that are too long. */
	jit_unwinding(&b, 20 * S, jit_eh_frame, sizeof(jit_eh_frame), 0);
	jit_load(&b, 20 * S, 0x10000, 0, 1, "empty");
	jit_load(&b, 20 * S, 0x20000, 22, 2, "after_it");
	jit_unwinding(&b, 20 * S, jit_eh_frame, sizeof(jit_eh_frame), 0);
	jit_load(&b, 20 * S, 0x30000, 22, 3, "");
	jit_load(&b, 20 * S, 0x40000, 22, 4, "after_it");
	jit_unwinding(&b, 20 * S, jit_eh_frame, sizeof(jit_eh_frame), 0);
	jit_unwinding(&b, 20 * S, jit_eh_frame, sizeof(jit_eh_frame), JITDUMP_RECORD_MAX);
	jit_load(&b, 20 * S, 0x50000, 22, 5, "after_it");
	jit_unwinding(&b, 20 * S, jit_eh_frame, sizeof(jit_eh_frame), 0);
	jit_load(&b, 20 * S, 0x60000, 22, 6, "own");
	read_rules();
	for (uint64_t start = 0x10000; start < 0x60000; start += 0x10000)
		assert_int_equal(jitrules_find(rules, start + 1, 30 * S), CFI_NONE);
	has_rules_at(0x60000, 30 * S);
	let_go_of_rules();
}

static void damaged_unwind_records_do_no_harm(void **state)
{
	struct jitdump_stats stats;
	uint8_t bad[sizeof(jit_eh_frame)];

	/* Cut anywhere, and any byte another one. */
	for (unsigned i = 0; i < 2 * sizeof(bad); i++) {
		size_t len = i < sizeof(bad) ? i : sizeof(bad);

		memcpy(bad, jit_eh_frame, sizeof(bad));
		if (i >= sizeof(bad))
			bad[i - sizeof(bad)] ^= 0xff;
		jit_unwinding(&b, 20 * S, bad, len, 0);
		jit_load(&b, 20 * S, 0x10000 + 64 * i, 22, i, "damaged");
	}
	/* Another code's addresses, and sizes that are not those of the record. */
	jit_unwinding(&b, 20 * S, jit_eh_frame, sizeof(jit_eh_frame), 0);
	jit_load(&b, 20 * S, 0x20000, 21, 1000, "shorter");
	jit_prefix(&b, 4, 24, 20 * S);
	for (unsigned i = 0; i < 3; i++)
		jit_u64(&b, UINT64_MAX);
	jit_load(&b, 20 * S, 0x30000, 22, 1001, "impossible");
	jit_prefix(&b, 4, 24, 20 * S);
	jit_u64(&b, 0);
	jit_u64(&b, 1);
	jit_u64(&b, 0);
	jit_load(&b, 20 * S, 0x30100, 22, 1002, "impossible");
	jit_unwinding(&b, 20 * S, jit_eh_frame, sizeof(jit_eh_frame), 0);
	jit_load(&b, 20 * S, 0x40000, 22, 1003, "sound");
	read_rules();
	jitdump_get_stats(d, &stats);
	assert_int_equal(stats.junk, 2);
	has_rules_at(0x40000, 30 * S);
	for (uint64_t addr = 0x20000; addr < 0x40000; addr++)
		assert_int_equal(jitrules_find(rules, addr, 30 * S), CFI_NONE);
	for (uint64_t addr = 0x10000; addr < 0x20000; addr++)
		assert_true(cfi_code_kind(jitrules_find(rules, addr, 30 * S)) < CFI_KINDS);
	let_go_of_rules();
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(loads_name_their_bytes),
		TEST(memory_used_anew_has_the_name_of_the_time),
		TEST(order_is_that_of_time),
		TEST(moved_code_keeps_name_and_lines),
		TEST(lines_belong_to_the_next_load),
		TEST(lines_of_v8),
		TEST(another_clock_leaves_the_order_of_the_file),
		TEST(a_wrong_flag_is_no_other_clock),
		TEST(times_before_the_process_are_those_of_its_parent),
		TEST(damage_is_passed_over_or_ends_it),
		TEST(other_files_are_refused),
		TEST(files_are_read_as_they_grow),
		TEST(one_address_has_no_endless_history),
		TEST(rules_are_for_the_code_that_follows),
		TEST(moved_code_takes_its_rules_along),
		TEST(memory_used_anew_has_the_rules_of_its_last_code),
		TEST(without_times_memory_used_anew_has_no_rules),
		TEST(rules_of_what_could_not_be_read_are_nobody_elses),
		TEST(damaged_unwind_records_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
