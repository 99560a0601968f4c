/* Comparisons of trees whose every sample is known. */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include <cjson/cJSON.h>

#include "daemon/render/diff.h"
#include "daemon/render/render.h"
#include "tests/unit/failing_alloc.h"
#include "tests/unit/profile_samples.h"

AUTO_FREE_FN(cJSON, cJSON_Delete)

#define MS UINT64_C(1000000)

/* ---- trees ---- */

struct stack {
	const char *chain;
	unsigned samples;
};

/* Of pid, each sample of that weight, in a module of that name. */
static struct profile *build(
	const struct stack *stacks, pid_t pid, uint64_t weight, const char *module)
{
	struct sample_builder b;
	uint32_t app, process;

	sample_begin(&b, 1);
	app = sample_module(&b, module);
	process = sample_process(&b, pid, "app");
	for (; stacks->chain; stacks++)
		sample_add(&b, sample_chain(&b, process, app, stacks->chain), 0, stacks->samples,
			stacks->samples * weight);
	return sample_end(&b);
}

static struct view *view_of(struct profile *p, const struct view_query *query)
{
	struct view *v = NULL;

	assert_int_equal(view_new(p, query, &v), 0);
	profile_unref(p);
	return v;
}

static const struct view_query whole = {0};
static const struct diff_options shares = {.norm = DIFF_SHARE, .width = DIFF_OTHER};

static struct view *compare(struct view *base, struct view *other, const struct diff_options *o)
{
	struct view *v = NULL;

	assert_int_equal(diff_new(base, other, o, &v), 0);
	return v;
}

static struct view *compare_stacks(
	const struct stack *base, const struct stack *other, const struct diff_options *o)
{
	return compare(view_of(build(base, 42, 10 * MS, "/bin/app"), &whole),
		view_of(build(other, 43, 10 * MS, "/bin/app"), &whole), o);
}

static const struct diff_function *function_of(const struct view *v, const char *name)
{
	for (uint32_t i = 0; i < v->diff->function_count; i++)
		if (strcmp(v->names[v->diff->functions[i].name].text, name) == 0)
			return &v->diff->functions[i];
	fail_msg("no function %s", name);
	return NULL;
}

static void assert_near(double a, double b)
{
	if (fabs(a - b) > 0.005)
		fail_msg("%g is not %g", a, b);
}

static void assert_function(
	const struct view *v, const char *name, double delta, double z, bool significant)
{
	const struct diff_function *f = function_of(v, name);

	assert_near(f->self.delta, delta);
	assert_near(f->self.z, z);
	assert_int_equal(f->self.significant, significant);
}

static unsigned count_significant(const struct view *v)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < v->diff->function_count; i++)
		n += v->diff->functions[i].self.significant ||
			v->diff->functions[i].total.significant;
	for (uint32_t i = 0; i < v->node_count; i++)
		n += v->diff->nodes[i].change.significant;
	return n;
}

/* That the nodes are a tree in preorder, and add up on both sides. */
static void assert_sound(const struct view *v)
{
	uint64_t self[DIFF_SIDES] = {0};

	assert_int_equal(v->nodes[0].depth, 0);
	for (uint32_t i = 0; i < v->node_count; i++) {
		if (i > 0)
			assert_in_range(v->nodes[i].depth, 1, v->nodes[i - 1].depth + 1);
		for (int s = 0; s < DIFF_SIDES; s++) {
			const struct diff_cell *c = &v->diff->nodes[i].side[s];
			uint64_t below = c->self;

			self[s] += c->self;
			for (uint32_t k = i + 1;
				k < v->node_count && v->nodes[k].depth > v->nodes[i].depth; k++)
				below += v->diff->nodes[k].side[s].self;
			assert_int_equal(below, c->total);
		}
	}
	assert_int_equal(self[DIFF_BASE], v->diff->side[DIFF_BASE]->total);
	assert_int_equal(self[DIFF_OTHER], v->diff->side[DIFF_OTHER]->total);
	assert_int_equal(v->total, self[v->diff->options.width]);
}

static const struct stack release_1[] = {
	{"main;a", 600}, {"main;b", 300}, {"main;c", 80}, {"main;old", 20}, {0}};
