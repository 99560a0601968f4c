/* Perf maps: which line names an address, and files that grow, shrink and change. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/buf.h"
#include "daemon/symbol/perfmap.h"
#include "daemon/symbol/segments.h"

static struct perfmap *m;

static int setup(void **state)
{
	return perfmap_new(&m);
}

static int teardown(void **state)
{
	perfmap_unref(m);
	m = NULL;
	return 0;
}

static void feed(const char *text)
{
	assert_int_equal(perfmap_feed(m, text, strlen(text)), strlen(text));
}

/* By the history: what stood there last, and how many. */
static const char *last(uint64_t addr, uint32_t *ret_depth)
{
	struct jithistory h;
	const char *name;

	assert_int_equal(jithistory_init(&h, &addr, 1), 0);
	assert_int_equal(perfmap_history(m, &h), 0);
	name = h.last[0] == JITHISTORY_NONE ? "" : perfmap_name(m, &h.codes[h.last[0]]);
	if (ret_depth)
		*ret_depth = jithistory_depth(&h, 0);
	jithistory_done(&h);
	return name;
}

static const char *at(uint64_t addr)
{
	uint64_t start;
	const char *name = perfmap_find(m, addr, &start);

	assert_true(!name || start <= addr);
	assert_string_equal(name ? name : "", last(addr, NULL));
	return name ? name : "";
}

static void names_hold_anything(void **state)
{
	feed("1000 10 plain\n"
	     "0x00002000 0x10 void H.burnJava(int, java.lang.String)\n"
	     "3000 10 JS:*odd;name <x> file.js:1:2\n"
	     "4000 10 \xc3\xa9\xff trailing \n"
	     "ffffffffffff0000 ff last\n");
	assert_string_equal(at(0x1000), "plain");
	assert_string_equal(at(0x100f), "plain");
	assert_string_equal(at(0x1010), "");
	assert_string_equal(at(0xfff), "");
	assert_string_equal(at(0x2008), "void H.burnJava(int, java.lang.String)");
	assert_string_equal(at(0x3008), "JS:*odd;name <x> file.js:1:2");
	assert_string_equal(at(0x4008), "\xc3\xa9\xff trailing ");
	assert_string_equal(at(0xffffffffffff0001), "last");
}

static void junk_is_passed_over(void **state)
{
	static const char *const junk[] = {"garbage line\n", "zz 10 x\n", "1000 10\n", "1000 10 \n",
		"\n", " \n", "1000\n", "1000 zz x\n", "-1000 10 x\n", "1000 0 nothing\n",
		"ffffffffffffffff 10 overflow\n", "0x 10 x\n", "10000000000000000 10 x\n"};
	struct perfmap_stats s;

	for (size_t i = 0; i < sizeof(junk) / sizeof(*junk); i++)
		feed(junk[i]);
	assert_int_equal(perfmap_feed(m, "1000 10 a\0b\n", 12), 12);
	perfmap_get_stats(m, &s);
	assert_int_equal(s.junk, sizeof(junk) / sizeof(*junk) + 1);
	assert_int_equal(s.lines, s.junk);
	assert_string_equal(at(0x1000), "");
	feed("1000 10 good\n");
	assert_string_equal(at(0x1000), "good");
}

static void half_a_line_waits(void **state)
{
	assert_int_equal(perfmap_feed(m, "1000 10 one\n2000 10 tw", 22), 12);
	assert_string_equal(at(0x2000), "");
	feed("2000 10 two\n");
	assert_string_equal(at(0x2000), "two");
}

static void later_line_wins_for_the_same_place(void **state)
{
	feed("1000 10 old_name_A\n1000 10 new_name_B\n");
	assert_string_equal(at(0x1000), "new_name_B");
	feed("1000 10 old_name_A\n");
	assert_string_equal(at(0x100f), "old_name_A");
}

static void narrow_one_inside_a_wide_one(void **state)
{
	feed("1100 4000 big_stub\n1000 10 new_name_B\n"
	     "1200 10 void Foo.bar(int, java.lang.String)\n");
	assert_string_equal(at(0x1000), "new_name_B");
	assert_string_equal(at(0x1200), "void Foo.bar(int, java.lang.String)");
	assert_string_equal(at(0x120f), "void Foo.bar(int, java.lang.String)");
	assert_string_equal(at(0x11ff), "big_stub");
	assert_string_equal(at(0x1210), "big_stub");
	assert_string_equal(at(0x50ff), "big_stub");
	assert_string_equal(at(0x5100), "");
}

