#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "daemon/render/view.h"
#include "tests/unit/profile_samples.h"

static struct view *view_of(const struct profile *p, const struct view_query *q)
{
	struct view *v = NULL;

	assert_int_equal(view_new(p, q, &v), 0);
	return v;
}

static const char *text_at(const struct view *v, uint32_t node)
{
	return v->names[v->nodes[node].name].text;
}

static void functions_come_in_preorder(void **state)
{
	static const struct {
		const char *name;
		uint32_t depth;
		uint64_t self, total;
	} want[] = {
		{"all", 0, 0, 100},
		{"app (42)", 1, 0, 100},
		{"main", 2, 10, 100},
		{"sin", 3, 10, 10},
		{"work", 3, 0, 80},
		{"cold", 4, 20, 20},
		{"hot", 4, 60, 60},
	};
	AUTO(profile_unref_auto) struct profile *p = sample_small();
	struct view_query q = {.event = -1, .by_process = true};
	AUTO(view_free_auto) struct view *v = view_of(p, &q);

	assert_int_equal(v->node_count, 7);
	for (unsigned i = 0; i < 7; i++) {
		assert_string_equal(text_at(v, i), want[i].name);
		assert_int_equal(v->nodes[i].depth, want[i].depth);
		assert_int_equal(v->nodes[i].self, want[i].self * 10000000);
		assert_int_equal(v->nodes[i].self_samples, want[i].self);
		assert_int_equal(v->nodes[i].total, want[i].total * 10000000);
		assert_int_equal(v->nodes[i].samples, want[i].total);
	}
	assert_int_equal(v->total, 1000000000);
	assert_int_equal(v->samples, 100);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_come_in_preorder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
