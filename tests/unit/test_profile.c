#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "daemon/tree/intern.h"
#include "daemon/tree/ledger.h"
#include "tests/unit/failing_alloc.h"
#include "tests/unit/profile_samples.h"

static void texts_are_kept_once(void **state)
{
	AUTO(texts_free_auto) struct texts *t = NULL;
	char name[32];

	assert_int_equal(texts_new(1 << 20, &t), 0);
	assert_int_equal(texts_add(t, "", 0), 0);
	for (unsigned i = 0; i < 5000; i++) {
		int n = snprintf(name, sizeof(name), "name-%u", i);
		int64_t off = texts_add(t, name, (size_t)n);

		assert_true(off > 0);
		assert_int_equal(texts_add(t, name, (size_t)n), off);
		assert_string_equal(texts_get(t, (uint32_t)off), name);
	}
	/* A beginning of one that is there is another. */
	assert_string_equal(texts_get(t, (uint32_t)texts_add(t, "name-1", 6)), "name-1");
	assert_string_equal(texts_get(t, (uint32_t)texts_add(t, "name-10xx", 7)), "name-10");
	assert_int_equal(texts_add(t, "a\0b", 3), texts_add(t, "a", 1));
	assert_string_equal(texts_get(t, UINT32_MAX), "");
}

static void texts_have_a_cap(void **state)
{
	AUTO(texts_free_auto) struct texts *t = NULL;

	assert_int_equal(texts_new(10, &t), 0);
	assert_true(texts_add(t, "1234", 4) > 0);
	assert_int_equal(texts_add(t, "12345", 5), -ENOSPC);
	assert_true(texts_add(t, "123", 3) > 0);
	assert_int_equal(texts_add(t, "x", 1), -ENOSPC);
	assert_true(texts_add(t, "1234", 4) > 0);
}

static void texts_of_a_profile_keep_their_offsets(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = sample_small();
	AUTO(texts_free_auto) struct texts *t = NULL;
	uint32_t app = p->processes[0].comm;
	int64_t added;

	assert_int_equal(texts_from(p, 1 << 20, &t), 0);
	assert_int_equal(texts_add(t, "app", 3), app);
	added = texts_add(t, "something new", 13);
	assert_true(added >= p->text_bytes);
	texts_give(t, p);
	assert_int_equal(profile_check(p), 0);
	assert_string_equal(profile_text(p, app), "app");
	assert_string_equal(profile_text(p, (uint32_t)added), "something new");
}

static void copy_is_equal_but_for_names(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = sample_small();
	AUTO(profile_unref_auto) struct profile *copy = NULL;

	assert_int_equal(profile_copy(p, NULL, &copy), 0);
	assert_int_equal(profile_check(copy), 0);
	assert_null(copy->name_starts);
	assert_int_equal(copy->node_count, p->node_count);
	assert_memory_equal(copy->nodes, p->nodes, p->node_count * sizeof(*p->nodes));
	assert_memory_equal(copy->frames, p->frames, p->frame_count * sizeof(*p->frames));
	assert_memory_equal(copy->self_weight, p->self_weight, p->node_count * sizeof(uint64_t));
	assert_memory_equal(&copy->meta, &p->meta, sizeof(p->meta));
	assert_memory_equal(&copy->ledger, &p->ledger, sizeof(p->ledger));
	assert_memory_equal(copy->text, p->text, p->text_bytes);
}

static void copy_of_a_head_works(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = NULL, *copy = NULL;

	assert_int_equal(profile_new(&p), 0);
	assert_string_equal(profile_text(p, 0), "");
	assert_string_equal(profile_text(p, 5), "");
	p->meta.name = (uint32_t)profile_add_text(p, "head", 4);
	assert_int_equal(profile_copy(p, NULL, &copy), 0);
	assert_string_equal(profile_text(copy, copy->meta.name), "head");
	assert_int_equal(profile_check(copy), 0);
}

static void copy_without_memory_fails_whole(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = sample_small();

	for (long after = 0; after < 20; after++) {
		struct profile *copy = NULL;
		int r;

		alloc_fail_after = after;
		r = profile_copy(p, NULL, &copy);
		alloc_fail_after = -1;
		assert_true(r == 0 || r == -ENOMEM);
		if (r == 0)
			assert_int_equal(profile_check(copy), 0);
		else
			assert_null(copy);
		profile_unref(copy);
	}
}

/* Sets one place wrong, and sets it right again. */
#define REFUSED(p, place, wrong)                              \
	do {                                                  \
		__typeof__(place) kept_ = (place);            \
		(place) = (wrong);                            \
		assert_int_equal(profile_check(p), -EBADMSG); \
		(place) = kept_;                              \
		assert_int_equal(profile_check(p), 0);        \
	} while (0)

