#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "base/buf.h"
#include "daemon/render/view.h"
#include "tests/unit/failing_alloc.h"
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

/* Preorder, sums and order of siblings, whatever the view. */
static void assert_sound(const struct view *v)
{
	uint64_t self = 0, samples = 0;

	assert_true(v->node_count > 0);
	assert_int_equal(v->nodes[0].depth, 0);
	assert_int_equal(v->names[v->nodes[0].name].kind, VIEW_ROOT);
	for (uint32_t i = 0; i < v->node_count; i++) {
		const struct view_node *n = &v->nodes[i];
		uint64_t children = 0, child_samples = 0;
		uint32_t before = UINT32_MAX;

		assert_true(n->name < v->name_count);
		if (i > 0)
			assert_in_range(n->depth, 1, v->nodes[i - 1].depth + 1);
		self += n->self;
		samples += n->self_samples;
		/* A chain is its own check: looking below each node of a deep one takes too long.
		 */
		if (v->node_count > 20000)
			continue;
		for (uint32_t k = i + 1; k < v->node_count && v->nodes[k].depth > n->depth; k++) {
			if (v->nodes[k].depth != n->depth + 1)
				continue;
			children += v->nodes[k].total;
			child_samples += v->nodes[k].samples;
			if (before != UINT32_MAX)
				assert_true(v->nodes[k].name > before);
			before = v->nodes[k].name;
		}
		assert_int_equal(n->total, n->self + children);
		assert_int_equal(n->samples, n->self_samples + child_samples);
	}
	assert_int_equal(self, v->total);
	assert_int_equal(samples, v->samples);
	assert_int_equal(v->nodes[0].total, v->total);
	assert_int_equal(v->nodes[0].samples, v->samples);
}

/* "depth:name=self/samples …", root left out. */
static void assert_nodes(const struct view *v, const char *want)
{
	AUTO(buf_done) struct buf got = BUF_INIT;

	assert_sound(v);
	buf_append_str(&got, "");
	for (uint32_t i = 1; i < v->node_count; i++)
		buf_printf(&got, "%s%u:%s=%llu", i > 1 ? " " : "", v->nodes[i].depth, text_at(v, i),
			(unsigned long long)v->nodes[i].self_samples);
	assert_string_equal(got.data, want);
}

static void assert_view(const struct profile *p, const struct view_query *q, const char *want)
{
	AUTO(view_free_auto) struct view *v = view_of(p, q);

	assert_nodes(v, want);
}

static void functions_come_in_preorder(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = sample_small();
	struct view_query q = {.event = -1, .by_process = true};
	AUTO(view_free_auto) struct view *v = view_of(p, &q);

	assert_nodes(v, "1:app (42)=0 2:main=10 3:sin=10 3:work=0 4:cold=20 4:hot=60");
	assert_int_equal(v->total, 1000000000);
	assert_int_equal(v->samples, 100);
	assert_int_equal(v->nodes[6].self, 600000000);
	assert_int_equal(v->nodes[4].total, 800000000);
	assert_string_equal(v->names[v->nodes[3].name].module, "libm.so.6");
	assert_int_equal(v->names[v->nodes[3].name].kind, VIEW_USER);
	assert_int_equal(v->names[v->nodes[1].name].kind, VIEW_PROCESS);
	assert_int_equal(v->query.event, 0);
}

static void processes_merge_when_nobody_asks_for_them(void **state)
{
	struct sample_builder b;
	AUTO(profile_unref_auto) struct profile *p = NULL;
	struct view_query plain = {0}, split = {.by_process = true}, one = {.pid = 11},
			  none = {.pid = 12};
	uint32_t m;

	sample_begin(&b, 1);
	m = sample_module(&b, "/usr/bin/app");
	for (int i = 0; i < 3; i++) {
		uint32_t process = sample_process(&b, i < 2 ? 10 : 11, "app");

		sample_add(&b, sample_chain(&b, process, m, "main;work"), 0, 1u << i, 5);
		sample_add(&b, process, 0, 1, 1);
	}
	p = sample_end(&b);
	assert_view(p, &plain, "1:main=0 2:work=7");
	/* The pid came back: not the same process. */
	assert_view(p, &split,
		"1:app (10)=1 2:main=0 3:work=1 1:app (10) #2=1 2:main=0 3:work=2 "
		"1:app (11)=1 2:main=0 3:work=4");
	assert_view(p, &one, "1:main=0 2:work=4");
	assert_view(p, &none, "");
}

