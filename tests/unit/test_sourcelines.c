#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "daemon/render/sourcelines.h"
#include "tests/unit/failing_alloc.h"
#include "tests/unit/profile_samples.h"

/* A frame of its own that is one line of a function. */
static uint32_t line_node(struct sample_builder *b, uint32_t parent, uint32_t module,
	const char *function, unsigned line)
{
	return sample_node(b, parent, sample_frame(b, FRAME_USER, module, line - 10, &function, 1));
}

/* main:20 calls walk:30 (3 samples of its own), which calls itself (walk:30 again: 2; walk:31: 5);
 * another program's walk is in line 40 (7). */
static struct profile *made(const char *container)
{
	struct sample_builder b;
	uint32_t app, other, main, walk;

	sample_begin(&b, 1);
	app = sample_module(&b, "/usr/bin/app");
	other = sample_module(&b, "/usr/bin/other");
	main = line_node(&b, sample_process(&b, 42, "app"), app, "main", 20);
	walk = line_node(&b, main, app, "walk", 30);
	sample_add(&b, walk, 0, 3, 30);
	sample_add(&b, line_node(&b, walk, app, "walk", 30), 0, 2, 20);
	sample_add(&b, line_node(&b, walk, app, "walk", 31), 0, 5, 50);
	b.p->processes[0].container = sample_text(&b, container);
	sample_add(&b, line_node(&b, sample_process(&b, 43, "other"), other, "walk", 40), 0, 7, 70);
	return sample_end(&b);
}

static struct view *view_of(const struct profile *p)
{
	struct view *v = NULL;

	assert_int_equal(view_new(p, &(struct view_query){.event = -1, .lines = true}, &v), 0);
	return v;
}

static void assert_line(const struct source_line *l, unsigned line, unsigned self, unsigned total)
{
	assert_int_equal(l->line, line);
	assert_int_equal(l->self, self);
	assert_int_equal(l->samples, self / 10);
	assert_int_equal(l->total, total);
}

static void recursion_counts_once_a_line(void **state)
{
	struct profile *p = made("");
	struct view *v = view_of(p);
	struct source_lines s;

	(void)state;
	assert_int_equal(source_lines_make(v, "walk", "app", &s), 0);
	assert_string_equal(s.file, "/src/source.c");
	assert_int_equal(s.count, 2);
	assert_line(&s.lines[0], 30, 50, 100);
	assert_line(&s.lines[1], 31, 50, 50);
	assert_int_equal(s.other_files, 0);
	source_lines_done(&s);
	view_free(v);
	profile_unref(p);
}

static void functions_of_all_modules_are_one_unless_asked(void **state)
{
	struct profile *p = made("");
	struct view *v = view_of(p);
	struct source_lines s;

	(void)state;
	assert_int_equal(source_lines_make(v, "walk", "", &s), 0);
	assert_int_equal(s.count, 3);
	assert_line(&s.lines[2], 40, 70, 70);
	source_lines_done(&s);
	assert_int_equal(source_lines_make(v, "main", "app", &s), 0);
	assert_line(&s.lines[0], 20, 0, 100);
	source_lines_done(&s);
	assert_int_equal(source_lines_make(v, "main", "other", &s), -ENOENT);
	assert_int_equal(source_lines_make(v, "all", "", &s), -ENOENT);
	view_free(v);
	profile_unref(p);
}

static void the_file_with_most_is_shown(void **state)
{
	struct profile *p = made("");
	struct view *v;
	struct source_lines s;
	uint32_t file;

	(void)state;
	/* Of walk:31, the last frame but one of the first process. */
	for (uint32_t i = 0; i < p->name_starts[p->frame_count]; i++) {
		if (p->name_frames[i].line == 31) {
			file = (uint32_t)profile_add_text(p, "/src/heavy.h", 12);
			p->name_frames[i].file = file;
		}
	}
	v = view_of(p);
	assert_int_equal(source_lines_make(v, "walk", "app", &s), 0);
	assert_string_equal(s.file, "/src/source.c");
	assert_int_equal(s.other_files, 1);
	assert_int_equal(s.count, 1);
	source_lines_done(&s);
	view_free(v);
	profile_unref(p);
}

static void a_container_is_seen(void **state)
{
	struct profile *p = made("0123456789ab");
	struct view *v = view_of(p);
	struct source_lines s;

	(void)state;
	assert_int_equal(source_lines_make(v, "main", "", &s), 0);
	assert_true(s.in_container);
	source_lines_done(&s);
	view_free(v);
	profile_unref(p);
	p = made("");
	v = view_of(p);
	assert_int_equal(source_lines_make(v, "main", "", &s), 0);
	assert_false(s.in_container);
	source_lines_done(&s);
	view_free(v);
	profile_unref(p);
}

static void no_memory_is_survived(void **state)
{
	struct profile *p = made("");
	struct view *v = view_of(p);
	struct source_lines s;

	(void)state;
	for (int i = 0; i < 5; i++) {
		alloc_fail_after = i;
		assert_int_equal(source_lines_make(v, "walk", "", &s), -ENOMEM);
	}
	alloc_fail_after = -1;
	view_free(v);
	profile_unref(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recursion_counts_once_a_line),
		cmocka_unit_test(functions_of_all_modules_are_one_unless_asked),
		cmocka_unit_test(the_file_with_most_is_shown),
		cmocka_unit_test(a_container_is_seen),
		cmocka_unit_test(no_memory_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