static const struct stack release_2[] = {
	{"main;a", 300}, {"main;b", 600}, {"main;c", 80}, {"main;b;new", 20}, {0}};

/* ---- tests ---- */

static void releases_are_compared(void **state)
{
	AUTO(view_free_auto) struct view *v = compare_stacks(release_1, release_2, &shares);
	/* all; main; a; b; new; c; old */
	static const uint64_t base[] = {0, 0, 600, 300, 0, 80, 20},
			      other[] = {0, 0, 300, 600, 20, 80};

	assert_sound(v);
	assert_int_equal(v->node_count, 7);
	for (unsigned i = 0; i < 7; i++) {
		assert_int_equal(v->diff->nodes[i].side[DIFF_BASE].self_samples, base[i]);
		assert_int_equal(
			v->diff->nodes[i].side[DIFF_OTHER].self_samples, i < 6 ? other[i] : 0);
	}
	assert_string_equal(v->names[v->nodes[4].name].text, "new");
	/* 0.3 / sqrt(0.45 * 0.55 * 2 / 1000), and the same of 0.02 with 0.01 * 0.99. */
	assert_function(v, "a", -0.3, -13.48, true);
	assert_function(v, "b", 0.3, 13.48, true);
	assert_function(v, "c", 0, 0, false);
	assert_function(v, "old", -0.02, -4.49, true);
	assert_function(v, "new", 0.02, 4.49, true);
	assert_false(function_of(v, "main")->total.significant);
	assert_near(function_of(v, "b")->total.delta, 0.32);
	/* Six functions: 0.05 / 6 of either side. */
	assert_int_equal(v->diff->function_count, 6);
	assert_near(v->diff->z_limit, 2.638);
	/* As much as a, and more below it. */
	assert_string_equal(v->names[v->diff->functions[0].name].text, "b");
}

static void same_is_the_same(void **state)
{
	AUTO(view_free_auto) struct view *v = compare_stacks(release_1, release_1, &shares);

	assert_sound(v);
	assert_int_equal(count_significant(v), 0);
}

static void rate_and_duration_do_not_matter(void **state)
{
	static const struct stack twice[] = {
		{"main;a", 1200}, {"main;b", 600}, {"main;c", 160}, {"main;old", 40}, {0}};
	struct view *base = view_of(build(release_1, 1, 10 * MS, "/bin/app"), &whole);
	struct view *other = view_of(build(twice, 2, 3 * MS, "/bin/app"), &whole);
	AUTO(view_free_auto) struct view *v = compare(base, other, &shares);

	assert_int_equal(count_significant(v), 0);
	assert_near(function_of(v, "a")->self.delta, 0);
}

/* The same shares, but half as much in the same time: a rate has changed, and no share. */
static void rates_compare_by_time(void **state)
{
	static const struct stack half[] = {
		{"main;a", 300}, {"main;b", 150}, {"main;c", 40}, {"main;old", 10}, {0}};
	static const struct diff_options by_time = {.norm = DIFF_TIME, .width = DIFF_OTHER};
	AUTO(view_free_auto) struct view *v = compare_stacks(release_1, half, &by_time);

	/* 6 s and 3 s of 60. */
	assert_near(function_of(v, "a")->self.delta, -0.05);
	/* (300 - 600) / sqrt(900) */
	assert_near(function_of(v, "a")->self.z, -10);
	assert_true(function_of(v, "a")->self.significant);
	assert_false(function_of(v, "old")->self.significant);
}

static void sampling_rate_is_no_change_of_time(void **state)
{
	static const struct diff_options by_time = {.norm = DIFF_TIME, .width = DIFF_OTHER};
	static const struct stack twice[] = {
		{"main;a", 1200}, {"main;b", 600}, {"main;c", 160}, {"main;old", 40}, {0}};
	struct view *base = view_of(build(release_1, 1, 10 * MS, "/bin/app"), &whole);
	struct view *other = view_of(build(twice, 2, 5 * MS, "/bin/app"), &whole);
	AUTO(view_free_auto) struct view *v = compare(base, other, &by_time);

	assert_int_equal(count_significant(v), 0);
}