static void addresses_of_a_function_are_one_node(void **state)
{
	static const char *const work[] = {"work"};
	struct sample_builder b;
	AUTO(profile_unref_auto) struct profile *p = NULL;
	struct view_query q = {0}, lines = {.lines = true};
	uint32_t m, other, process, main_node;

	sample_begin(&b, 1);
	m = sample_module(&b, "/usr/bin/app");
	other = sample_module(&b, "/usr/lib/libx.so");
	process = sample_process(&b, 1, "app");
	main_node = sample_chain(&b, process, m, "main");
	for (unsigned i = 0; i < 5; i++)
		sample_add(&b,
			sample_node(&b, main_node,
				sample_frame(&b, FRAME_USER, m, 100 + i % 3, work, 1)),
			0, 1, 1);
	/* Of that name in another file: another function. */
	sample_add(&b,
		sample_node(&b, main_node, sample_frame(&b, FRAME_USER, other, 100, work, 1)), 0, 1,
		1);
	p = sample_end(&b);
	assert_view(p, &q, "1:main=0 2:work=5 2:work=1");
	assert_view(p, &lines, "1:main=0 2:work=2 2:work=2 2:work=1 2:work=1");
}

static void instances_of_a_template_fold(void **state)
{
	static const char *const of[] = {"f<int>()", "f<long>()", "g<int>"};
	struct sample_builder b;
	AUTO(profile_unref_auto) struct profile *p = NULL;
	struct view_query plain = {0}, fold = {.fold_templates = true};
	uint32_t m, process, main_node;

	sample_begin(&b, 1);
	m = sample_module(&b, "/usr/bin/app");
	process = sample_process(&b, 1, "app");
	main_node = sample_chain(&b, process, m, "main");
	for (unsigned i = 0; i < 3; i++)
		sample_add(&b,
			sample_node(&b, main_node,
				sample_frame(&b, i < 2 ? FRAME_USER : FRAME_JIT, i < 2 ? m : 0, i,
					of + i, 1)),
			0, 1, 1);
	p = sample_end(&b);
	assert_view(p, &plain, "1:main=0 2:f<int>()=1 2:f<long>()=1 2:g<int>=1");
	assert_view(p, &fold, "1:main=0 2:f<...>()=2 2:g<int>=1");
}

static void lines_are_told_only_when_asked_for(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = sample_small();
	struct view_query q = {.lines = true}, plain = {0};
	AUTO(view_free_auto) struct view *v = view_of(p, &q), *without = view_of(p, &plain);

	assert_string_equal(v->names[v->nodes[1].name].file, "/src/source.c");
	assert_true(v->names[v->nodes[1].name].line >= 10);
	assert_string_equal(without->names[without->nodes[1].name].file, "");
	assert_int_equal(without->names[without->nodes[1].name].line, 0);
}

static void inlined_functions_are_levels_of_their_own(void **state)
{
	static const char *const names[] = {"inner", "mid", "outer"};
	static const char *const outer_alone[] = {"outer"};
	struct sample_builder b;
	AUTO(profile_unref_auto) struct profile *p = NULL;
	struct view_query q = {0}, inverted = {.inverted = true};
	AUTO(view_free_auto) struct view *v = NULL;
	uint32_t m, node;

	sample_begin(&b, 1);
	m = sample_module(&b, "/m");
	node = sample_process(&b, 1, "x");
	sample_add(
		&b, sample_node(&b, node, sample_frame(&b, FRAME_USER, m, 1, names, 3)), 0, 4, 4);
	sample_add(&b, sample_node(&b, node, sample_frame(&b, FRAME_USER, m, 2, names + 1, 2)), 0,
		2, 2);
	sample_add(&b, sample_node(&b, node, sample_frame(&b, FRAME_USER, m, 3, outer_alone, 1)), 0,
		1, 1);
	p = sample_end(&b);
	v = view_of(p, &q);
	assert_nodes(v, "1:outer=1 2:mid=2 3:inner=4");
	assert_int_equal(v->names[v->nodes[1].name].kind, VIEW_USER);
	assert_int_equal(v->names[v->nodes[2].name].kind, VIEW_INLINED);
	assert_int_equal(v->names[v->nodes[3].name].kind, VIEW_INLINED);
	assert_view(p, &inverted, "1:inner=0 2:mid=0 3:outer=4 1:mid=0 2:outer=2 1:outer=1");
}