static void wide_one_written_after_what_it_encloses(void **state)
{
	feed("1200 10 first\n1300 20 second\n1100 4000 big_stub\n");
	assert_string_equal(at(0x1100), "big_stub");
	assert_string_equal(at(0x1205), "first");
	assert_string_equal(at(0x1250), "big_stub");
	assert_string_equal(at(0x131f), "second");
	assert_string_equal(at(0x1320), "big_stub");
	/* Said once more it changes nothing. */
	feed("1100 4000 big_stub\n");
	assert_string_equal(at(0x1205), "first");
	/* Three deep. */
	feed("11f0 30 middle\n");
	assert_string_equal(at(0x11f5), "middle");
	assert_string_equal(at(0x1205), "first");
	assert_string_equal(at(0x1215), "middle");
	assert_string_equal(at(0x1225), "big_stub");
}

static void memory_used_anew(void **state)
{
	/* A longer function where several short ones were: it begins where the first of them did.
	 */
	feed("1000 40 a\n1040 40 b\n1080 40 c\n1000 c0 longer\n");
	assert_string_equal(at(0x1050), "longer");
	assert_string_equal(at(0x10bf), "longer");
	/* Overlapped in part: what is left of the old ones is still theirs. */
	feed("2000 100 low\n2100 100 high\n2080 100 over\n");
	assert_string_equal(at(0x207f), "low");
	assert_string_equal(at(0x2080), "over");
	assert_string_equal(at(0x217f), "over");
	assert_string_equal(at(0x2180), "high");
	/* And then nothing old shows through a newer one on top of those. */
	feed("2040 200 newest\n");
	assert_string_equal(at(0x2040), "newest");
	assert_string_equal(at(0x2190), "newest");
	assert_string_equal(at(0x223f), "newest");
	assert_string_equal(at(0x203f), "low");
}

static int file_with(const char *text)
{
	int fd = memfd_create("map", MFD_CLOEXEC);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	return fd;
}

