#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/render/svg_label.h"
#include "daemon/render/svg_page.h"
#include "daemon/render/svg_plan.h"
#include "daemon/render/text.h"
#include "daemon/render/writer.h"
#include "tests/unit/failing_alloc.h"

/* A view made by hand: nodes in preorder, each with a name of its own unless it is given one. */
struct fixture {
	struct view view;
	struct profile profile;
	uint32_t node_room, name_room;
};

static void *more_room(void *array, uint32_t count, uint32_t *room, size_t each)
{
	if (count == *room) {
		*room = *room ? *room * 2 : 16;
		array = realloc(array, *room * each);
		assert_non_null(array);
	}
	return array;
}

static void fixture_init(struct fixture *f)
{
	static char text[] = "\0cpu-clock\0pid 42 (app)";

	*f = (struct fixture){0};
	f->profile.text = text;
	f->profile.text_bytes = sizeof(text);
	f->profile.event_count = 1;
	f->profile.events[0] = (struct profile_event){.name = 1, .is_clock = true};
	f->profile.meta = (struct profile_meta){.target = 11,
		.freq_hz = 99,
		.started_ns = 1000,
		.taken_ns = 30000001000u,
		.started_wall_ns = 1714564800000000000u};
	f->view.profile = &f->profile;
	f->view.query.event = -1;
}

static void fixture_done(struct fixture *f)
{
	free(f->view.names);
	free(f->view.nodes);
}

static uint32_t add_name(
	struct fixture *f, const char *text, const char *module, enum view_kind kind)
{
	struct view *v = &f->view;

	v->names = more_room(v->names, v->name_count, &f->name_room, sizeof(*v->names));
	v->names[v->name_count] = (struct view_name){
		.text = text, .module = module, .file = "", .kind = (uint8_t)kind};
	return v->name_count++;
}

static void add_node(
	struct fixture *f, uint32_t depth, uint32_t name, uint64_t total, uint64_t self)
{
	struct view *v = &f->view;

	v->nodes = more_room(v->nodes, v->node_count, &f->node_room, sizeof(*v->nodes));
	v->nodes[v->node_count++] = (struct view_node){.depth = depth,
		.name = name,
		.total = total,
		.self = self,
		.samples = total,
		.self_samples = self};
	if (depth == 0)
		v->total = v->samples = total;
}

/* Depth by depth each node is split in unequal parts until little is left. */
static void add_subtree(
	struct fixture *f, uint32_t depth, uint32_t name, uint64_t total, uint32_t *seed)
{
	uint64_t left = total;
	uint32_t at = f->view.node_count;

	add_node(f, depth, name, total, 0);
	while (left > 0 && depth < 12) {
		uint64_t part;

		*seed = *seed * 1664525u + 1013904223u;
		part = left * (*seed >> 24) / 300;
		if (part == 0)
			break;
		add_subtree(f, depth + 1, name, part, seed);
		left -= part;
	}
	f->view.nodes[at].self = left;
}

static char *draw(const struct view *v, struct svg_options options)
{
	struct buf out = BUF_INIT;
	void *state;
	int r;

	if (options.width == 0)
		options.width = 1200;
	assert_int_equal(svg_writer.start(v, &options, &state), 0);
	do {
		size_t before = out.len;

		r = svg_writer.more(state, &out);
		assert_true(r == 0 || r == 1);
		assert_true(r == 0 || out.len - before >= RENDER_PIECE_BYTES);
	} while (r == 1);
	svg_writer.end(state);
	assert_int_equal(out.error, 0);
	return buf_take(&out);
}

/* A box as it was written. */
struct box {
	uint32_t depth;
	uint64_t weight, gap;
	double x, y, width, height;
};

static double attribute(const char *at, const char *name)
{
	char key[32];

	snprintf(key, sizeof(key), " %s=\"", name);
	at = strstr(at, key);
	assert_non_null(at);
	return strtod(at + strlen(key), NULL);
}

/* The next box at or after *at, which moves behind it; false: there is none. */
static bool next_box(const char **at, struct box *ret_box)
{
	const char *p = strstr(*at, " data-w=\"");
	char *end;

	if (!p)
		return false;
	*ret_box = (struct box){.x = attribute(p, "x"),
		.y = attribute(p, "y"),
		.width = attribute(p, "width"),
		.height = attribute(p, "height")};
	ret_box->depth = (uint32_t)strtoul(p + 9, &end, 10);
	ret_box->weight = strtoull(end, &end, 10);
	ret_box->gap = *end == ' ' ? strtoull(end, NULL, 10) : 0;
	*at = strstr(p, "</rect>");
	assert_non_null(*at);
	return true;
}

