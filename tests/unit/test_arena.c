#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "tests/unit/failing_alloc.h"

AUTO_FREE_FN(struct arena, arena_free)
AUTO_FREE_FN(struct strtab, strtab_free)

static void pieces_are_zero_aligned_and_apart(void **state)
{
	AUTO(arena_free_auto) struct arena *a = NULL;
	static const char zeros[300000];
	static const size_t sizes[] = {0, 1, 15, 16, 17, 1000, 5000, 70000, 300000, 3};
	unsigned char *pieces[100];

	(void)state;
	assert_int_equal(arena_new(&a), 0);
	for (int i = 0; i < 100; i++) {
		size_t size = sizes[i % 10];

		pieces[i] = arena_alloc(a, size);
		assert_non_null(pieces[i]);
		assert_int_equal((uintptr_t)pieces[i] % 16, 0);
		assert_memory_equal(pieces[i], zeros, size);
		memset(pieces[i], i + 1, size);
	}
	for (int i = 0; i < 100; i++)
		for (size_t at = 0; at < sizes[i % 10]; at += 97)
			assert_int_equal(pieces[i][at], i + 1);
	for (int i = 1; i < 100; i++)
		assert_ptr_not_equal(pieces[i - 1], pieces[i]);
}

static void strings_of_an_arena_are_closed_copies(void **state)
{
	AUTO(arena_free_auto) struct arena *a = NULL;
	char text[] = "function";
	char *copy, *empty;

	(void)state;
	assert_int_equal(arena_new(&a), 0);
	copy = arena_strdup(a, text, 4);
	empty = arena_strdup(a, NULL, 0);
	memset(text, 'x', sizeof(text) - 1);
	assert_string_equal(copy, "func");
	assert_string_equal(empty, "");
}

static void bytes_count_what_is_held(void **state)
{
	AUTO(arena_free_auto) struct arena *a = NULL;
	size_t before;

	(void)state;
	assert_int_equal(arena_new(&a), 0);
	before = arena_bytes(a);
	for (int i = 0; i < 1000; i++)
		assert_non_null(arena_alloc(a, 160));
	assert_in_range(arena_bytes(a) - before, 160000, 160000 + (160000 / 4) + 70000);
}

static void arena_answers_null_without_memory(void **state)
{
	AUTO(arena_free_auto) struct arena *a = NULL;

	(void)state;
	alloc_fail_after = 0;
	assert_int_equal(arena_new(&a), -ENOMEM);
	alloc_fail_after = -1;
	assert_int_equal(arena_new(&a), 0);
	alloc_fail_after = 0;
	assert_null(arena_alloc(a, 16));
	assert_null(arena_strdup(a, "x", 1));
	alloc_fail_after = -1;
	assert_non_null(arena_alloc(a, 16));
	alloc_fail_after = 0;
	assert_null(arena_alloc(a, 100000));
	alloc_fail_after = -1;
	assert_null(arena_alloc(a, SIZE_MAX));
	assert_null(arena_strdup(a, "x", SIZE_MAX));
	arena_free(NULL);
}

static void equal_strings_share_an_id(void **state)
{
	AUTO(strtab_free_auto) struct strtab *t = NULL;
	uint32_t first, second, third;

	(void)state;
	assert_int_equal(strtab_new(UINT32_MAX, SIZE_MAX, &t), 0);
	assert_int_equal(strtab_id(t, "", 0, &first), 0);
	assert_int_equal(first, 0);
	assert_int_equal(strtab_id(t, "main", 4, &first), 0);
	assert_int_equal(strtab_id(t, "mainloop", 4, &second), 0);
	assert_int_equal(strtab_id(t, "mainloop", 8, &third), 0);
	assert_int_equal(first, second);
	assert_int_not_equal(first, third);
	assert_string_equal(strtab_get(t, first), "main");
	assert_string_equal(strtab_get(t, third), "mainloop");
	assert_string_equal(strtab_get(t, 0), "");
	assert_string_equal(strtab_get(t, 12345), "");
	assert_int_equal(strtab_count(t), 3);
}

