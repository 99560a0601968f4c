/* What top shows, and the flame graph of characters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cli/cells.h"
#include "cli/flameview.h"
#include "cli/screen.h"
#include "cli/topview.h"
#include "tests/unit/profile_text.h"

struct fixture {
	struct tree *tree;
	struct function *f;
	size_t count;
	struct top_view view;
};

static int set_up(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	x->tree = parsed(PROFILE);
	assert_int_equal(tree_functions(x->tree, &x->f, &x->count), 0);
	functions_sort(x->f, x->count, false);
	x->view = (struct top_view){.title = "session 1: pid 42 (prog)",
		.state = "running",
		.ledger = "100 samples in all, 0 lost",
		.event = "cpu-clock",
		.window = "last 10 s",
		.elapsed_s = 12.34,
		.samples = 100,
		.keys = true,
		.width = 80,
		.height = 24};
	*state = x;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *x = *state;

	tree_free(x->tree);
	free(x->f);
	free(x);
	return 0;
}

static char *layout(struct fixture *x)
{
	struct top_rows rows = {.f = x->f, .count = x->count, .total = x->tree->total};
	struct buf out = BUF_INIT;

	top_layout(&x->view, &rows, &out);
	return buf_take(&out);
}

static unsigned lines_of(const char *text, unsigned *ret_widest)
{
	unsigned lines = 0;

	*ret_widest = 0;
	for (const char *end; (end = strchr(text, '\n')) != NULL; text = end + 1, lines++) {
		char line[1000];
		unsigned cells;

		snprintf(line, sizeof(line), "%.*s", (int)(end - text), text);
		cells = cells_of(line);
		*ret_widest = cells > *ret_widest ? cells : *ret_widest;
	}
	return lines;
}

static void top_fills_any_screen(void **state)
{
	static const unsigned sizes[][2] = {
		{80, 24}, {20, 5}, {1, 1}, {200, 60}, {80, 4}, {300, 3}};
	struct fixture *x = *state;

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		AUTO(free_auto) char *text = NULL;
		unsigned widest, lines;

		x->view.width = sizes[i][0];
		x->view.height = sizes[i][1];
		text = layout(x);
		lines = lines_of(text, &widest);
		assert_true(widest <= sizes[i][0]);
		if (sizes[i][1] >= 5)
			assert_int_equal(lines, sizes[i][1]);
	}
}

static void top_has_shares(void **state)
{
	struct fixture *x = *state;
	AUTO(free_auto) char *text = layout(x);

	assert_non_null(strstr(text, "\n 60.00%   60.00%  work "));
	assert_non_null(strstr(text, "\n 10.00%  100.00%  main "));
	assert_non_null(strstr(text, "100 samples in all, 0 lost"));
	assert_non_null(strstr(text, "12.3 s"));
	assert_non_null(strstr(text, "q quit"));
	assert_null(strchr(text, '\033'));
}

static void changes_are_against_the_window_before(void **state)
{
	struct fixture *x = *state;
	static const struct function before[] = {{.name = "main", .module = "prog", .self = 10}};
	struct top_rows rows = {.f = x->f,
		.count = x->count,
		.total = 1000,
		.before = before,
		.before_count = 1,
		.before_total = 50};
	AUTO(buf_done) struct buf out = BUF_INIT;

	x->view.changes = true;
	top_layout(&x->view, &rows, &out);
	assert_non_null(strstr(out.data, " 10.00%  100.00%   -10.00  main")); /* 20 before */
	assert_non_null(strstr(out.data, " 60.00%   60.00%   +60.00  work"));
}

static void keys_change_the_view(void **state)
{
	struct fixture *x = *state;
	struct top_view *v = &x->view;

	assert_true(top_key(v, 's') && v->by_total);
	assert_true(top_key(v, 'p') && v->paused);
	assert_true(top_key(v, 'x'));
	assert_false(top_key(v, 'q'));
	assert_false(top_key(v, KEY_END));
	assert_true(top_key(v, '/') && v->typing);
	assert_true(top_key(v, 'q')); /* a letter of the filter now */
	assert_true(top_key(v, 'w') && top_key(v, KEY_BACKSPACE));
	assert_string_equal(v->filter, "q");
	assert_false(top_key(v, KEY_END));
	assert_true(top_key(v, KEY_ENTER) && !v->typing);
	assert_true(top_key(v, KEY_ESCAPE));
	assert_string_equal(v->filter, "");
}

