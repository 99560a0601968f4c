#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "daemon/render/times.h"
#include "tests/unit/failing_alloc.h"
#include "tests/unit/profile_samples.h"

#define MS 1000000ull

static const struct view_query all = {.event = -1};

/* app (42) with threads 42 and 43, of 10 ms a sample: 42 at 0, 250 and 1999 ms, 43 at 1000 and
 * 1001 ms; tool (50) at 3500 ms, of 20 ms; an event of the second kind at 1000 ms. The session took
 * 4 s. */
static struct profile *made(void)
{
	struct sample_builder b;
	uint32_t module, node, other, one, two, three;

	sample_begin(&b, 2);
	b.p->meta.taken_ns = SAMPLE_START + 4000 * MS;
	module = sample_module(&b, "/usr/bin/app");
	node = sample_chain(&b, sample_process(&b, 42, "app"), module, "main");
	other = sample_chain(&b, sample_process(&b, 50, "tool"), module, "main");
	one = sample_thread(&b, 42, 0, "app");
	two = sample_thread(&b, 43, 0, "worker");
	three = sample_thread(&b, 50, 1, "tool");
	sample_log(&b, node, one, 0, 10 * MS, SAMPLE_START);
	sample_log(&b, node, one, 0, 10 * MS, SAMPLE_START + 250 * MS);
	sample_log(&b, node, two, 0, 10 * MS, SAMPLE_START + 1000 * MS);
	sample_log(&b, node, two, 1, 1, SAMPLE_START + 1000 * MS);
	sample_log(&b, node, two, 0, 10 * MS, SAMPLE_START + 1001 * MS);
	sample_log(&b, node, one, 0, 10 * MS, SAMPLE_START + 1999 * MS);
	sample_log(&b, other, three, 0, 20 * MS, SAMPLE_START + 3500 * MS);
	return sample_end(&b);
}

static void heatmap_has(
	const struct profile *p, const struct view_query *q, uint32_t rows, const uint32_t *want)
{
	struct heatmap h;

	assert_int_equal(heatmap_make(p, q, rows, &h), 0);
	for (uint32_t i = 0; i < h.seconds * h.rows; i++)
		assert_int_equal(h.samples[i], want[i]);
	heatmap_done(&h);
}

static void samples_are_in_their_part_of_a_second(void **state)
{
	struct profile *p = made();
	struct heatmap h;

	(void)state;
	assert_int_equal(heatmap_make(p, &all, 4, &h), 0);
	assert_int_equal(h.first_second, 0);
	assert_int_equal(h.seconds, 4);
	assert_int_equal(h.max, 2);
	assert_false(h.times.log_short);
	heatmap_done(&h);
	heatmap_has(p, &all, 4, (uint32_t[]){1, 1, 0, 0, 2, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0});
	profile_unref(p);
}

static void a_question_picks_time_thread_process_and_event(void **state)
{
	struct profile *p = made();
	struct view_query q = {.event = 1};
	struct heatmap h;

	(void)state;
	heatmap_has(p, &q, 1, (uint32_t[]){0, 1, 0, 0});
	q = (struct view_query){.tid = 43};
	heatmap_has(p, &q, 1, (uint32_t[]){0, 2, 0, 0});
	q = (struct view_query){.pid = 50};
	heatmap_has(p, &q, 1, (uint32_t[]){0, 0, 0, 1});
	q = (struct view_query){
		.from_ns = SAMPLE_START + 1001 * MS, .to_ns = SAMPLE_START + 1999 * MS};
	assert_int_equal(heatmap_make(p, &q, 1, &h), 0);
	assert_int_equal(h.first_second, 1);
	assert_int_equal(h.seconds, 1);
	assert_int_equal(h.samples[0], 1);
	heatmap_done(&h);
	profile_unref(p);
}

static void a_log_that_begins_later_is_said(void **state)
{
	struct profile *p = made();
	struct view_query late = {.from_ns = SAMPLE_START + 3200 * MS};
	struct heatmap h;

	(void)state;
	p->ledger.log_from_ns = SAMPLE_START + 3100 * MS;
	assert_int_equal(heatmap_make(p, &all, 1, &h), 0);
	assert_true(h.times.log_short);
	assert_int_equal(h.first_second, 3);
	assert_int_equal(h.seconds, 1);
	heatmap_done(&h);
	assert_int_equal(heatmap_make(p, &late, 1, &h), 0);
	assert_false(h.times.log_short);
	heatmap_done(&h);
	profile_unref(p);
}

static void a_long_session_shows_its_last_seconds(void **state)
{
	struct profile *p = made();
	struct heatmap h;

	(void)state;
	p->meta.taken_ns = SAMPLE_START + (HEATMAP_SECONDS_MAX + 3ull) * 1000 * MS;
	assert_int_equal(heatmap_make(p, &all, 1, &h), 0);
	assert_int_equal(h.first_second, 3);
	assert_int_equal(h.seconds, HEATMAP_SECONDS_MAX);
	assert_int_equal(h.samples[0], 1);
	heatmap_done(&h);
	profile_unref(p);
}

static void samples_behind_the_end_are_there(void **state)
{
	struct profile *p = made();
	struct heatmap h;

	(void)state;
	p->meta.taken_ns = SAMPLE_START + 1500 * MS;
	p->log[0].t_ns = SAMPLE_START + 4100 * MS;
	assert_int_equal(heatmap_make(p, &all, 1, &h), 0);
	assert_int_equal(h.seconds, 5);
	assert_int_equal(h.samples[3] + h.samples[4], 2);
	heatmap_done(&h);
	profile_unref(p);
}