static unsigned count_of(const char *text, const char *what)
{
	unsigned n = 0;

	for (; (text = strstr(text, what)) != NULL; text += strlen(what))
		n++;
	return n;
}

static void boxes_lie_in_their_callers_and_weights_add_up(void **state)
{
	const double inner = 1200 - 2 * SVG_MARGIN;
	uint64_t next[16] = {0}, start[16] = {0}, weight[16] = {0};
	uint32_t seed = 7, count = 0;
	struct fixture f;
	struct box box;
	const char *at;
	char *svg;

	fixture_init(&f);
	add_subtree(&f, 0, add_name(&f, "f", "", VIEW_USER), 1000000, &seed);
	svg = draw(&f.view, (struct svg_options){0});
	for (at = svg; next_box(&at, &box); count++) {
		uint32_t d = box.depth;

		/* As the script finds the starts. */
		start[d] = next[d] + box.gap;
		weight[d] = box.weight;
		next[d] = start[d] + box.weight;
		next[d + 1] = start[d];
		assert_true(box.width >= 0.1 - 1e-9);
		assert_true(box.x >= (double)start[d] / 1e6 * inner - 0.051);
		assert_true(box.x <= (double)start[d] / 1e6 * inner + 0.051);
		/* Rounded at both ends, and a hair given to the paper. */
		assert_true(box.width <= (double)box.weight / 1e6 * inner + 0.101);
		assert_true(box.width >= (double)box.weight / 1e6 * inner - 0.701);
		if (d > 0) {
			assert_true(start[d] >= start[d - 1]);
			assert_true(next[d] <= start[d - 1] + weight[d - 1]);
		}
	}
	assert_true(count > 500);
	free(svg);
	fixture_done(&f);
}

static void what_is_narrower_than_a_tenth_is_left_out_and_said(void **state)
{
	struct fixture f;
	const char *at;
	struct box box;
	uint32_t name;
	char *svg;

	fixture_init(&f);
	name = add_name(&f, "f", "", VIEW_USER);
	/* The root is 11,760 tenths wide. */
	add_node(&f, 0, name, 11760, 11760 - 1 - 2);
	add_node(&f, 1, name, 1, 1);
	add_node(&f, 1, name, 2, 2);
	svg = draw(&f.view, (struct svg_options){0});
	assert_int_equal(count_of(svg, " data-w="), 3);
	assert_non_null(strstr(svg, "All frames are drawn."));
	free(svg);

	/* Twice as heavy: what weighs 1 is half as wide, and so is what it calls. */
	f.view.nodes[0].total = f.view.total = f.view.samples = 23520;
	f.view.node_count = 1;
	add_node(&f, 1, name, 1, 0);
	add_node(&f, 2, name, 1, 1);
	add_node(&f, 1, name, 3, 3);
	svg = draw(&f.view, (struct svg_options){0});
	assert_int_equal(count_of(svg, " data-w="), 2);
	assert_non_null(
		strstr(svg, "2 frames narrower than 0.1 px left out, with 0.00% of the samples"));
	at = svg;
	assert_true(next_box(&at, &box) && next_box(&at, &box));
	assert_int_equal(box.gap, 1);
	assert_int_equal(box.weight, 3);
	free(svg);
	fixture_done(&f);
}

static void left_out_samples_count_once(void **state)
{
	struct fixture f;
	uint32_t name;
	char *svg;

	fixture_init(&f);
	name = add_name(&f, "f", "", VIEW_USER);
	add_node(&f, 0, name, 100000, 90000);
	for (unsigned i = 0; i < 10000; i++) {
		add_node(&f, 1, name, 1, 0);
		add_node(&f, 2, name, 1, 1);
	}
	svg = draw(&f.view, (struct svg_options){0});
	assert_non_null(strstr(svg, "20,000 frames narrower than 0.1 px left out, with 10.00% of"));
	free(svg);
	fixture_done(&f);
}

/* Between the marks that the writer makes itself nothing of a name can end an element or an
 * attribute, and all of it is text that XML allows. */