static void a_filter_is_never_longer_than_its_room(void **state)
{
	struct fixture *x = *state;

	top_key(&x->view, '/');
	for (int i = 0; i < 1000; i++)
		top_key(&x->view, 'a');
	assert_int_equal(strlen(x->view.filter), TOP_FILTER_BYTES - 1);
}

static void scrolling_stays_inside(void **state)
{
	struct fixture *x = *state;
	AUTO(free_auto) char *text = NULL, *small = NULL;

	top_key(&x->view, KEY_PAGE_DOWN);
	text = layout(x); /* all three fit */
	assert_int_equal(x->view.first, 0);
	x->view.height = 5; /* one does */
	for (int i = 0; i < 9; i++)
		top_key(&x->view, KEY_DOWN);
	small = layout(x);
	assert_int_equal(x->view.first, 2);
	assert_null(strstr(small, "work"));
	top_key(&x->view, KEY_UP);
	assert_int_equal(x->view.first, 1);
	top_key(&x->view, KEY_HOME);
	top_key(&x->view, KEY_UP);
	assert_int_equal(x->view.first, 0);
}

static char *drawn(const struct tree *t, struct flame_view v)
{
	struct buf out = BUF_INIT;

	assert_int_equal(flame_draw(&v, t, &out), 0);
	return buf_take(&out);
}

static void frames_without_colour_stand_between_bars(void **state)
{
	struct fixture *x = *state;
	AUTO(free_auto) char *standing = drawn(x->tree, (struct flame_view){.width = 40});
	AUTO(free_auto)
	char *hanging = drawn(x->tree, (struct flame_view){.width = 40, .icicle = true});

	assert_string_equal(hanging,
		"|all\n"
		"|main\n"
		"|work                   |main       |\n"
		"                        |idle       |\n");
	assert_string_equal(standing,
		"                        |idle       |\n"
		"|work                   |main       |\n"
		"|main\n"
		"|all\n");
}

static void colours_are_those_of_the_kind(void **state)
{
	struct fixture *x = *state;
	AUTO(free_auto)
	char *text = drawn(
		x->tree, (struct flame_view){.width = 40, .color = FLAME_KIND, .icicle = true});
	unsigned lines = 0;

	for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
		lines++;
	assert_int_equal(lines, 4);
	assert_non_null(strstr(text, "38;5;16;48;5;")); /* dark ink on the frame */
	assert_non_null(strstr(text, "mwork "));
	assert_null(strstr(text, "\xe2\x96")); /* no blocks unless the terminal has them */
}

static void an_edge_inside_a_cell_is_a_block(void **state)
{
	struct fixture *x = *state;
	/* 60 % of 11 cells end at 6.6 of them: five eighths of the seventh. */
	AUTO(free_auto)
	char *text = drawn(
		x->tree, (struct flame_view){.width = 11, .color = FLAME_NAME, .blocks = true});

	assert_non_null(strstr(text, "\xe2\x96\x8b"));
}

static void no_frame_is_too_small_or_screen_too_narrow(void **state)
{
	struct fixture *x = *state;

	for (unsigned width = 1; width < 30; width++) {
		for (unsigned color = FLAME_PLAIN; color <= FLAME_NAME; color++) {
			AUTO(free_auto)
			char *text = drawn(x->tree,
				(struct flame_view){
					.width = width, .color = color, .blocks = true});

			assert_non_null(strstr(text, width > 4 ? "all" : "\n"));
		}
	}
}

int main(void)
{
#define WITH_PROFILE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		WITH_PROFILE(top_fills_any_screen),
		WITH_PROFILE(top_has_shares),
		WITH_PROFILE(changes_are_against_the_window_before),
		WITH_PROFILE(keys_change_the_view),
		WITH_PROFILE(a_filter_is_never_longer_than_its_room),
		WITH_PROFILE(scrolling_stays_inside),
		WITH_PROFILE(frames_without_colour_stand_between_bars),
		WITH_PROFILE(colours_are_those_of_the_kind),
		WITH_PROFILE(an_edge_inside_a_cell_is_a_block),
		WITH_PROFILE(no_frame_is_too_small_or_screen_too_narrow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
