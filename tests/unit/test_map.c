#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "tests/unit/failing_alloc.h"

AUTO_FREE_FN(struct map, map_free)

static void value_is_found_replaced_and_removed(void **state)
{
	AUTO(map_free_auto) struct map *m = NULL;
	uint64_t value = 99;

	(void)state;
	assert_int_equal(map_new(0, &m), 0);
	assert_false(map_get(m, 5, &value));
	assert_int_equal(value, 99);
	assert_int_equal(map_set(m, 5, 50), 0);
	assert_int_equal(map_set(m, 5, 51), 0);
	assert_int_equal(map_count(m), 1);
	assert_true(map_get(m, 5, &value));
	assert_int_equal(value, 51);
	assert_true(map_remove(m, 5, &value));
	assert_int_equal(value, 51);
	assert_false(map_remove(m, 5, NULL));
	assert_int_equal(map_count(m), 0);
}

static void extreme_keys_and_values_are_ordinary(void **state)
{
	static const uint64_t keys[] = {0, 1, UINT64_MAX, UINT64_MAX - 1, 1ull << 63};
	AUTO(map_free_auto) struct map *m = NULL;
	uint64_t value;

	(void)state;
	assert_int_equal(map_new(0, &m), 0);
	for (int i = 0; i < 5; i++)
		assert_int_equal(map_set(m, keys[i], ~keys[i]), 0);
	assert_int_equal(map_count(m), 5);
	for (int i = 0; i < 5; i++) {
		assert_true(map_get(m, keys[i], &value));
		assert_true(value == ~keys[i]);
	}
	assert_true(map_remove(m, 0, &value));
	assert_true(value == UINT64_MAX);
	assert_false(map_get(m, 0, &value));
	assert_int_equal(map_count(m), 4);
}

/* Against a plain array: many sets and removals in a small key range, so that runs form and gaps
 * are closed in all their ways. */
static void random_work_agrees_with_an_array(void **state)
{
	enum { KEYS = 600, STEPS = 100000 };
	static uint64_t model[KEYS]; /* 0: not there */
	AUTO(map_free_auto) struct map *m = NULL;
	uint64_t random = 12345, value;
	size_t count = 0;

	(void)state;
	memset(model, 0, sizeof(model));
	assert_int_equal(map_new(0, &m), 0);
	for (uint64_t step = 1; step <= STEPS; step++) {
		uint64_t key;

		random = random * 6364136223846793005u + 1442695040888963407u;
		key = (random >> 33) % KEYS;
		if (random >> 63) {
			count += model[key] == 0;
			model[key] = step;
			assert_int_equal(map_set(m, key, step), 0);
		} else {
			assert_int_equal(map_remove(m, key, &value), model[key] != 0);
			if (model[key])
				assert_int_equal(value, model[key]);
			count -= model[key] != 0;
			model[key] = 0;
		}
		assert_int_equal(map_count(m), count);
		if (step % 1000)
			continue;
		for (uint64_t k = 0; k < KEYS; k++) {
			assert_int_equal(map_get(m, k, &value), model[k] != 0);
			if (model[k])
				assert_int_equal(value, model[k]);
		}
	}
}

static void walk_visits_each_entry_once(void **state)
{
	AUTO(map_free_auto) struct map *m = NULL;
	bool seen[1000] = {false};
	uint64_t key, value;
	size_t cursor = 0, visits = 0;

	(void)state;
	assert_int_equal(map_new(1000, &m), 0);
	assert_false(map_next(m, &cursor, &key, &value));
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(map_set(m, i, i * 3), 0);
	for (cursor = 0; map_next(m, &cursor, &key, &value); visits++) {
		assert_true(key < 1000);
		assert_false(seen[key]);
		assert_int_equal(value, key * 3);
		seen[key] = true;
	}
	assert_int_equal(visits, 1000);
	assert_false(map_next(m, &cursor, &key, &value));
}

static void expected_count_needs_no_growth(void **state)
{
	AUTO(map_free_auto) struct map *m = NULL;
	size_t bytes;

	(void)state;
	assert_int_equal(map_new(5000, &m), 0);
	bytes = map_bytes(m);
	alloc_fail_after = 0;
	for (uint64_t i = 1; i <= 5000; i++)
		assert_int_equal(map_set(m, i, i), 0);
	alloc_fail_after = -1;
	assert_int_equal(map_bytes(m), bytes);
	assert_true(bytes <= 5000 * 16 * 4);
}

static void failed_growth_keeps_all_entries(void **state)
{
	AUTO(map_free_auto) struct map *m = NULL;
	uint64_t n = 0, value;
	int r;

	(void)state;
	assert_int_equal(map_new(0, &m), 0);
	alloc_fail_after = 0;
	do {
		n++;
		r = map_set(m, n, n);
	} while (r == 0);
	alloc_fail_after = -1;
	assert_int_equal(r, -ENOMEM);
	assert_int_equal(map_count(m), n - 1);
	assert_false(map_get(m, n, &value));
	for (uint64_t i = 1; i < n; i++)
		assert_true(map_get(m, i, &value) && value == i);
	assert_int_equal(map_set(m, 1, 77), 0);
	assert_int_equal(map_set(m, n, n), 0);
	assert_true(map_get(m, n, &value));
}

static void failed_creation_leaks_nothing(void **state)
{
	struct map *m = NULL;

	(void)state;
	for (alloc_fail_after = 0; alloc_fail_after < 2;) {
		long allowed = alloc_fail_after;

		assert_int_equal(map_new(10, &m), -ENOMEM);
		assert_null(m);
		alloc_fail_after = allowed + 1;
	}
	alloc_fail_after = -1;
	assert_int_equal(map_new(SIZE_MAX / 2, &m), -ENOMEM);
	map_free(NULL);
}

static void hashes_spread_and_tell_apart(void **state)
{
	unsigned low[16] = {0};

	(void)state;
	assert_true(hash_bytes("a", 1, 0) != hash_bytes("a\0", 2, 0));
	assert_true(hash_bytes("", 0, 0) != hash_bytes("\0", 1, 0));
	assert_true(hash_bytes("abc", 3, 1) != hash_bytes("abc", 3, 2));
	assert_true(hash_bytes("abcdefgh12345678", 16, 1) != hash_bytes("12345678abcdefgh", 16, 1));
	assert_true(hash_bytes("abc", 3, 1) == hash_bytes("abc", 3, 1));
	/* Addresses are multiples of 16 or 4096: the low bits must not be theirs. */
	for (uint64_t i = 0; i < 1600; i++)
		low[hash_u64(i << 12) & 15]++;
	for (int i = 0; i < 16; i++)
		assert_in_range(low[i], 50, 150);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(value_is_found_replaced_and_removed),
		cmocka_unit_test(extreme_keys_and_values_are_ordinary),
		cmocka_unit_test(random_work_agrees_with_an_array),
		cmocka_unit_test(walk_visits_each_entry_once),
		cmocka_unit_test(expected_count_needs_no_growth),
		cmocka_unit_test(failed_growth_keeps_all_entries),
		cmocka_unit_test(failed_creation_leaks_nothing),
		cmocka_unit_test(hashes_spread_and_tell_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