static void every_byte_of_a_name_is_escaped(void **state)
{
	static const char odd[] =
		"</title><script>alert(1)</script>]]>\"'&\x01\x1b[31m\xff\xfe\xe2\x82 \n\t;";
	char bytes[256];
	struct fixture f;
	uint32_t odd_name, all_name;
	char *svg;

	for (unsigned i = 1; i < 256; i++)
		bytes[i - 1] = (char)i;
	bytes[255] = 0;
	fixture_init(&f);
	odd_name = add_name(&f, odd, odd, VIEW_USER);
	all_name = add_name(&f, bytes, bytes, VIEW_JIT);
	f.view.names[odd_name].file = odd;
	add_node(&f, 0, odd_name, 100, 0);
	add_node(&f, 1, all_name, 100, 100);
	svg = draw(&f.view, (struct svg_options){.color = SVG_COLOR_MODULE});
	for (const char *c = svg; *c; c++)
		assert_true((unsigned char)*c >= ' ' || *c == '\n' || *c == '\t');
	assert_int_equal(count_of(svg, "<script>"), 1);
	assert_int_equal(count_of(svg, "]]>"), 1);
	assert_int_equal(count_of(svg, "</title>"), 3);
	assert_null(strchr(svg, 0xff));
	assert_non_null(strstr(svg, "<title>&lt;/title&gt;&lt;script&gt;"));
	assert_non_null(strstr(svg,
		"\xef\xbf\xbd"
		"1B[31m"
		"\xef\xbf\xbd"
		"FF"));
	free(svg);
	fixture_done(&f);
}

static void title_says_all_there_is_to_know(void **state)
{
	struct fixture f;
	uint32_t name;
	char *svg;

	fixture_init(&f);
	name = add_name(&f, "ns::work(int)", "libwork.so", VIEW_INLINED);
	f.view.names[name].file = "/src/work.c";
	f.view.names[name].line = 12;
	add_node(&f, 0, name, 4000000000u, 1000000000u);
	f.view.nodes[0].samples = 1234;
	svg = draw(&f.view, (struct svg_options){0});
	assert_non_null(strstr(svg,
		"<title>ns::work(int) (1,234 samples, 100.00%)\n"
		"4.00 s · self 25.00% · inlined · libwork.so · /src/work.c:12</title>"));
	assert_non_null(strstr(svg, "cpu-clock at 99 Hz · 30.0 s from 2024-05-01 12:00:00 UTC"));
	assert_non_null(strstr(svg, "pid 42 (app)"));
	free(svg);
	fixture_done(&f);
}

/* Letters of the longest line below head, and the foot of the lowest one. */
static void measure_head(const char *svg, size_t *ret_longest, double *ret_foot)
{
	*ret_longest = 0;
	*ret_foot = 0;
	for (const char *at = strstr(svg, "class=\"sub\""); at; at = strpbrk(at + 1, "<")) {
		const char *text = strchr(at, '>') + 1;
		size_t len = strcspn(text, "<"), letters = 0;

		if (strncmp(at, "</g>", 4) == 0 && !strstr(at, "class=\"sub\""))
			break;
		for (size_t i = 0; i < len; i++)
			letters += (text[i] & 0xc0) != 0x80;
		if (letters > *ret_longest)
			*ret_longest = letters;
		if (strncmp(at, "<tspan", 6) == 0 && attribute(at, "y") > *ret_foot)
			*ret_foot = attribute(at, "y");
	}
}

static void a_narrow_head_has_more_lines(void **state)
{
	struct fixture f;
	size_t longest;
	double foot;
	char *svg;

	fixture_init(&f);
	f.profile.ledger.lost = 1234567;
	f.profile.ledger.dropped = 7654321;
	add_node(&f, 0, add_name(&f, "all", "", VIEW_ROOT), 1000, 0);
	for (enum view_kind kind = VIEW_USER; kind < VIEW_KIND_COUNT; kind++)
		add_node(&f, 1, add_name(&f, "f", "libsomething.so", kind), 100, 100);
	svg = draw(&f.view, (struct svg_options){.width = 364});
	measure_head(svg, &longest, &foot);
	assert_in_range(longest, 20, 47);
	/* Nothing is left out: the lines say what the one line of a wide graph says. */
	assert_non_null(strstr(svg, "cpu-clock at 99 Hz"));
	assert_non_null(strstr(svg, "1,234,567 lost"));
	assert_non_null(strstr(svg, "7,654,321 dropped"));
	assert_non_null(strstr(svg, "<tspan"));
	/* The boxes begin below it. */
	assert_true(strtod(strstr(svg, "translate(12,") + 13, NULL) > foot);
	assert_true(strtod(strstr(svg, "translate(12,") + 13, NULL) > SVG_HEAD);
	free(svg);
	svg = draw(&f.view, (struct svg_options){.width = 1600});
	assert_null(strstr(svg, "<tspan"));
	assert_non_null(strstr(svg, "translate(12,134)"));
	free(svg);
	fixture_done(&f);
}

