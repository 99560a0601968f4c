#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "daemon/proc/maps.h"

#define SEEN_MAX 8

struct seen {
	struct maps_entry entries[SEEN_MAX];
	char paths[SEEN_MAX][8192];
	unsigned count, stop_at;
};

static int collect(const struct maps_entry *e, void *arg)
{
	struct seen *s = arg;

	assert_true(s->count < SEEN_MAX);
	s->entries[s->count] = *e;
	snprintf(s->paths[s->count], sizeof(s->paths[0]), "%s", e->path);
	s->count++;
	return s->count == s->stop_at ? 7 : 0;
}

static struct seen seen;

static size_t parse(const char *text)
{
	size_t bad = 99;

	memset(&seen, 0, sizeof(seen));
	assert_int_equal(maps_parse(text, strlen(text), collect, &seen, &bad), 0);
	return bad;
}

static void fields_of_a_file_mapping(void **state)
{
	assert_int_equal(
		parse("7f10a000-7f10b000 r-xp 00002000 fd:01 1234      /usr/lib/a b.so\n"), 0);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.entries[0].start, 0x7f10a000);
	assert_int_equal(seen.entries[0].end, 0x7f10b000);
	assert_int_equal(seen.entries[0].offset, 0x2000);
	assert_int_equal(seen.entries[0].dev, makedev(0xfd, 1));
	assert_int_equal(seen.entries[0].inode, 1234);
	assert_int_equal(seen.entries[0].prot, PROT_READ | PROT_EXEC);
	assert_string_equal(seen.paths[0], "/usr/lib/a b.so");
}

static void mappings_without_a_file(void **state)
{
	assert_int_equal(
		parse("1000-2000 rw-p 00000000 00:00 0 \n"
		      "3000-4000 --xs 00000000 00:00 0\n"
		      "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0   [vsyscall]\n"),
		0);
	assert_int_equal(seen.count, 3);
	assert_string_equal(seen.paths[0], "");
	assert_string_equal(seen.paths[1], "");
	assert_int_equal(seen.entries[1].prot, PROT_EXEC);
	assert_string_equal(seen.paths[2], "[vsyscall]");
	assert_int_equal(seen.entries[2].start, UINT64_C(0xffffffffff600000));
}

static void hostile_names_are_kept_as_they_are(void **state)
{
	assert_int_equal(parse("1000-2000 r-xp 0 08:01 5 /a\\012b\n"
			       "2000-3000 r-xp 0 08:01 5 /x (deleted)\n"
			       "3000-4000 r-xp 0 08:01 5 /semi;colon \xff\xfe  end\n"
			       "4000-5000 r-xp 0 08:01 5 /back\\slash\\01\n"),
		0);
	assert_int_equal(seen.count, 4);
	assert_string_equal(seen.paths[0], "/a\nb");
	assert_string_equal(seen.paths[1], "/x (deleted)");
	assert_string_equal(seen.paths[2], "/semi;colon \xff\xfe  end");
	assert_string_equal(seen.paths[3], "/back\\slash\\01");
}

static void the_kernels_mark_is_told_from_the_name(void **state)
{
	assert_int_equal(maps_undeleted_len("/x (deleted)"), 2);
	assert_int_equal(maps_undeleted_len("/x (deleted) (deleted)"), 12);
	assert_int_equal(maps_undeleted_len("/x"), 2);
	assert_int_equal(maps_undeleted_len(" (deleted)"), 10);
	assert_int_equal(maps_undeleted_len("/x (deleted)y"), 13);
	assert_int_equal(maps_undeleted_len(""), 0);
}

static void lines_that_do_not_parse_are_counted(void **state)
{
	static const char *const bad[] = {
		"",
		"junk",
		"1000-2000",
		"1000-2000 r-xp 0 08:01",
		"1000-2000 r-xp 0 08:01 5x /a",
		"1000-2000 r-xq 0 08:01 5 /a",
		"1000-2000 xxxp 0 08:01 5 /a",
		"2000-1000 r-xp 0 08:01 5 /a",
		"1000-1000 r-xp 0 08:01 5 /a",
		"10000000000000000-2000 r-xp 0 08:01 5 /a",
		"1000-2000 r-xp 0 100000000:01 5 /a",
		"1000-2000 r-xp 0 08:01 99999999999999999999 /a",
		" 1000-2000 r-xp 0 08:01 5 /a",
	};
	char text[256];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "%s\n1000-2000 r-xp 0 08:01 5 /good\n", bad[i]);
		assert_int_equal(parse(text), 1);
		assert_int_equal(seen.count, 1);
		assert_string_equal(seen.paths[0], "/good");
	}
}

static void a_cut_last_line_and_an_embedded_nul(void **state)
{
	static const char nul[] = "1000-2000 r-xp 0 08:01 5 /a\0b\n";
	size_t bad;

	assert_int_equal(parse("1000-2000 r-xp 0 08:01 5 /no-newline"), 0);
	assert_string_equal(seen.paths[0], "/no-newline");
	memset(&seen, 0, sizeof(seen));
	assert_int_equal(maps_parse(nul, sizeof(nul) - 1, collect, &seen, &bad), 0);
	assert_int_equal(bad, 1);
	assert_int_equal(maps_parse(NULL, 0, collect, &seen, NULL), 0);
}

static void a_path_beyond_all_measure_is_bad(void **state)
{
	static char text[20000];
	int len = snprintf(text, sizeof(text), "1000-2000 r-xp 0 08:01 5 /");

	memset(text + len, 'a', 8191 - 1);
	assert_int_equal(parse(text), 0);
	assert_int_equal(strlen(seen.paths[0]), 8191);
	memset(text + len, 'a', 8192 - 1);
	assert_int_equal(parse(text), 1);
	assert_int_equal(seen.count, 0);
}

static void the_callback_may_stop(void **state)
{
	static const char text[] = "1000-2000 r-xp 0 0:0 0\n2000-3000 r-xp 0 0:0 0\n"
				   "3000-4000 r-xp 0 0:0 0\n";

	memset(&seen, 0, sizeof(seen));
	seen.stop_at = 2;
	assert_int_equal(maps_parse(text, sizeof(text) - 1, collect, &seen, NULL), 7);
	assert_int_equal(seen.count, 2);
}

static int find_self(const struct maps_entry *e, void *arg)
{
	uint64_t here = (uint64_t)(uintptr_t)find_self;

	return e->start <= here && here < e->end && (e->prot & PROT_EXEC) && e->inode != 0;
}

static void our_own_maps_parse(void **state)
{
	AUTO(buf_done) struct buf text = BUF_INIT;
	size_t bad = 99;

	assert_int_equal(io_read_file("/proc/self/maps", 1 << 20, &text), 0);
	assert_int_equal(maps_parse(text.data, text.len, find_self, NULL, &bad), 1);
	assert_int_equal(bad, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_of_a_file_mapping),
		cmocka_unit_test(mappings_without_a_file),
		cmocka_unit_test(hostile_names_are_kept_as_they_are),
		cmocka_unit_test(the_kernels_mark_is_told_from_the_name),
		cmocka_unit_test(lines_that_do_not_parse_are_counted),
		cmocka_unit_test(a_cut_last_line_and_an_embedded_nul),
		cmocka_unit_test(a_path_beyond_all_measure_is_bad),
		cmocka_unit_test(the_callback_may_stop),
		cmocka_unit_test(our_own_maps_parse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
