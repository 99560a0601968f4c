#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "daemon/sample/ring.h"
#include "tests/unit/ring_bytes.h"

#define BYTES 4096

static struct fake_ring kernel;
static struct ring *ring;
static struct bytes rec;

/* A record of len bytes, each word of it telling which one it is. */
static void write_numbered(uint64_t number, size_t len)
{
	put_header(&rec, PERF_RECORD_SAMPLE, 0);
	while (rec.count < len / 8)
		put(&rec, number);
	assert_int_equal(put_end(&rec), len);
	assert_true(fake_ring_write(&kernel, rec.words, len));
}

static void expect_numbered(uint64_t number, size_t len)
{
	size_t got, skipped;
	const uint64_t *words = ring_peek(ring, &got, &skipped);

	assert_non_null(words);
	assert_int_equal(skipped, 0);
	assert_int_equal(got, len);
	for (size_t i = 1; i < len / 8; i++)
		assert_int_equal(words[i], number);
	ring_advance(ring);
}

static void expect_none(size_t expected_skip)
{
	size_t len, skipped;

	assert_null(ring_peek(ring, &len, &skipped));
	assert_int_equal(skipped, expected_skip);
}

static void start_at(uint64_t start)
{
	fake_ring_init(&kernel, BYTES, start);
	assert_int_equal(ring_new(kernel.fd, BYTES, &ring), 0);
}

static int setup(void **state)
{
	start_at(0);
	return 0;
}

static int teardown(void **state)
{
	ring_free(ring);
	fake_ring_done(&kernel);
	return 0;
}

static void sizes_other_than_powers_of_two_are_refused(void **state)
{
	static const size_t bad[] = {
		0, 1, 8, 2048, 4097, 3 * 4096, SIZE_MAX, (size_t)1 << 63 | 4096};
	struct ring *r = NULL;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(ring_new(kernel.fd, bad[i], &r), -EINVAL);
	assert_int_equal(ring_new(-1, BYTES, &r), -EBADF);
	assert_null(r);
	ring_free(NULL);
}

static void records_come_in_place_and_in_order(void **state)
{
	size_t len, skipped;

	expect_none(0);
	write_numbered(1, 16);
	write_numbered(2, 800);
	expect_none(0); /* the head was not taken yet */
	assert_int_equal(ring_take_head(ring), 816);
	write_numbered(3, 24); /* after the head: next round's */
	assert_int_equal(*(const uint64_t *)ring_peek(ring, &len, &skipped) >> 48, 16);
	expect_numbered(1, 16);
	expect_numbered(2, 800);
	expect_none(0);
	assert_int_equal(ring_take_head(ring), 24);
	expect_numbered(3, 24);
}

static void the_tail_moves_at_commit_alone(void **state)
{
	write_numbered(1, 64);
	write_numbered(2, 64);
	ring_take_head(ring);
	expect_numbered(1, 64);
	assert_int_equal(kernel.page->data_tail, 0);
	assert_int_equal(ring_uncommitted(ring), 64);
	ring_commit(ring);
	assert_int_equal(kernel.page->data_tail, 64);
	assert_int_equal(ring_uncommitted(ring), 0);
	expect_numbered(2, 64);
	ring_commit(ring);
	assert_int_equal(kernel.page->data_tail, 128);
}

static void a_record_that_was_not_advanced_over_stays(void **state)
{
	size_t len, skipped;

	write_numbered(1, 64);
	ring_take_head(ring);
	assert_non_null(ring_peek(ring, &len, &skipped));
	ring_commit(ring);
	assert_int_equal(kernel.page->data_tail, 0);
	assert_int_equal(ring_take_head(ring), 64);
	expect_numbered(1, 64);
}

static void wrapped_record_is_joined_at_every_offset(void **state)
{
	for (size_t before = 8; before <= 400; before += 8) {
		teardown(NULL);
		start_at(BYTES - before);
		write_numbered(before, 400);
		write_numbered(before + 1, 48);
		assert_int_equal(ring_take_head(ring), 448);
		expect_numbered(before, 400);
		expect_numbered(before + 1, 48);
		expect_none(0);
	}
}