static void other_events_are_counted_not_timed(void **state)
{
	struct fixture f;
	char *svg;

	fixture_init(&f);
	f.profile.events[0].is_clock = false;
	f.profile.meta.freq_hz = 0;
	f.profile.meta.period = 1000;
	add_node(&f, 0, add_name(&f, "f", "", VIEW_USER), 5000, 5000);
	svg = draw(&f.view, (struct svg_options){0});
	assert_non_null(strstr(svg, "100.00%)\n5,000 events · self 100.00%</title>"));
	assert_non_null(strstr(svg, "cpu-clock every 1,000 · "));
	free(svg);
	fixture_done(&f);
}

static void root_is_at_the_bottom_or_at_the_top(void **state)
{
	struct fixture f;
	struct box root, child;
	const char *at;
	char *svg;

	fixture_init(&f);
	add_node(&f, 0, add_name(&f, "f", "", VIEW_USER), 10, 0);
	add_node(&f, 1, 0, 10, 10);
	for (int icicle = 0; icicle < 2; icicle++) {
		at = svg = draw(&f.view, (struct svg_options){.icicle = icicle});
		assert_true(next_box(&at, &root) && next_box(&at, &child));
		assert_int_equal(root.y < child.y, icicle);
		assert_true(root.y + root.height <= child.y || child.y + child.height <= root.y);
		free(svg);
	}
	fixture_done(&f);
}

static void deep_tree_keeps_its_size(void **state)
{
	struct fixture f;
	struct box box;
	const char *at;
	double bottom = 0;
	unsigned count = 0;
	char *svg;

	fixture_init(&f);
	add_name(&f, "down", "deep", VIEW_USER);
	for (uint32_t i = 0; i < 5000; i++)
		add_node(&f, i, 0, 1000, i == 4999 ? 1000 : 0);
	at = svg = draw(&f.view, (struct svg_options){0});
	assert_true(strlen(svg) < 5u << 20);
	while (next_box(&at, &box)) {
		bottom = box.y + box.height > bottom ? box.y + box.height : bottom;
		assert_true(box.height > 0.5);
		count++;
	}
	assert_int_equal(count, 5000);
	/* Where image libraries end. */
	assert_true(bottom < 32767 - SVG_HEAD);
	free(svg);
	fixture_done(&f);
}

static void wide_tree_is_drawn_whole(void **state)
{
	struct fixture f;
	char *svg;

	fixture_init(&f);
	add_name(&f, "w", "wide", VIEW_USER);
	add_node(&f, 0, 0, 10000, 0);
	for (uint32_t i = 0; i < 5000; i++)
		add_node(&f, 1, 0, 2, 2);
	svg = draw(&f.view, (struct svg_options){0});
	assert_true(strlen(svg) < 5u << 20);
	assert_int_equal(count_of(svg, " data-w="), 5001);
	free(svg);
	fixture_done(&f);
}

static void no_samples_are_a_picture_too(void **state)
{
	struct fixture f;
	char *svg;

	fixture_init(&f);
	add_node(&f, 0, add_name(&f, "all", "", VIEW_ROOT), 0, 0);
	svg = draw(&f.view, (struct svg_options){0});
	assert_non_null(strstr(svg, "No samples."));
	assert_int_equal(count_of(svg, " data-w="), 1);
	assert_non_null(strstr(svg, "</svg>"));
	free(svg);
	fixture_done(&f);
}

static void heavy_modules_have_colors_of_their_own(void **state)
{
	bool taken[SVG_MODULE_HUES + 1] = {false};
	char modules[20][16];
	struct svg_plan plan;
	struct fixture f;
	char *svg;

	fixture_init(&f);
	add_node(&f, 0, add_name(&f, "all", "", VIEW_ROOT), 210, 0);
	for (unsigned i = 0; i < 20; i++) {
		snprintf(modules[i], sizeof(modules[i]), "lib%u.so", i);
		add_node(&f, 1, add_name(&f, "f", modules[i], VIEW_USER), i + 1, i + 1);
	}
	assert_int_equal(svg_plan_init(&plan, &f.view, &(struct svg_options){.width = 1200}), 0);
	for (unsigned i = 0; i < 20; i++) {
		unsigned slot = plan.paints[f.view.nodes[i + 1].name].module;

		/* The twelve heaviest are the last ones. */
		assert_int_equal(slot == SVG_MODULE_OTHER, i < 8);
		assert_true(slot == SVG_MODULE_OTHER || !taken[slot]);
		taken[slot] = true;
	}
	assert_true(plan.module_others);
	svg_plan_done(&plan);
	svg = draw(&f.view, (struct svg_options){.color = SVG_COLOR_MODULE});
	assert_non_null(strstr(svg, "class=\"flame cm\""));
	assert_non_null(strstr(svg, ">lib19.so</text>"));
	free(svg);
	fixture_done(&f);
}