static void times_of_a_hostile_file_do_no_harm(void **state)
{
	struct profile *p = made();
	struct timeline t;
	struct heatmap h;

	(void)state;
	for (int i = 0; i < 3; i++) {
		p->log[p->log_count - 1].t_ns = UINT64_MAX - (unsigned)i;
		p->ledger.log_from_ns = i == 2 ? UINT64_MAX : 0;
		assert_int_equal(heatmap_make(p, &all, HEATMAP_ROWS_MAX, &h), 0);
		heatmap_done(&h);
		assert_int_equal(timeline_make(p, &all, TIMELINE_CPU, 7, &t), 0);
		timeline_done(&t);
	}
	profile_unref(p);
}

static void threads_are_rows_and_the_heaviest_first(void **state)
{
	struct profile *p = made();
	struct timeline t;

	(void)state;
	assert_int_equal(timeline_make(p, &all, TIMELINE_THREAD, 4, &t), 0);
	assert_int_equal(t.row_count, 3);
	assert_int_equal(t.rows[0].id, 42);
	assert_string_equal(t.rows[0].name, "app");
	assert_int_equal(t.rows[0].total, 30 * MS);
	assert_int_equal(t.rows[0].weights[0], 20 * MS);
	assert_int_equal(t.rows[0].weights[1], 10 * MS);
	assert_int_equal(t.rows[0].weights[2], 0);
	/* As heavy as tool's, which comes later. */
	assert_int_equal(t.rows[1].id, 43);
	assert_int_equal(t.rows[1].pid, 42);
	assert_int_equal(t.rows[2].id, 50);
	assert_int_equal(t.others_count, 0);
	timeline_done(&t);
	profile_unref(p);
}

static void processes_and_processors_are_rows(void **state)
{
	struct profile *p = made();
	struct timeline t;

	(void)state;
	p->log[0].cpu = 4095;
	assert_int_equal(timeline_make(p, &all, TIMELINE_PROCESS, 1, &t), 0);
	assert_int_equal(t.row_count, 2);
	assert_int_equal(t.rows[0].id, 42);
	assert_int_equal(t.rows[0].weights[0], 50 * MS);
	assert_string_equal(t.rows[1].name, "tool");
	timeline_done(&t);
	assert_int_equal(timeline_make(p, &all, TIMELINE_CPU, 1, &t), 0);
	assert_int_equal(t.row_count, 2);
	assert_int_equal(t.rows[0].id, 1);
	assert_int_equal(t.rows[1].id, 4095);
	assert_int_equal(t.rows[1].total, 10 * MS);
	timeline_done(&t);
	profile_unref(p);
}

static void what_has_no_row_is_with_the_others(void **state)
{
	struct sample_builder b;
	struct profile *p;
	struct timeline t;
	uint32_t node;

	(void)state;
	sample_begin(&b, 1);
	node = sample_chain(
		&b, sample_process(&b, 42, "app"), sample_module(&b, "/usr/bin/app"), "main");
	for (int i = 0; i < TIMELINE_ROWS_MAX + 5; i++)
		sample_log(&b, node, sample_thread(&b, 100 + i, 0, "w"), 0, (unsigned)(1000 - i),
			SAMPLE_START + (unsigned)i);
	p = sample_end(&b);
	assert_int_equal(timeline_make(p, &all, TIMELINE_THREAD, 2, &t), 0);
	assert_int_equal(t.row_count, TIMELINE_ROWS_MAX);
	assert_int_equal(t.others_count, 5);
	assert_int_equal(t.others.total, 968 + 967 + 966 + 965 + 964);
	assert_int_equal(t.others.weights[0], t.others.total);
	timeline_done(&t);
	profile_unref(p);
}

static void what_cannot_be_answered_is_refused(void **state)
{
	struct profile *small = sample_small(), *p = made();
	struct view_query odd = {.event = 9};
	struct timeline t;
	struct heatmap h;

	(void)state;
	assert_int_equal(heatmap_make(small, &all, 1, &h), -ENODATA);
	assert_int_equal(timeline_make(small, &all, TIMELINE_CPU, 1, &t), -ENODATA);
	assert_int_equal(heatmap_make(p, &odd, 1, &h), -EINVAL);
	assert_int_equal(timeline_make(p, &odd, TIMELINE_CPU, 1, &t), -EINVAL);
	for (int i = 0; i < 2; i++) {
		alloc_fail_after = i;
		assert_int_equal(heatmap_make(p, &all, 1, &h), -ENOMEM);
	}
	for (int i = 0; i < 4; i++) {
		alloc_fail_after = i;
		assert_int_equal(timeline_make(p, &all, TIMELINE_THREAD, 1, &t), -ENOMEM);
	}
	alloc_fail_after = -1;
	profile_unref(small);
	profile_unref(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_are_in_their_part_of_a_second),
		cmocka_unit_test(a_question_picks_time_thread_process_and_event),
		cmocka_unit_test(a_log_that_begins_later_is_said),
		cmocka_unit_test(a_long_session_shows_its_last_seconds),
		cmocka_unit_test(samples_behind_the_end_are_there),
		cmocka_unit_test(times_of_a_hostile_file_do_no_harm),
		cmocka_unit_test(threads_are_rows_and_the_heaviest_first),
		cmocka_unit_test(processes_and_processors_are_rows),
		cmocka_unit_test(what_has_no_row_is_with_the_others),
		cmocka_unit_test(what_cannot_be_answered_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