static void what_has_no_name_is_said_honestly(void **state)
{
	static const char *const named[] = {"sys_read"};
	struct sample_builder b;
	AUTO(profile_unref_auto) struct profile *p = NULL;
	struct view_query q = {0};
	AUTO(view_free_auto) struct view *v = NULL;
	uint32_t lib, vdso, nothing, node;

	sample_begin(&b, 1);
	lib = sample_module(&b, "/usr/lib/libfoo.so");
	vdso = sample_module(&b, "[vdso]");
	nothing = sample_module(&b, "");
	node = sample_process(&b, 1, "x");
	sample_add(&b, sample_node(&b, node, sample_frame(&b, FRAME_USER, lib, 0x1234, NULL, 0)), 0,
		1, 1);
	sample_add(&b, sample_node(&b, node, sample_frame(&b, FRAME_USER, vdso, 0xab0, NULL, 0)), 0,
		1, 1);
	sample_add(&b, sample_node(&b, node, sample_frame(&b, FRAME_USER, nothing, 5, NULL, 0)), 0,
		1, 1);
	sample_add(&b, sample_node(&b, node, sample_frame(&b, FRAME_JIT, 0, 7, NULL, 0)), 0, 1, 1);
	sample_add(&b, sample_node(&b, node, sample_frame(&b, FRAME_JIT, 0, 8, NULL, 0)), 0, 1, 1);
	sample_add(&b,
		sample_node(&b, node,
			sample_frame(
				&b, FRAME_SPECIAL, 0, sample_text(&b, "[truncated]"), NULL, 0)),
		0, 1, 1);
	sample_add(
		&b, sample_node(&b, node, sample_frame(&b, FRAME_KERNEL, 0, 1, named, 1)), 0, 1, 1);
	sample_add(&b,
		sample_node(
			&b, node, sample_frame(&b, FRAME_KERNEL, 0, 0xffffffff81234567, NULL, 0)),
		0, 1, 1);
	p = sample_end(&b);
	v = view_of(p, &q);
	assert_nodes(v,
		"1:[jit]=2 1:[kernel+0x34567]=1 1:[libfoo.so+0x1234]=1 1:[truncated]=1 "
		"1:[unknown]=1 1:[vdso+0xab0]=1 1:sys_read=1");
	assert_true(v->names[v->nodes[3].name].unnamed);
	assert_false(v->names[v->nodes[7].name].unnamed);
	assert_string_equal(v->names[v->nodes[7].name].module, "[kernel]");
	assert_string_equal(v->names[v->nodes[1].name].module, "[jit]");
}

static void hidden_kernel_is_one_frame(void **state)
{
	struct sample_builder b;
	AUTO(profile_unref_auto) struct profile *p = NULL;
	struct view_query q = {0};
	uint32_t node, above, m;

	sample_begin(&b, 1);
	m = sample_module(&b, "/m");
	node = sample_chain(&b, sample_process(&b, 1, "x"), m, "main");
	for (unsigned i = 0; i < 4; i++) {
		above = sample_node(
			&b, node, sample_frame(&b, FRAME_KERNEL, 0, ~0ull - i * 99, NULL, 0));
		sample_add(&b, above, 0, 1, 1);
		above = sample_node(
			&b, above, sample_frame(&b, FRAME_KERNEL, 0, ~0ull - i * 99 - 9, NULL, 0));
		sample_add(&b, above, 0, 1, 1);
	}
	p = sample_end(&b);
	assert_view(p, &q, "1:main=0 2:[kernel]=8");
	q.inverted = true;
	assert_view(p, &q, "1:[kernel]=0 2:main=8");
}

static void profile_that_nobody_named_is_shown(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = sample_small();
	AUTO(profile_unref_auto) struct profile *copy = NULL;
	struct view_query q = {0};
	AUTO(view_free_auto) struct view *v = NULL;

	assert_int_equal(profile_copy(p, NULL, &copy), 0);
	v = view_of(copy, &q);
	assert_sound(v);
	assert_int_equal(v->samples, 100);
	assert_int_equal(v->node_count, 6);
	for (uint32_t i = 1; i < v->node_count; i++)
		assert_true(v->names[v->nodes[i].name].unnamed);
}

