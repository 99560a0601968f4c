/* Profiles in JSON: as a tree, by function, and two of them compared. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>

#include "base/significance.h"
#include "cli/difference.h"
#include "tests/unit/profile_text.h"

static void nodes_know_their_sums(void **state)
{
	AUTO(tree_free_auto) struct tree *t = parsed(PROFILE);

	assert_int_equal(t->node_count, 5);
	assert_string_equal(t->names[t->nodes[2].name].text, "work");
	assert_int_equal(t->nodes[4].parent, 3);
	assert_true(t->nodes[0].total == 1000 && t->nodes[1].total == 1000);
	assert_true(t->nodes[3].total == 300 && t->nodes[1].self_samples == 10);
	assert_int_equal(t->names[3].kind, TREE_KERNEL);
	assert_string_equal(t->names[3].module, "[kernel]");
}

static void what_is_no_profile_is_refused(void **state)
{
	static const char *const bad[] = {"", "{}", "[]", "nonsense", "{\"names\":[],\"self\":[1]}",
		/* a step of two levels down, a name that is not there */
		"{\"modules\":[],\"kinds\":[],\"names\":[\"a\"],\"name_module\":[0],\"name_kind\":["
		"0],"
		"\"depth\":[0,2],\"name\":[0,0],\"self\":[1,1],\"samples_total\":[1,1]}",
		"{\"modules\":[],\"kinds\":[],\"names\":[\"a\"],\"name_module\":[0],\"name_kind\":["
		"0],"
		"\"depth\":[0],\"name\":[1],\"self\":[1],\"samples_total\":[1]}",
		"{\"modules\":[],\"kinds\":[],\"names\":[\"a\"],\"name_module\":[0],\"name_kind\":["
		"0],"
		"\"depth\":[0],\"name\":[-1],\"self\":[1],\"samples_total\":[1]}"};
	struct tree *t = NULL;

	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(tree_parse(bad[i], strlen(bad[i]), &t), -EINVAL);
	assert_null(t);
}

static const struct function *find(const struct function *f, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(f[i].name, name) == 0)
			return &f[i];
	return NULL;
}

static void recursion_counts_once(void **state)
{
	AUTO(tree_free_auto) struct tree *t = parsed(PROFILE);
	AUTO(free_auto) struct function *f = NULL;
	const struct function *m;
	size_t count;

	assert_int_equal(tree_functions(t, &f, &count), 0);
	assert_int_equal(count, 3); /* the root is none */
	m = find(f, count, "main");
	assert_true(m->self == 100 && m->total == 1000 && m->total_samples == 100);
	functions_sort(f, count, false);
	assert_string_equal(f[0].name, "work");
	functions_sort(f, count, true);
	assert_string_equal(f[0].name, "main");
}

static void a_filter_looks_at_name_and_module(void **state)
{
	const struct function f = {.name = "Parser::next", .module = "libfoo.so"};

	assert_true(function_matches(&f, "parser"));
	assert_true(function_matches(&f, "FOO"));
	assert_true(function_matches(&f, ""));
	assert_false(function_matches(&f, "bar"));
}

static void two_proportions(void **state)
{
	/* 50 of 100 and 70 of 100: p = 0.6, deviation = sqrt(0.24 / 50) = 0.0693. */
	assert_true(fabs(significance_z(50, 100, 70, 100, true) - 0.2 / 0.0692820323) < 1e-6);
	assert_true(significance_z(70, 100, 50, 100, true) < 0);
	/* Too few to tell. */
	assert_true(significance_z(0, 100, 9, 100, true) == 0);
	assert_true(significance_z(100, 100, 91, 100, true) == 0);
	assert_true(significance_z(5, 0, 7, 10, true) == 0);
	assert_true(significance_z(0, 10, 0, 10, true) == 0);
}

static void more_tests_want_more(void **state)
{
	assert_true(fabs(significance_limit(1) - 1.96) < 0.001);
	assert_true(fabs(significance_limit(10) - 2.807) < 0.001); /* 0.05 / 10 on both sides */
	assert_true(significance_limit(1000) > 4 && significance_limit(1000) < 4.1);
	assert_true(significance_limit(0) == significance_limit(1));
}

static void the_largest_change_is_first(void **state)
{
	AUTO(tree_free_auto) struct tree *a = parsed(PROFILE);
	AUTO(tree_free_auto) struct tree *b = parsed(PROFILE_TEXT("200", "100", "700"));
	AUTO(free_auto) struct difference *d = NULL;
	size_t count;

	assert_int_equal(difference_make(a, b, false, &d, &count), 0);
	assert_int_equal(count, 3);
	assert_string_equal(d[0].name, "idle"); /* as large as that of work: by name */
	assert_true(fabs(d[0].self_a - 30) < 1e-9 && fabs(d[0].self_b - 70) < 1e-9);
	assert_string_equal(d[1].name, "work");
	assert_true(fabs(d[1].self_b - d[1].self_a + 40) < 1e-9);
	assert_string_equal(d[2].name, "main");
	assert_true(d[2].self_a == d[2].self_b);
	assert_false(d[2].self_significant);
}

static void what_one_lacks_is_nothing_there(void **state)
{
	static const struct function a[] = {
		{.name = "a", .module = ""}, {.name = "b", .module = "x"}};
	static const struct function b[] = {
		{.name = "b", .module = "x"}, {.name = "b", .module = "y"}};
	AUTO(free_auto) struct function_pair *pairs = NULL;
	size_t count;

	assert_int_equal(functions_join(a, 2, b, 2, &pairs, &count), 0);
	assert_int_equal(count, 3);
	assert_true(pairs[0].a == &a[0] && !pairs[0].b);
	assert_true(pairs[1].a == &a[1] && pairs[1].b == &b[0]);
	assert_true(!pairs[2].a && pairs[2].b == &b[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_know_their_sums),
		cmocka_unit_test(what_is_no_profile_is_refused),
		cmocka_unit_test(recursion_counts_once),
		cmocka_unit_test(a_filter_looks_at_name_and_module),
		cmocka_unit_test(two_proportions),
		cmocka_unit_test(more_tests_want_more),
		cmocka_unit_test(the_largest_change_is_first),
		cmocka_unit_test(what_one_lacks_is_nothing_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