static void many_strings_keep_ids_and_addresses(void **state)
{
	AUTO(strtab_free_auto) struct strtab *t = NULL;
	const char *first_text;
	uint32_t ids[5000], id;
	char name[32];

	(void)state;
	assert_int_equal(strtab_new(UINT32_MAX, SIZE_MAX, &t), 0);
	for (int i = 0; i < 5000; i++) {
		int len = snprintf(name, sizeof(name), "function_%d", i);

		assert_int_equal(strtab_id(t, name, (size_t)len, &ids[i]), 0);
		if (i == 0)
			first_text = strtab_get(t, ids[0]);
	}
	assert_ptr_equal(strtab_get(t, ids[0]), first_text);
	for (int i = 0; i < 5000; i++) {
		int len = snprintf(name, sizeof(name), "function_%d", i);

		assert_int_equal(strtab_id(t, name, (size_t)len, &id), 0);
		assert_int_equal(id, ids[i]);
		assert_string_equal(strtab_get(t, id), name);
	}
	assert_int_equal(strtab_count(t), 5001);
	assert_true(strtab_bytes(t) > 5000 * sizeof("function_0000"));
}

static void caps_refuse_the_new_but_find_the_old(void **state)
{
	AUTO(strtab_free_auto) struct strtab *t = NULL;
	AUTO(strtab_free_auto) struct strtab *small = NULL;
	uint32_t a, id = 77;
	char *text;

	(void)state;
	assert_int_equal(strtab_new(3, SIZE_MAX, &t), 0); /* "" is one of the three */
	assert_int_equal(strtab_id(t, "a", 1, &a), 0);
	assert_int_equal(strtab_id(t, "b", 1, &id), 0);
	id = 77;
	assert_int_equal(strtab_id(t, "c", 1, &id), -ENOSPC);
	assert_int_equal(id, 77);
	assert_int_equal(strtab_id(t, "a", 1, &id), 0);
	assert_int_equal(id, a);

	assert_int_equal(strtab_new(UINT32_MAX, 100000, &small), 0);
	text = calloc(1, 200000);
	memset(text, 'x', 200000);
	assert_int_equal(strtab_id(small, text, 200000, &id), -ENOSPC);
	assert_int_equal(strtab_id(small, text, 2000, &id), 0);
	free(text);
	assert_true(strtab_bytes(small) <= 100000 + 64 * 1024);
}

static void strtab_stays_whole_when_memory_fails(void **state)
{
	AUTO(strtab_free_auto) struct strtab *t = NULL;
	char name[32];
	uint32_t id;

	(void)state;
	for (long allowed = 0; allowed < 4; allowed++) {
		alloc_fail_after = allowed;
		assert_int_equal(strtab_new(UINT32_MAX, SIZE_MAX, &t), -ENOMEM);
		assert_null(t);
	}
	alloc_fail_after = -1;
	assert_int_equal(strtab_new(UINT32_MAX, SIZE_MAX, &t), 0);
	/* Each string is first refused, at whichever allocation it needs, and then taken. */
	for (int i = 0; i < 2000; i++) {
		int len = snprintf(name, sizeof(name), "name %d", i);
		int r;

		alloc_fail_after = 0;
		r = strtab_id(t, name, (size_t)len, &id);
		alloc_fail_after = -1;
		assert_true(r == 0 || r == -ENOMEM);
		assert_int_equal(strtab_id(t, name, (size_t)len, &id), 0);
		assert_int_equal(id, i + 1);
		assert_string_equal(strtab_get(t, id), name);
	}
	strtab_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_are_zero_aligned_and_apart),
		cmocka_unit_test(strings_of_an_arena_are_closed_copies),
		cmocka_unit_test(bytes_count_what_is_held),
		cmocka_unit_test(arena_answers_null_without_memory),
		cmocka_unit_test(equal_strings_share_an_id),
		cmocka_unit_test(many_strings_keep_ids_and_addresses),
		cmocka_unit_test(caps_refuse_the_new_but_find_the_old),
		cmocka_unit_test(strtab_stays_whole_when_memory_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