static void broken_names_stay_apart(void **state)
{
	struct sample_builder b;
	AUTO(profile_unref_auto) struct profile *p = NULL;
	struct view_query q = {0};
	uint32_t m, process;

	sample_begin(&b, 1);
	m = sample_module(&b, "/m");
	process = sample_process(&b, 1, "x");
	sample_add(&b, sample_chain(&b, process, m, "bad\xff"), 0, 1, 1);
	sample_add(&b, sample_chain(&b, process, m, "bad\xfe"), 0, 1, 1);
	p = sample_end(&b);
	assert_view(p, &q, "1:bad\xfe=1 1:bad\xff=1");
}

static void inverted_view_begins_at_the_leaves(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = sample_small();
	struct view_query q = {.inverted = true};
	struct view_query split = {.inverted = true, .by_process = true, .max_depth = 2};

	assert_view(p, &q,
		"1:cold=0 2:work=0 3:main=20 1:hot=0 2:work=0 3:main=60 1:main=10 1:sin=0 "
		"2:main=10");
	assert_view(p, &split, "1:app (42)=0 2:cold=20 2:hot=60 2:main=10 2:sin=10");
}

static void small_subtrees_fold_into_their_parent(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = sample_small();
	struct view_query q = {.min_share = 0.15};
	AUTO(view_free_auto) struct view *v = view_of(p, &q);

	assert_nodes(v, "1:main=20 2:work=0 3:cold=20 3:hot=60");
	assert_int_equal(v->folded_weight, 100000000);
	assert_int_equal(v->folded_nodes, 1);
	view_free(v);
	q.min_share = 0.65;
	v = view_of(p, &q);
	assert_nodes(v, "1:main=20 2:work=80");
	assert_int_equal(v->folded_nodes, 3);
	view_free(v);
	q.min_share = 2;
	v = view_of(p, &q);
	assert_nodes(v, "");
	assert_int_equal(v->nodes[0].self, v->total);
	assert_int_equal(v->folded_weight, v->total);
	assert_int_equal(v->folded_nodes, 5);
}

static void depth_has_an_end_when_asked_for(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = sample_small();
	struct view_query q = {.max_depth = 2};
	AUTO(view_free_auto) struct view *v = view_of(p, &q);

	assert_nodes(v, "1:main=10 2:sin=10 2:work=80");
	assert_int_equal(v->folded_weight, 800000000);
	assert_int_equal(v->folded_nodes, 2);
}

static void events_are_apart(void **state)
{
	struct sample_builder b;
	AUTO(profile_unref_auto) struct profile *p = NULL;
	struct view_query q = {.event = 1}, none = {.event = 2};
	struct view *v = NULL;
	uint32_t node;

	sample_begin(&b, 2);
	node = sample_chain(&b, sample_process(&b, 1, "x"), sample_module(&b, "/m"), "f");
	sample_add(&b, node, 0, 3, 30);
	sample_add(&b, node, 1, 4, 44);
	p = sample_end(&b);
	v = view_of(p, &q);
	assert_nodes(v, "1:f=4");
	assert_int_equal(v->total, 44);
	view_free(v);
	v = NULL;
	assert_int_equal(view_new(p, &none, &v), -EINVAL);
	assert_null(v);
}

/* Two processes of two threads each, one sample a second: thread i of 4 has those with t % 4 == i.
 */
static struct profile *logged(uint32_t seconds, uint64_t log_from_ns)
{
	static const char *const chains[] = {"main;a", "main;b", "main;a;c", "main"};
	struct sample_builder b;
	uint32_t m, process[2], thread[4];

	sample_begin(&b, 2);
	m = sample_module(&b, "/m");
	for (unsigned i = 0; i < 2; i++)
		process[i] = sample_process(&b, 10 + (pid_t)i, "p");
	for (unsigned i = 0; i < 4; i++)
		thread[i] = sample_thread(&b, 20 + (pid_t)i, i / 2, i % 2 ? "odd" : "even");
	for (unsigned t = 0; t < seconds; t++)
		sample_log(&b, sample_chain(&b, process[t % 4 / 2], m, chains[t % 4]),
			thread[t % 4], 0, 10, SAMPLE_START + t * 1000000000ull);
	/* Another event is not in it. */
	sample_log(&b, process[0], thread[0], 1, 1000, SAMPLE_START);
	b.p->ledger.log_from_ns = log_from_ns;
	return sample_end(&b);
}