static void assert_label(const char *name, unsigned cells, const char *expected)
{
	struct buf out = BUF_INIT;

	svg_label(name, true, cells, &out);
	assert_string_equal(out.data ? out.data : "", expected);
	buf_done(&out);
}

static void names_shrink_from_the_least_telling_end(void **state)
{
	static const char call[] = "void std::vector<int, std::allocator<int> >::push_back(int&&)";

	assert_label(call, 100,
		"void std::vector&lt;int, std::allocator&lt;int&gt; "
		"&gt;::push_back(int&amp;&amp;)");
	assert_label(call, 51, "std::vector&lt;int, std::allocator&lt;int&gt; &gt;::push_back");
	assert_label(call, 12, "push_back");
	assert_label(call, 8, "push_ba…");
	assert_label(call, 2, "");
	assert_label("geo::area<u32>", 13, "area&lt;u32&gt;");
	assert_label("geo::area<u32>", 5, "area");
	assert_label("<app::Sq as app::Shape>::run", 10, "run");
	assert_label("app::main::{closure#0}", 18, "main::{closure#0}");
	assert_label("std::function<int (int)>::operator()(int) const", 14, "operator()");
	assert_label("ns::operator<(S, S)", 11, "operator&lt;");
	assert_label("(anonymous namespace)::quiet_one()", 10, "quiet_one");
	assert_label("JS:*hotLoop /tmp/long/b.js:1:20", 12, "JS:*hotLoop…");
	assert_label("do_syscall_64", 7, "do_sys…");
}

static void wide_and_broken_characters_are_cut_whole(void **state)
{
	assert_label(
		"\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97", 6, "\xe6\xbc\xa2\xe5\xad\x97…");
	assert_label("\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97", 8,
		"\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97");
	assert_label("<<<<<<<<", 4, "&lt;&lt;&lt;…");
	assert_label("a\xff"
		     "bcdefgh",
		5,
		"a\xef\xbf\xbd"
		"FF…");
}

static void numbers_are_for_people(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} times[] = {{0, "0 ns"}, {999, "999 ns"}, {1500, "1.50 µs"}, {45600000, "45.6 ms"},
		{1234567890, "1.23 s"}, {75200000000u, "75.2 s"}, {123456000000u, "123 s"}};
	struct buf out = BUF_INIT;

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		buf_clear(&out);
		svg_time(&out, times[i].ns);
		assert_string_equal(out.data, times[i].text);
	}
	buf_clear(&out);
	text_number(&out, 1234567);
	buf_append_char(&out, ' ');
	text_number(&out, 999);
	buf_append_char(&out, ' ');
	svg_share(&out, 1, 3);
	buf_append_char(&out, ' ');
	svg_share(&out, 1, 0);
	assert_string_equal(out.data, "1,234,567 999 33.33% 0.00%");
	buf_done(&out);
}

static void lack_of_memory_is_reported(void **state)
{
	struct svg_options options = {.width = 1200};
	struct fixture f;
	void *svg;
	int r = -ENOMEM;

	fixture_init(&f);
	add_node(&f, 0, add_name(&f, "f", "lib.so", VIEW_USER), 10, 10);
	for (long n = 0; r < 0; n++) {
		alloc_fail_after = n;
		r = svg_writer.start(&f.view, &options, &svg);
		alloc_fail_after = -1;
		assert_true(r == 0 || r == -ENOMEM);
		assert_true(r == 0 || n < 20);
	}
	svg_writer.end(svg);
	fixture_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(boxes_lie_in_their_callers_and_weights_add_up),
		cmocka_unit_test(what_is_narrower_than_a_tenth_is_left_out_and_said),
		cmocka_unit_test(left_out_samples_count_once),
		cmocka_unit_test(every_byte_of_a_name_is_escaped),
		cmocka_unit_test(title_says_all_there_is_to_know),
		cmocka_unit_test(a_narrow_head_has_more_lines),
		cmocka_unit_test(other_events_are_counted_not_timed),
		cmocka_unit_test(root_is_at_the_bottom_or_at_the_top),
		cmocka_unit_test(deep_tree_keeps_its_size),
		cmocka_unit_test(wide_tree_is_drawn_whole),
		cmocka_unit_test(no_samples_are_a_picture_too),
		cmocka_unit_test(heavy_modules_have_colors_of_their_own),
		cmocka_unit_test(names_shrink_from_the_least_telling_end),
		cmocka_unit_test(wide_and_broken_characters_are_cut_whole),
		cmocka_unit_test(numbers_are_for_people),
		cmocka_unit_test(lack_of_memory_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