static void modules_tell_names_apart_unless_asked(void **state)
{
	struct diff_options o = shares;

	for (int any = 0; any < 2; any++) {
		struct view *base = view_of(build(release_1, 1, MS, "/bin/app-1"), &whole);
		struct view *other = view_of(build(release_1, 2, MS, "/bin/app-2"), &whole);
		AUTO(view_free_auto) struct view *v = NULL;

		o.any_module = any;
		v = compare(base, other, &o);
		assert_sound(v);
		assert_int_equal(v->node_count, any ? 6 : 11);
		assert_int_equal(count_significant(v) == 0, any);
	}
}

static void processes_are_the_same_without_their_pid(void **state)
{
	static const struct view_query by_process = {.by_process = true};
	struct view *base = view_of(build(release_1, 41, MS, "/bin/app"), &by_process);
	struct view *other = view_of(build(release_1, 42, MS, "/bin/app"), &by_process);
	AUTO(view_free_auto) struct view *v = compare(base, other, &shares);

	assert_sound(v);
	assert_int_equal(v->node_count, 7);
	assert_string_equal(v->names[v->nodes[1].name].text, "app");
	assert_int_equal(count_significant(v), 0);
}

/* Whether a compiler has inlined it is no difference of what it does. */
static void inlined_functions_are_functions(void **state)
{
	static const char *const inlined[] = {"work", "main"};
	static const struct stack plain[] = {{"main;work", 100}, {0}};
	struct sample_builder b;
	uint32_t process;
	AUTO(view_free_auto) struct view *v = NULL;

	sample_begin(&b, 1);
	sample_module(&b, "/bin/app");
	process = sample_process(&b, 42, "app");
	sample_add(&b,
		sample_node(&b, process, sample_frame(&b, FRAME_USER, 0, 0x2000, inlined, 2)), 0,
		100, 100 * MS);
	v = compare(view_of(sample_end(&b), &whole),
		view_of(build(plain, 43, MS, "/bin/app"), &whole), &shares);
	assert_int_equal(v->node_count, 3);
	assert_int_equal(v->names[v->nodes[2].name].kind, VIEW_USER);
}

static void recursion_counts_once(void **state)
{
	static const struct stack deep[] = {{"main;f;g;f", 70}, {"main;f", 30}, {0}};
	AUTO(view_free_auto) struct view *v = compare_stacks(deep, deep, &shares);
	const struct diff_function *f = function_of(v, "f");

	assert_int_equal(f->side[DIFF_OTHER].samples, 100);
	assert_int_equal(f->side[DIFF_OTHER].self_samples, 100);
}

static void light_subtrees_fold_where_both_are_light(void **state)
{
	struct diff_options o = shares;
	AUTO(view_free_auto) struct view *v = NULL;

	o.min_share = 0.05;
	v = compare_stacks(release_1, release_2, &o);
	assert_sound(v);
	/* old and new have 2 % on one side and nothing on the other. */
	assert_int_equal(v->node_count, 5);
	assert_int_equal(v->diff->nodes[1].side[DIFF_BASE].self_samples, 20);
	assert_int_equal(v->diff->nodes[3].side[DIFF_OTHER].self_samples, 620);
	assert_int_equal(v->folded_nodes, 2);
	assert_int_equal(v->folded_weight, 200 * MS);
}

static void few_samples_say_nothing(void **state)
{
	static const struct stack without[] = {{"main;a", 96}, {0}};
	static const struct stack with[] = {{"main;a", 90}, {"main;b", 6}, {0}};
	AUTO(view_free_auto) struct view *v = compare_stacks(without, with, &shares);

	assert_near(function_of(v, "b")->self.z, 0);
	assert_int_equal(count_significant(v), 0);
}

static void tiny_change_is_none_whatever_the_samples(void **state)
{
	static const struct stack one[] = {{"main;a", 50000000}, {"main;b", 50000000}, {0}};
	static const struct stack other[] = {{"main;a", 50400000}, {"main;b", 49600000}, {0}};
	AUTO(view_free_auto) struct view *v = compare_stacks(one, other, &shares);

	assert_true(function_of(v, "a")->self.z > 50);
	assert_int_equal(count_significant(v), 0);
}