static void log_answers_time_ranges(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = logged(40, 0);
	struct view_query q = {
		.from_ns = SAMPLE_START + 4000000000u,
		.to_ns = SAMPLE_START + 12000000000u,
	};
	AUTO(view_free_auto) struct view *v = view_of(p, &q);

	/* From is in it, to is not. */
	assert_nodes(v, "1:main=2 2:a=2 3:c=2 2:b=2");
	assert_int_equal(v->total, 80);
	assert_int_equal(v->covers_from_ns, q.from_ns);
	assert_int_equal(v->covers_to_ns, q.to_ns);
	assert_false(v->log_short);
	q.to_ns = 0;
	q.from_ns = SAMPLE_START + 36000000000u;
	assert_view(p, &q, "1:main=1 2:a=1 3:c=1 2:b=1");
	q.from_ns = 0;
	q.to_ns = SAMPLE_START + 2000000000u;
	assert_view(p, &q, "1:main=0 2:a=1 2:b=1");
}

static void log_that_wrapped_says_so(void **state)
{
	uint64_t from = SAMPLE_START + 7000000000u;
	AUTO(profile_unref_auto) struct profile *p = logged(40, from);
	struct view_query q = {.from_ns = from - 1}, all = {0}, tid = {.tid = 20};
	AUTO(view_free_auto)
	struct view *v = view_of(p, &q), *tree = view_of(p, &all), *of_tid = view_of(p, &tid);

	assert_true(v->log_short);
	assert_int_equal(v->covers_from_ns, from);
	assert_int_equal(v->covers_to_ns, p->meta.taken_ns);
	assert_true(of_tid->log_short);
	/* The tree forgets nothing. */
	assert_false(tree->log_short);
	assert_int_equal(tree->covers_from_ns, SAMPLE_START);
	view_free(v);
	q.from_ns = from;
	v = view_of(p, &q);
	assert_false(v->log_short);
}

static void log_answers_threads(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = logged(40, 0);
	struct view_query one = {.tid = 22}, pid = {.tid = 22, .pid = 10},
			  split = {.by_thread = true},
			  both = {.by_thread = true, .by_process = true},
			  inverted = {.by_thread = true, .inverted = true, .pid = 11};

	assert_view(p, &one, "1:main=0 2:a=0 3:c=10");
	assert_view(p, &pid, "");
	assert_view(p, &split,
		"1:even (20)=0 2:main=0 3:a=10 1:even (22)=0 2:main=0 3:a=0 4:c=10 "
		"1:odd (21)=0 2:main=0 3:b=10 1:odd (23)=0 2:main=10");
	assert_view(p, &both,
		"1:p (10)=0 2:even (20)=0 3:main=0 4:a=10 2:odd (21)=0 3:main=0 4:b=10 "
		"1:p (11)=0 2:even (22)=0 3:main=0 4:a=0 5:c=10 2:odd (23)=0 3:main=10");
	assert_view(p, &inverted, "1:even (22)=0 2:c=0 3:a=0 4:main=10 1:odd (23)=0 2:main=10");
}

static void question_without_a_log_is_refused(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = sample_small();
	static const struct view_query queries[] = {
		{.from_ns = 1}, {.to_ns = 1}, {.tid = 1}, {.by_thread = true}};
	struct view_query plain = {.pid = 42, .lines = true, .inverted = true, .by_process = true};
	struct view *v = NULL;

	for (unsigned i = 0; i < 4; i++) {
		assert_true(view_query_needs_log(&queries[i]));
		assert_int_equal(view_new(p, &queries[i], &v), -ENODATA);
	}
	assert_false(view_query_needs_log(&plain));
	/* One that is there and empty has an answer. */
	p->log = calloc(1, sizeof(*p->log));
	assert_view(p, &queries[0], "");
}