static void what_is_out_of_bounds_is_refused(void **state)
{
	struct sample_builder b;
	AUTO(profile_unref_auto) struct profile *p = NULL;
	uint32_t node, thread, jit, named;

	sample_begin(&b, 2);
	node = sample_chain(&b, sample_process(&b, 4, "x"), sample_module(&b, "/m"), "a;b");
	thread = sample_thread(&b, 4, 0, "t");
	sample_log(&b, node, thread, 1, 5, 6);
	jit = sample_frame(&b, FRAME_JIT, 0, 1, NULL, 0);
	named = sample_frame(&b, FRAME_NAMED, NAMED_KERNEL, sample_text(&b, "f"), NULL, 0);
	p = sample_end(&b);

	REFUSED(p, p->meta.name, p->text_bytes);
	REFUSED(p, p->meta.warnings, UINT32_MAX);
	REFUSED(p, p->events[1].name, p->text_bytes);
	REFUSED(p, p->event_count, PROFILE_EVENTS_MAX + 1);
	REFUSED(p, p->text[0], 'x');
	REFUSED(p, p->text[p->text_bytes - 1], 'x');
	REFUSED(p, p->modules[0].path, p->text_bytes);
	REFUSED(p, p->modules[0].build_id, p->text_bytes);
	REFUSED(p, p->processes[0].comm, p->text_bytes);
	REFUSED(p, p->threads[0].comm, p->text_bytes);
	REFUSED(p, p->threads[0].process, 1);
	REFUSED(p, p->frames[p->nodes[node].frame].module, 1);
	REFUSED(p, p->frames[p->nodes[node].frame].kind, FRAME_KINDS);
	REFUSED(p, p->frames[p->nodes[node].frame].kind, FRAME_ROOT);
	REFUSED(p, p->frames[p->nodes[node].frame].kind, FRAME_PROCESS);
	REFUSED(p, p->frames[p->nodes[1].frame].addr, 1);
	REFUSED(p, p->frames[p->nodes[1].frame].kind, FRAME_KERNEL);
	REFUSED(p, p->frames[0].kind, FRAME_KERNEL);
	REFUSED(p, p->frames[jit].module, 1);
	REFUSED(p, p->frames[named].module, NAMED_KINDS);
	REFUSED(p, p->frames[named].addr, p->text_bytes);
	REFUSED(p, p->frames[named].addr, 0);
	REFUSED(p, p->nodes[node].parent, node);
	REFUSED(p, p->nodes[node].frame, p->frame_count);
	REFUSED(p, p->nodes, NULL);
	REFUSED(p, p->frames, NULL);
	REFUSED(p, p->self_weight, NULL);
	REFUSED(p, p->log[0].node, p->node_count);
	REFUSED(p, p->log[0].thread, 1);
	REFUSED(p, p->log, NULL);
	REFUSED(p, p->name_starts[1], 9);
	REFUSED(p, p->name_starts[0], 1);
	REFUSED(p, p->name_frames[0].name, p->text_bytes);
	REFUSED(p, p->name_frames[0].file, p->text_bytes);
	REFUSED(p, p->name_frames, NULL);
	/* The other event's nodes have 5 and 0. */
	p->self_weight[p->node_count + 1] = 1;
	REFUSED(p, p->self_weight[p->node_count + node], UINT64_MAX);
	p->log[0].event = 2;
	assert_int_equal(profile_check(p), -EBADMSG);
}

static void ends_have_names(void **state)
{
	assert_string_equal(ledger_end_name(LEDGER_ROOT), "root");
	assert_string_equal(ledger_end_name(LEDGER_ERROR), "error");
	assert_null(ledger_end_name(LEDGER_END_COUNT));
	for (unsigned i = 0; i < LEDGER_END_COUNT; i++)
		assert_non_null(ledger_end_name(i));
	assert_string_equal(ledger_source_name(LEDGER_FROM_NOTHING), "none");
	assert_null(ledger_source_name(LEDGER_SOURCE_COUNT));
	for (unsigned i = 0; i < LEDGER_SOURCE_COUNT; i++)
		assert_non_null(ledger_source_name(i));
}

static void fields_have_names_and_values(void **state)
{
	struct ledger l = {.samples = 1, .lost = 2, .counted_ns = 3};
	uint64_t value, sum = 0;
	const char *name;
	unsigned i;

	for (i = 0; ledger_field(&l, i, &name, &value); i++) {
		sum += value;
		if (strcmp(name, "lost") == 0)
			assert_int_equal(value, 2);
	}
	assert_int_equal(sum, 6);
	assert_int_equal(i, sizeof(l) / 8 - LEDGER_ENDS - LEDGER_SOURCES);
}

static void share_of_whole_stacks_is_not_flattered(void **state)
{
	struct ledger l = {0};

	assert_int_equal(ledger_whole_permille(&l), -1);
	l.unwind_ends[LEDGER_ROOT] = 1999;
	l.unwind_ends[LEDGER_STACK_CUT] = 1;
	assert_int_equal(ledger_whole_permille(&l), 999);
	l.unwind_ends[LEDGER_STACK_CUT] = 0;
	assert_int_equal(ledger_whole_permille(&l), 1000);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_kept_once),
		cmocka_unit_test(texts_have_a_cap),
		cmocka_unit_test(texts_of_a_profile_keep_their_offsets),
		cmocka_unit_test(copy_is_equal_but_for_names),
		cmocka_unit_test(copy_of_a_head_works),
		cmocka_unit_test(copy_without_memory_fails_whole),
		cmocka_unit_test(what_is_out_of_bounds_is_refused),
		cmocka_unit_test(ends_have_names),
		cmocka_unit_test(fields_have_names_and_values),
		cmocka_unit_test(share_of_whole_stacks_is_not_flattered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