static void empty_sides_compare(void **state)
{
	static const struct stack none[] = {{0}};
	AUTO(view_free_auto) struct view *gone = compare_stacks(release_1, none, &shares);
	AUTO(view_free_auto) struct view *nothing = compare_stacks(none, none, &shares);

	assert_sound(gone);
	assert_int_equal(gone->total, 0);
	assert_int_equal(count_significant(gone), 0);
	assert_int_equal(nothing->node_count, 1);
}

/* ---- chance ---- */

#define FUNCTIONS 40

static struct view *random_program(unsigned *seed, unsigned samples)
{
	struct stack stacks[FUNCTIONS + 1] = {0};
	char chains[FUNCTIONS][32];

	for (unsigned i = 0; i < FUNCTIONS; i++) {
		snprintf(chains[i], sizeof(chains[i]), "main;g%u;f%u", i % 4, i);
		stacks[i].chain = chains[i];
	}
	/* Some have much and most little. */
	for (unsigned i = 0; i < samples; i++) {
		double u = (double)rand_r(seed) / ((double)RAND_MAX + 1);

		stacks[(unsigned)(FUNCTIONS * u * u * u)].samples++;
	}
	return view_of(build(stacks, 1, MS, "/bin/app"), &whole);
}

/* The same program twice differs by chance alone: rarely may any of its functions be said to have
 * changed. */
static void chance_is_not_taken_for_a_change(void **state)
{
	unsigned seed = 1, wrong = 0;

	for (unsigned i = 0; i < 200; i++) {
		struct view *base = random_program(&seed, 2000 + i);
		struct view *other = random_program(&seed, 1000);
		AUTO(view_free_auto) struct view *v = compare(base, other, &shares);
		bool any = false;

		for (uint32_t k = 0; k < v->diff->function_count; k++)
			any |= v->diff->functions[k].self.significant;
		wrong += any;
	}
	/* One in twenty is what it is made for: 10, and three standard errors of that. */
	assert_in_range(wrong, 0, 19);
}

/* ---- formats ---- */

static void write_all(struct view *v, enum render_format format, struct buf *into)
{
	AUTO(render_free_auto) struct render *r = NULL;

	assert_int_equal(render_new(format, v, NULL, &r), 0);
	while (render_more(r, into) > 0)
		;
	assert_int_equal(into->error, 0);
}

static void folded_has_both(void **state)
{
	AUTO(buf_done) struct buf text = BUF_INIT;
	static const struct stack half[] = {{"main;a", 150}, {"main;b;new", 350}, {0}};

	/* 1000 samples in base as if they were 500. */
	write_all(compare_stacks(release_1, half, &shares), RENDER_FOLDED, &text);
	assert_string_equal(text.data,
		"main;a 300 150\nmain;b 150 0\nmain;b;new 0 350\nmain;c 40 0\nmain;old 10 0\n");
}

static int length_of(const cJSON *json, const char *key)
{
	const cJSON *array = cJSON_GetObjectItem(json, key);

	if (!cJSON_IsArray(array))
		fail_msg("no array %s", key);
	return cJSON_GetArraySize(array);
}

static void json_is_whole(void **state)
{
	static const char *const columns[] = {"depth", "name", "self_base", "self_other",
		"samples_base", "samples_other", "z", "significant"};
	AUTO(buf_done) struct buf text = BUF_INIT;
	AUTO(cJSON_Delete_auto) cJSON *json = NULL;
	const cJSON *first;

	write_all(compare_stacks(release_1, release_2, &shares), RENDER_JSON, &text);
	json = cJSON_Parse(text.data);
	assert_non_null(json);
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		assert_int_equal(length_of(json, columns[i]), 7);
	assert_int_equal(length_of(json, "names"), length_of(json, "name_module"));
	assert_int_equal(length_of(json, "functions"), 6);
	first = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "functions"), 1);
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(first, "name")), "a");
	assert_near(cJSON_GetNumberValue(cJSON_GetObjectItem(first, "delta_share")), -0.3);
	assert_true(cJSON_IsTrue(cJSON_GetObjectItem(first, "significant_share")));
	assert_non_null(strstr(text.data,
		"{\"version\":1,\"base\":{\"total\":10000000000,"
		"\"samples\":1000,\"scale\":10000000000,\"session\":{"));
	assert_non_null(strstr(text.data, "\"norm\":\"share\",\"z_limit\":2.638,"));
	assert_non_null(strstr(text.data, "\"significant\":[0,0,1,1,1,0,1]"));
}