static void tree_and_log_agree(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = logged(1000, 0);
	struct view_query all = {.by_process = true}, log = {.by_process = true, .from_ns = 1};
	AUTO(view_free_auto) struct view *a = view_of(p, &all), *b = view_of(p, &log);

	assert_int_equal(a->node_count, b->node_count);
	assert_memory_equal(a->nodes, b->nodes, a->node_count * sizeof(*a->nodes));
}

static void special_frame_may_stand_without_a_process(void **state)
{
	struct sample_builder b;
	AUTO(profile_unref_auto) struct profile *p = NULL;
	struct view_query q = {.by_process = true},
			  thread = {.by_thread = true, .by_process = true};
	uint32_t node, t;

	sample_begin(&b, 1);
	sample_process(&b, 1, "x");
	t = sample_thread(&b, 5, 0, "t");
	node = sample_node(
		&b, 0, sample_frame(&b, FRAME_SPECIAL, 0, sample_text(&b, "[dropped]"), NULL, 0));
	sample_log(&b, node, t, 0, 3, SAMPLE_START);
	p = sample_end(&b);
	assert_view(p, &q, "1:[dropped]=1");
	assert_view(p, &thread, "1:t (5)=0 2:[dropped]=1");
}

static void empty_profile_has_a_root(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = NULL;
	struct view_query q = {.event = -1, .by_process = true};

	assert_int_equal(profile_new(&p), 0);
	assert_view(p, &q, "");
}

/* A chain of depth functions, each with one sample. */
static struct profile *deep(uint32_t depth, bool same)
{
	struct sample_builder b;
	uint32_t m, node;

	sample_begin(&b, 1);
	m = sample_module(&b, "/m");
	node = sample_process(&b, 1, "x");
	for (uint32_t i = 0; i < depth; i++) {
		char text[32];
		const char *name = text;

		snprintf(text, sizeof(text), "f%05u", same ? 0 : i);
		node = sample_node(&b, node, sample_frame(&b, FRAME_USER, m, i, &name, 1));
		sample_add(&b, node, 0, 1, 10);
	}
	return sample_end(&b);
}

static void deep_tree_is_shown_whole(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = deep(5000, false);
	struct view_query q = {0};
	AUTO(view_free_auto) struct view *v = view_of(p, &q);

	assert_int_equal(v->node_count, 5001);
	for (uint32_t i = 1; i <= 5000; i++) {
		assert_int_equal(v->nodes[i].depth, i);
		assert_int_equal(v->nodes[i].self_samples, 1);
		assert_int_equal(v->nodes[i].samples, 5001 - i);
	}
}

static void deep_recursion_can_be_inverted(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = deep(5000, true);
	struct view_query q = {.inverted = true};
	AUTO(view_free_auto) struct view *v = view_of(p, &q);

	assert_int_equal(v->node_count, 5001);
	assert_int_equal(v->nodes[1].samples, 5000);
	assert_int_equal(v->nodes[5000].samples, 1);
	assert_int_equal(v->folded_weight, 0);
}

/* Inverted, these would be 1,000 * 1,000 / 2 nodes. */
static void limits_lose_detail_and_no_weight(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = deep(1000, false);
	struct view_query q = {.inverted = true, .max_nodes = 20000}, straight = {.max_nodes = 100};
	AUTO(view_free_auto) struct view *v = view_of(p, &q), *other = view_of(p, &straight);

	assert_int_equal(v->node_count, 20000);
	assert_int_equal(v->total, 10000);
	assert_true(v->folded_weight > 0 && v->folded_weight < v->total);
	assert_sound(v);
	assert_int_equal(other->node_count, 100);
	assert_int_equal(other->nodes[99].self_samples, 1000 - 98);
	assert_int_equal(other->folded_weight, 10 * (1000 - 99));
	assert_sound(other);
}

/* 1,000 * 1,000 / 2 steps along one chain of names. */
static void steps_have_a_limit_too(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = deep(1000, true);
	struct view_query q = {.inverted = true, .max_nodes = 10000};
	AUTO(view_free_auto) struct view *v = view_of(p, &q);

	assert_int_equal(v->total, 10000);
	assert_true(v->folded_weight > 0 && v->folded_weight < v->total);
	assert_sound(v);
}

