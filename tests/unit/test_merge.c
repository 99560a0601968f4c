#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "daemon/sample/merge.h"
#include "daemon/sample/ring.h"
#include "tests/unit/ring_bytes.h"

#define BYTES 4096
#define RINGS 8
#define LATER UINT64_MAX

static struct fake_ring kernel[RINGS];
static struct ring *rings[RINGS];
static struct merge *merge;
static struct bytes rec;
static uint64_t skipped;

static int setup(void **state)
{
	for (unsigned i = 0; i < RINGS; i++) {
		fake_ring_init(&kernel[i], BYTES, 0);
		assert_int_equal(ring_new(kernel[i].fd, BYTES, &rings[i]), 0);
	}
	skipped = 0;
	return merge_new(&merge);
}

static int teardown(void **state)
{
	merge_free(merge);
	for (unsigned i = 0; i < RINGS; i++) {
		ring_free(rings[i]);
		fake_ring_done(&kernel[i]);
	}
	return 0;
}

/* Even rings hold samples, odd ones sideband. */
static void write_at(unsigned ring, uint64_t t_ns)
{
	size_t len;

	if (ring % 2 == 0) {
		put_sample(&rec, 0, t_ns, 42, 42, 7);
		put(&rec, 0);
		len = put_end(&rec);
	} else {
		len = put_task(&rec, PERF_RECORD_EXIT, 42, 1, 42, 1, t_ns);
	}
	assert_true(fake_ring_write(&kernel[ring], rec.words, len));
}

static void begin(unsigned ring_count, uint64_t until_ns)
{
	merge_begin(merge, until_ns);
	for (unsigned i = 0; i < ring_count; i++) {
		ring_take_head(rings[i]);
		assert_int_equal(merge_add(merge, rings[i], i % 2 == 0, i, i + 100), 0);
	}
}

static void expect(unsigned ring, uint64_t t_ns)
{
	const struct merge_source *s = merge_next(merge, &skipped);

	assert_non_null(s);
	assert_int_equal(s->slot, ring);
	assert_int_equal(s->index, ring + 100);
	assert_int_equal(s->t_ns, t_ns);
	assert_int_equal(s->sampling, ring % 2 == 0);
}

static void records_come_in_order_of_time(void **state)
{
	write_at(0, 100);
	write_at(0, 500);
	write_at(1, 200);
	write_at(2, 50);
	write_at(2, 600);
	write_at(3, 300);
	write_at(3, 400);
	begin(4, LATER);
	expect(2, 50);
	expect(0, 100);
	expect(1, 200);
	expect(3, 300);
	expect(3, 400);
	expect(0, 500);
	expect(2, 600);
	assert_null(merge_next(merge, &skipped));
	assert_null(merge_next(merge, &skipped));
	assert_int_equal(skipped, 0);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(kernel[i].page->data_tail, kernel[i].page->data_head);
}

static void of_equal_times_the_sideband_is_first(void **state)
{
	write_at(0, 100);
	write_at(2, 100);
	write_at(3, 100);
	begin(4, LATER);
	expect(3, 100);
	assert_non_null(merge_next(merge, &skipped));
	assert_non_null(merge_next(merge, &skipped));
	assert_null(merge_next(merge, &skipped));
}

static void what_is_too_young_waits_for_the_next_round(void **state)
{
	write_at(0, 100);
	write_at(0, 300);
	write_at(1, 250);
	write_at(1, 350);
	begin(2, 200);
	expect(0, 100);
	assert_null(merge_next(merge, &skipped));
	assert_int_equal(kernel[1].page->data_tail, 0);
	write_at(0, 320);
	begin(2, 320);
	expect(1, 250);
	expect(0, 300);
	expect(0, 320);
	assert_null(merge_next(merge, &skipped));
	begin(2, 400);
	expect(1, 350);
	assert_null(merge_next(merge, &skipped));
}

static void a_nonsensical_stamp_does_not_stop_its_ring(void **state)
{
	write_at(0, 100);
	write_at(0, UINT64_MAX - 1);
	write_at(0, 110);
	write_at(1, 105);
	begin(2, 200);
	expect(0, 100);
	expect(1, 105);
	expect(0, UINT64_MAX - 1);
	expect(0, 110);
	assert_null(merge_next(merge, &skipped));
}

static void a_record_without_a_stamp_follows_the_one_before(void **state)
{
	write_at(0, 100);
	/* A header and no more: too short to have one. */
	put_header(&rec, PERF_RECORD_THROTTLE, 0);
	assert_true(fake_ring_write(&kernel[0], rec.words, put_end(&rec)));
	write_at(0, 300);
	write_at(1, 200);
	begin(2, LATER);
	expect(0, 100);
	expect(0, 100);
	expect(1, 200);
	expect(0, 300);
	assert_null(merge_next(merge, &skipped));
}

static void bytes_that_are_no_records_are_counted(void **state)
{
	uint64_t zero = 0;

	write_at(0, 100);
	assert_true(fake_ring_write(&kernel[0], &zero, 8));
	write_at(0, 200);
	write_at(1, 150);
	begin(2, LATER);
	expect(0, 100);
	expect(1, 150);
	assert_null(merge_next(merge, &skipped));
	assert_int_equal(skipped, 8 + 56);
	assert_int_equal(kernel[0].page->data_tail, kernel[0].page->data_head);
	write_at(0, 300);
	begin(2, LATER);
	expect(0, 300);
}

static void room_is_handed_back_on_the_way(void **state)
{
	for (unsigned i = 0; i < 40; i++)
		write_at(0, 100 + i);
	begin(1, LATER);
	for (unsigned i = 0; i < 20; i++)
		expect(0, 100 + i);
	assert_true(kernel[0].page->data_tail > 0);
	assert_true(kernel[0].page->data_tail <= 19 * 56);
}

static void many_rings_at_random(void **state)
{
	uint64_t next[RINGS] = {0}, seed = 1, last = 0;
	unsigned written = 0, read = 0;

	for (unsigned round = 0; round < 200; round++) {
		const struct merge_source *s;

		for (unsigned i = 0; i < 100; i++) {
			unsigned ring;

			seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
			ring = (unsigned)(seed >> 40) % RINGS;
			next[ring] += 1 + (seed >> 50) % 50;
			write_at(ring, round * 100000 + next[ring]);
			written++;
		}
		begin(RINGS, LATER);
		while ((s = merge_next(merge, &skipped))) {
			assert_true(s->t_ns >= last);
			last = s->t_ns;
			read++;
		}
		memset(next, 0, sizeof(next));
	}
	assert_int_equal(read, written);
	assert_int_equal(skipped, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(records_come_in_order_of_time, setup, teardown),
		cmocka_unit_test_setup_teardown(
			of_equal_times_the_sideband_is_first, setup, teardown),
		cmocka_unit_test_setup_teardown(
			what_is_too_young_waits_for_the_next_round, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_nonsensical_stamp_does_not_stop_its_ring, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_record_without_a_stamp_follows_the_one_before, setup, teardown),
		cmocka_unit_test_setup_teardown(
			bytes_that_are_no_records_are_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(room_is_handed_back_on_the_way, setup, teardown),
		cmocka_unit_test_setup_teardown(many_rings_at_random, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