static void text_has_what_changed(void **state)
{
	AUTO(buf_done) struct buf text = BUF_INIT;
	AUTO(buf_done) struct buf same = BUF_INIT;

	write_all(compare_stacks(release_1, release_2, &shares), RENDER_TEXT, &text);
	assert_non_null(strstr(text.data,
		"        60.00     30.00    -30.00         60.00     30.00    -30.00    -13.5  "
		"app                       a\n"));
	assert_non_null(strstr(text.data, "\n4 of 6 functions have changed significantly.\n"));
	assert_null(strstr(text.data, " c\n"));
	write_all(compare_stacks(release_1, release_1, &shares), RENDER_TEXT, &same);
	assert_non_null(strstr(same.data, "\n0 of 5 functions have changed significantly.\n"));
}

static void picture_shows_the_change(void **state)
{
	AUTO(buf_done) struct buf other = BUF_INIT;
	AUTO(buf_done) struct buf base = BUF_INIT;
	struct diff_options o = shares;

	write_all(compare_stacks(release_1, release_2, &shares), RENDER_SVG, &other);
	assert_non_null(strstr(other.data, "class=\"flame ck compared\""));
	/* a by over 10 %, b the same way up, c not at all; old is not there, and is said. */
	assert_non_null(strstr(other.data, "<rect class=\"d0\" data-w=\"2 3000000000\""));
	assert_non_null(strstr(other.data, "<rect class=\"d8\" data-w=\"2 6200000000\""));
	assert_non_null(strstr(other.data, "<rect class=\"d4\" data-w=\"2 800000000\""));
	assert_non_null(strstr(other.data, "60.00% of base, 30.00% of other, z -13.5</title>"));
	assert_non_null(strstr(other.data, "Gone: old 2.00%."));
	assert_null(strstr(other.data, "<title>old"));
	o.width = DIFF_BASE;
	write_all(compare_stacks(release_1, release_2, &o), RENDER_SVG, &base);
	assert_non_null(strstr(base.data, "<title>old"));
	assert_null(strstr(base.data, "<title>new"));
	assert_non_null(strstr(base.data, "New, and not drawn: new 2.00%."));
}

static void no_memory_is_survived(void **state)
{
	unsigned failed = 0;

	for (long after = 0; after < 80; after++) {
		struct view *base = view_of(build(release_1, 1, MS, "/bin/app"), &whole);
		struct view *other = view_of(build(release_2, 2, MS, "/bin/app"), &whole);
		struct view *v = NULL;
		int r;

		alloc_fail_after = after;
		r = diff_new(base, other, &shares, &v);
		alloc_fail_after = -1;
		assert_true(r == 0 || r == -ENOMEM);
		assert_int_equal(r == 0, v != NULL);
		failed += r < 0;
		view_free(v);
	}
	assert_in_range(failed, 10, 79);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(releases_are_compared),
		cmocka_unit_test(same_is_the_same),
		cmocka_unit_test(rate_and_duration_do_not_matter),
		cmocka_unit_test(rates_compare_by_time),
		cmocka_unit_test(sampling_rate_is_no_change_of_time),
		cmocka_unit_test(modules_tell_names_apart_unless_asked),
		cmocka_unit_test(processes_are_the_same_without_their_pid),
		cmocka_unit_test(inlined_functions_are_functions),
		cmocka_unit_test(recursion_counts_once),
		cmocka_unit_test(light_subtrees_fold_where_both_are_light),
		cmocka_unit_test(few_samples_say_nothing),
		cmocka_unit_test(tiny_change_is_none_whatever_the_samples),
		cmocka_unit_test(empty_sides_compare),
		cmocka_unit_test(chance_is_not_taken_for_a_change),
		cmocka_unit_test(folded_has_both),
		cmocka_unit_test(json_is_whole),
		cmocka_unit_test(text_has_what_changed),
		cmocka_unit_test(picture_shows_the_change),
		cmocka_unit_test(no_memory_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