static void wide_tree_is_shown_in_order(void **state)
{
	struct sample_builder b;
	AUTO(profile_unref_auto) struct profile *p = NULL;
	struct view_query q = {0};
	AUTO(view_free_auto) struct view *v = NULL;
	uint32_t m, process;

	sample_begin(&b, 1);
	m = sample_module(&b, "/m");
	process = sample_process(&b, 1, "x");
	for (uint32_t i = 0; i < 5000; i++) {
		char text[32];
		const char *name = text;

		snprintf(text, sizeof(text), "w%04u", i * 7919 % 5000);
		sample_add(&b,
			sample_node(&b, process, sample_frame(&b, FRAME_USER, m, i, &name, 1)), 0,
			1, 1);
	}
	p = sample_end(&b);
	v = view_of(p, &q);
	assert_sound(v);
	assert_int_equal(v->node_count, 5001);
	for (uint32_t i = 1; i <= 5000; i++) {
		char want[32];

		snprintf(want, sizeof(want), "w%04u", i - 1);
		assert_string_equal(text_at(v, i), want);
	}
}

static void lightest_subtrees_have_no_place(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = sample_small();
	AUTO(view_free_auto) struct view *whole = NULL;

	assert_int_equal(view_new(p, &(struct view_query){0}, &whole), 0);
	assert_int_equal(whole->node_count, 6);
	/* all, main 1000 ms; work 800; hot 600; cold 200; sin 100. */
	for (uint32_t most = 1; most <= 7; most++) {
		static const uint64_t folded_ms[] = {0, 1000, 900, 900, 300, 100, 0, 0};
		AUTO(view_free_auto) struct view *v = NULL;
		struct view_query query = {.max_shown = most};

		assert_int_equal(view_new(p, &query, &v), 0);
		assert_sound(v);
		assert_int_equal(v->node_count, most > 6 ? 6 : most);
		assert_int_equal(v->folded_nodes, 6 - v->node_count);
		assert_int_equal(v->folded_weight, folded_ms[most] * 1000000);
		assert_int_equal(v->total, whole->total);
	}
}

static void no_memory_is_survived(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = logged(40, 0);
	static const struct view_query queries[] = {{.by_process = true},
		{.by_thread = true, .by_process = true}, {.from_ns = 1, .inverted = true}};

	for (unsigned n = 0; n < 3; n++) {
		for (long after = 0; after < 60; after++) {
			struct view *v = NULL;
			int r;

			alloc_fail_after = after;
			r = view_new(p, &queries[n], &v);
			alloc_fail_after = -1;
			assert_true(r == 0 || r == -ENOMEM);
			if (r == 0)
				assert_sound(v);
			else
				assert_null(v);
			view_free(v);
		}
	}
	assert_int_equal(p->refs, 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_come_in_preorder),
		cmocka_unit_test(processes_merge_when_nobody_asks_for_them),
		cmocka_unit_test(addresses_of_a_function_are_one_node),
		cmocka_unit_test(lines_are_told_only_when_asked_for),
		cmocka_unit_test(instances_of_a_template_fold),
		cmocka_unit_test(inlined_functions_are_levels_of_their_own),
		cmocka_unit_test(what_has_no_name_is_said_honestly),
		cmocka_unit_test(hidden_kernel_is_one_frame),
		cmocka_unit_test(profile_that_nobody_named_is_shown),
		cmocka_unit_test(broken_names_stay_apart),
		cmocka_unit_test(inverted_view_begins_at_the_leaves),
		cmocka_unit_test(small_subtrees_fold_into_their_parent),
		cmocka_unit_test(depth_has_an_end_when_asked_for),
		cmocka_unit_test(events_are_apart),
		cmocka_unit_test(log_answers_time_ranges),
		cmocka_unit_test(log_that_wrapped_says_so),
		cmocka_unit_test(log_answers_threads),
		cmocka_unit_test(question_without_a_log_is_refused),
		cmocka_unit_test(tree_and_log_agree),
		cmocka_unit_test(special_frame_may_stand_without_a_process),
		cmocka_unit_test(empty_profile_has_a_root),
		cmocka_unit_test(deep_tree_is_shown_whole),
		cmocka_unit_test(deep_recursion_can_be_inverted),
		cmocka_unit_test(limits_lose_detail_and_no_weight),
		cmocka_unit_test(steps_have_a_limit_too),
		cmocka_unit_test(wide_tree_is_shown_in_order),
		cmocka_unit_test(lightest_subtrees_have_no_place),
		cmocka_unit_test(no_memory_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