static void append(int fd, const char *text)
{
	lseek(fd, 0, SEEK_END);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void file_that_grows(void **state)
{
	struct perfmap_stats s;
	int fd = file_with("1000 10 one\n2000 10 t");

	assert_int_equal(perfmap_read(m, fd), 0);
	assert_string_equal(at(0x1000), "one");
	assert_string_equal(at(0x2000), "");
	append(fd, "wo\n");
	assert_int_equal(perfmap_read(m, fd), 0);
	assert_string_equal(at(0x2000), "two");
	assert_int_equal(perfmap_read(m, fd), 0);
	perfmap_get_stats(m, &s);
	assert_int_equal(s.lines, 2); /* each read once */
	close(fd);
}

static void file_written_anew(void **state)
{
	int fd = file_with("1000 10 one\n2000 10 two\n");

	assert_int_equal(perfmap_read(m, fd), 0);
	/* Shorter than before. */
	assert_int_equal(ftruncate(fd, 0), 0);
	append(fd, "1000 10 uno\n");
	assert_int_equal(perfmap_read(m, fd), 0);
	assert_string_equal(at(0x1000), "uno");
	/* Longer than before, with other lines at its start. */
	assert_int_equal(ftruncate(fd, 0), 0);
	append(fd, "1000 10 ein\n3000 10 drei\n4000 10 vier\n");
	assert_int_equal(perfmap_read(m, fd), 0);
	assert_string_equal(at(0x1000), "ein");
	assert_string_equal(at(0x4000), "vier");
	/* Another file. */
	int other = file_with("1000 10 un\n");
	assert_int_equal(perfmap_read(m, other), 0);
	assert_string_equal(at(0x1000), "un");
	assert_string_equal(at(0x4000), "vier");
	close(fd);
	close(other);
}

static void what_is_appended_is_newer(void **state)
{
	AUTO(close_auto) int fd = memfd_create("map", MFD_CLOEXEC);
	uint32_t depth;

	assert_int_equal(dprintf(fd, "1000 10 a\n1000 10 b\n2000 10 x\n"), 30);
	assert_int_equal(perfmap_read(m, fd), 0);
	assert_string_equal(last(0x1000, &depth), "b");
	assert_int_equal(depth, 1); /* of before it was looked at nothing is known */
	assert_int_equal(dprintf(fd, "1000 10 c\n2000 10 x\n"), 20);
	assert_int_equal(perfmap_read(m, fd), 0);
	assert_string_equal(last(0x1000, &depth), "c");
	assert_int_equal(depth, 2);
	assert_string_equal(last(0x2000, &depth), "x");
	assert_int_equal(depth, 1);
}

static void endless_line_is_skipped(void **state)
{
	size_t len = 1u << 20;
	char *text = malloc(len + 64);
	struct perfmap_stats s;
	int fd;

	memset(text, 'x', len);
	strcpy(text + len, "\n1000 10 after\n");
	fd = file_with(text);
	assert_int_equal(perfmap_read(m, fd), 0);
	assert_string_equal(at(0x1000), "after");
	perfmap_get_stats(m, &s);
	assert_int_equal(s.junk, 1);
	close(fd);
	free(text);
}

/* A plain model: an owner for each byte, by the rule of the header. */
struct line {
	unsigned start, end;
};
#define BYTES 512

static void apply(const struct line *lines, unsigned n, int *owner)
{
	const struct line *l = &lines[n];
	bool anew = false;

	for (unsigned a = l->start; a < l->end; a++) {
		const struct line *o = owner[a] < 0 ? NULL : &lines[owner[a]];
		if (!o ||
			(o->start <= l->start && o->end >= l->end &&
				(o->start != l->start || o->end != l->end)))
			continue;
		anew |= o->start <= l->start || o->end > l->end;
	}
	for (unsigned a = l->start; a < l->end; a++) {
		const struct line *o = owner[a] < 0 ? NULL : &lines[owner[a]];
		if (anew || !o || (o->start <= l->start && o->end >= l->end))
			owner[a] = (int)n;
	}
}

static void agrees_with_a_plain_model(void **state)
{
	static struct line lines[3000];
	static int owner[BYTES];
	uint32_t seed = 7;
	char text[64], name[16];

	memset(owner, 0xff, sizeof(owner));
	for (unsigned n = 0; n < 3000; n++) {
		unsigned start, size;
		seed = seed * 1664525 + 1013904223;
		start = (seed >> 8) % (BYTES - 1);
		size = 1 + (seed >> 20) % ((seed >> 17) % 5 == 0 ? 200 : 20);
		if (start + size > BYTES)
			size = BYTES - start;
		lines[n] = (struct line){start, start + size};
		apply(lines, n, owner);
		snprintf(text, sizeof(text), "%x %x n%u\n", 0x1000 + start, size, n);
		feed(text);
		for (unsigned a = 0; a < BYTES; a += n % 50 == 0 ? 1 : 37) {
			snprintf(name, sizeof(name), "n%d", owner[a]);
			assert_string_equal(at(0x1000 + a), owner[a] < 0 ? "" : name);
		}
	}
}

static void many_lines_stay_quick_and_bounded(void **state)
{
	AUTO(buf_done) struct buf b = BUF_INIT;
	struct perfmap_stats s;

	for (unsigned i = 0; i < 200000; i++)
		buf_printf(&b, "%x 20 fn%u\n", 0x10000 + i * 0x40, i);
	/* Each of these encloses all of the others. */
	for (unsigned i = 0; i < 50; i++)
		buf_printf(&b, "%x 4000000 around%u\n", 0x100 + i, i);
	assert_int_equal(perfmap_feed(m, b.data, b.len), b.len);
	perfmap_get_stats(m, &s);
	assert_int_equal(s.lines, 200050);
	assert_int_equal(s.junk, 0);
	assert_true(s.dropped > 0);
	assert_true(s.bytes < 64u << 20);
	assert_string_equal(at(0x10000 + 150000 * 0x40), "fn150000");
}

static void segments_are_cut_and_joined_by_none(void **state)
{
	struct segments *s;
	const struct segment *g;

	assert_int_equal(segments_new(&s), 0);
	assert_null(segments_at_or_above(s, 0));
	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(segments_put(s, i * 10, i * 10 + 10, i), 0);
	assert_int_equal(segments_erase(s, 5, 9994), 0);
	g = segments_at_or_above(s, 0);
	assert_int_equal(g->end, 5);
	g = segments_at_or_above(s, 5);
	assert_int_equal(g->start, 9994);
	assert_int_equal(g->owner, 999);
	assert_int_equal(segments_erase(s, 9996, 9998), 0);
	assert_int_equal(segments_at_or_above(s, 9995)->end, 9996);
	assert_int_equal(segments_at_or_above(s, 9996)->start, 9998);
	assert_int_equal(segments_erase(s, 0, UINT64_MAX), 0);
	assert_null(segments_at_or_above(s, 0));
	segments_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names_hold_anything, setup, teardown),
		cmocka_unit_test_setup_teardown(junk_is_passed_over, setup, teardown),
		cmocka_unit_test_setup_teardown(half_a_line_waits, setup, teardown),
		cmocka_unit_test_setup_teardown(
			later_line_wins_for_the_same_place, setup, teardown),
		cmocka_unit_test_setup_teardown(narrow_one_inside_a_wide_one, setup, teardown),
		cmocka_unit_test_setup_teardown(
			wide_one_written_after_what_it_encloses, setup, teardown),
		cmocka_unit_test_setup_teardown(memory_used_anew, setup, teardown),
		cmocka_unit_test_setup_teardown(file_that_grows, setup, teardown),
		cmocka_unit_test_setup_teardown(file_written_anew, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_appended_is_newer, setup, teardown),
		cmocka_unit_test_setup_teardown(endless_line_is_skipped, setup, teardown),
		cmocka_unit_test_setup_teardown(agrees_with_a_plain_model, setup, teardown),
		cmocka_unit_test_setup_teardown(many_lines_stay_quick_and_bounded, setup, teardown),
		cmocka_unit_test(segments_are_cut_and_joined_by_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