static void many_rounds_through_a_small_ring(void **state)
{
	uint64_t written = 0, seen = 0;

	for (unsigned round = 0; round < 3000; round++) {
		unsigned batch = 1 + round % 7;

		for (unsigned i = 0; i < batch; i++, written++)
			write_numbered(written, 16 + 8 * (written * 31 % 60));
		ring_take_head(ring);
		for (unsigned i = 0; i < batch; i++, seen++)
			expect_numbered(seen, 16 + 8 * (seen * 31 % 60));
		expect_none(0);
		ring_commit(ring);
	}
	assert_int_equal(written, seen);
	assert_int_equal(kernel.page->data_tail, kernel.page->data_head);
}

static void positions_may_pass_the_end_of_64_bits(void **state)
{
	teardown(NULL);
	start_at(UINT64_MAX - 63);
	write_numbered(1, 40);
	write_numbered(2, 80);
	write_numbered(3, 80);
	assert_int_equal(ring_take_head(ring), 200);
	expect_numbered(1, 40);
	expect_numbered(2, 80);
	expect_numbered(3, 80);
	ring_commit(ring);
	assert_int_equal(kernel.page->data_tail, 136);
	assert_int_equal(ring_take_head(ring), 0);
}

static void a_full_ring_is_read_whole(void **state)
{
	write_numbered(1, 2048);
	write_numbered(2, 2048);
	assert_false(fake_ring_write(&kernel, rec.words, 8));
	assert_int_equal(ring_take_head(ring), BYTES);
	assert_int_equal(ring_peak(ring), BYTES);
	expect_numbered(1, 2048);
	expect_numbered(2, 2048);
	expect_none(0);
	ring_commit(ring);
	write_numbered(3, 16);
	ring_take_head(ring);
	assert_int_equal(ring_peak(ring), BYTES);
	assert_int_equal(ring_bytes(ring), BYTES);
}

static void impossible_sizes_end_the_round(void **state)
{
	static const uint16_t bad[] = {0, 7, 4, 12, 65535, 2000};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint64_t header = (uint64_t)bad[i] << 48 | PERF_RECORD_SAMPLE;

		write_numbered(1, 32);
		assert_true(fake_ring_write(&kernel, &header, 8));
		assert_true(fake_ring_write(&kernel, rec.words, 32));
		ring_take_head(ring);
		expect_numbered(1, 32);
		expect_none(40);
		expect_none(0);
		ring_commit(ring);
		/* and the ring is of use again */
		write_numbered(5, 64);
		ring_take_head(ring);
		expect_numbered(5, 64);
		ring_commit(ring);
	}
}

static void a_head_that_makes_no_sense_is_skipped_to(void **state)
{
	kernel.page->data_head = BYTES + 8;
	assert_int_equal(ring_take_head(ring), BYTES + 8);
	assert_int_equal(ring_peak(ring), BYTES);
	expect_none(BYTES + 8);
	kernel.page->data_head += 3;
	ring_take_head(ring);
	expect_none(3);
	kernel.page->data_head += 32; /* from a position that is not a multiple of 8 */
	ring_take_head(ring);
	expect_none(32);
	ring_commit(ring);
	kernel.page->data_head -= 8; /* backwards */
	ring_take_head(ring);
	expect_none(SIZE_MAX - 7);
	expect_none(0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			sizes_other_than_powers_of_two_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(
			records_come_in_place_and_in_order, setup, teardown),
		cmocka_unit_test_setup_teardown(the_tail_moves_at_commit_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_record_that_was_not_advanced_over_stays, setup, teardown),
		cmocka_unit_test_setup_teardown(
			wrapped_record_is_joined_at_every_offset, setup, teardown),
		cmocka_unit_test_setup_teardown(many_rounds_through_a_small_ring, setup, teardown),
		cmocka_unit_test_setup_teardown(
			positions_may_pass_the_end_of_64_bits, setup, teardown),
		cmocka_unit_test_setup_teardown(a_full_ring_is_read_whole, setup, teardown),
		cmocka_unit_test_setup_teardown(impossible_sizes_end_the_round, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_head_that_makes_no_sense_is_skipped_to, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
