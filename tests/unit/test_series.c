/* Formats that have single samples apart: speedscope, Firefox's and Chrome's. That other programs
 * open them is for the integration tests. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <cjson/cJSON.h>
#include <errno.h>

#include "base/buf.h"
#include "base/parse.h"
#include "daemon/render/render.h"
#include "daemon/render/series.h"
#include "tests/unit/failing_alloc.h"
#include "tests/unit/profile_samples.h"

AUTO_FREE_FN(cJSON, cJSON_Delete)

#define MS 1000000ull

static const enum render_format formats[] = {RENDER_SPEEDSCOPE, RENDER_FIREFOX, RENDER_CHROME};

static int write_into(enum render_format format, const struct profile *p,
	const struct view_query *asked, bool by_given, struct buf *into)
{
	AUTO(render_free_auto) struct render *r = NULL;
	struct view_query q = *asked;
	struct view *v = NULL;
	int e;

	render_fit_query(format, p->log_count > 0, by_given, &q);
	e = view_new(p, &q, &v);
	if (e == 0)
		e = render_new(format, v, NULL, &r);
	if (e < 0)
		return e;
	while ((e = render_more(r, into)) > 0)
		;
	return e;
}

static cJSON *json_of(enum render_format format, const struct profile *p,
	const struct view_query *q, bool by_given)
{
	AUTO(buf_done) struct buf text = BUF_INIT;
	cJSON *json;

	assert_int_equal(write_into(format, p, q, by_given, &text), 0);
	assert_true(text_is_utf8(text.data, text.len));
	assert_null(memmem(text.data, text.len, "</", 2));
	json = cJSON_ParseWithOpts(text.data, NULL, true);
	assert_non_null(json);
	return json;
}

static const cJSON *get(const cJSON *object, const char *key)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);

	assert_non_null(value);
	return value;
}

static const cJSON *at(const cJSON *array, int i)
{
	const cJSON *value = cJSON_GetArrayItem(array, i);

	assert_non_null(value);
	return value;
}

static void assert_text(const cJSON *value, const char *want)
{
	assert_true(cJSON_IsString(value));
	assert_string_equal(value->valuestring, want);
}

/* app (42): threads app (42): a;b at 10 and 20 ms, a;c at 40 ms; worker (43): a;b at 15 ms; other
 * (50): a at 30 ms. Of 10 ms each. With hostile names where they are asked for. */
static struct profile *threads_of(const char *worker, const char *leaf)
{
	struct sample_builder b;
	uint32_t app, other, module, m1, m2, m3, ab, ac;
	char chain[64];

	sample_begin(&b, 1);
	module = sample_module(&b, "/usr/bin/app");
	app = sample_process(&b, 42, "app");
	other = sample_process(&b, 50, "other");
	m1 = sample_thread(&b, 42, 0, "app");
	m2 = sample_thread(&b, 43, 0, worker);
	m3 = sample_thread(&b, 50, 1, "other");
	snprintf(chain, sizeof(chain), "a;%s", leaf);
	ab = sample_chain(&b, app, module, chain);
	ac = sample_chain(&b, app, module, "a;c");
	sample_log(&b, ab, m1, 0, 10 * MS, SAMPLE_START + 10 * MS);
	sample_log(&b, ab, m2, 0, 10 * MS, SAMPLE_START + 15 * MS);
	sample_log(&b, ab, m1, 0, 10 * MS, SAMPLE_START + 20 * MS);
	sample_log(
		&b, sample_chain(&b, other, module, "a"), m3, 0, 10 * MS, SAMPLE_START + 30 * MS);
	sample_log(&b, ac, m1, 0, 10 * MS, SAMPLE_START + 40 * MS);
	return sample_end(&b);
}

static struct profile *threads(void)
{
	return threads_of("worker", "b");
}

static const struct view_query everything = {.event = -1};

static void places_are_where_samples_are(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = threads();
	struct view_query q = {.places = true, .by_thread = true, .max_depth = 1};
	AUTO(view_free_auto) struct view *v = NULL;

	assert_int_equal(view_new(p, &q, &v), 0);
	/* No levels, and what is too deep is at its parent: all, a. */
	assert_int_equal(v->node_count, 2);
	for (uint32_t i = 0; i < p->log_count; i++)
		assert_int_equal(v->place_of[p->log[i].node], 1);
}

static void series_are_sorted_by_weight_and_time(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = threads();
	struct view_query q = {.places = true, .by_thread = true};
	AUTO(view_free_auto) struct view *v = NULL;
	struct series_set s;

	/* As in a recording whose clocks do not agree. */
	p->log[0].t_ns = SAMPLE_START + 50 * MS;
	assert_int_equal(view_new(p, &q, &v), 0);
	assert_int_equal(series_make(v, &s), 0);
	assert_true(s.timed);
	assert_int_equal(s.count, 3);
	assert_int_equal(s.all[0].count, 3);
	assert_int_equal(s.all[0].weight, 30 * MS);
	assert_int_equal(s.all[0].thread, 0);
	for (size_t i = 1; i < 3; i++)
		assert_true(series_sample(&s, s.all[0].first + i - 1).t_ns <
			series_sample(&s, s.all[0].first + i).t_ns);
	series_done(&s);
}

static void speedscope_has_a_profile_for_each_thread(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = threads();
	AUTO(cJSON_Delete_auto) cJSON *json = json_of(RENDER_SPEEDSCOPE, p, &everything, false);
	const cJSON *profiles = get(json, "profiles"), *first = at(profiles, 0);
	const cJSON *frames = get(get(json, "shared"), "frames"), *stack;

	assert_int_equal(cJSON_GetArraySize(profiles), 3);
	assert_text(get(first, "name"), "app (42): app (42)");
	assert_text(get(first, "type"), "sampled");
	assert_text(get(first, "unit"), "nanoseconds");
	assert_int_equal(get(first, "endValue")->valuedouble, 30 * MS);
	assert_int_equal(cJSON_GetArraySize(get(first, "weights")), 3);
	assert_int_equal(at(get(first, "weights"), 0)->valuedouble, 10 * MS);
	assert_int_equal(cJSON_GetArraySize(get(first, "samples")), 3);
	/* Outermost first. */
	stack = at(get(first, "samples"), 2);
	assert_int_equal(cJSON_GetArraySize(stack), 2);
	assert_text(get(at(frames, at(stack, 0)->valueint), "name"), "a");
	assert_text(get(at(frames, at(stack, 1)->valueint), "name"), "c");
	assert_text(get(at(frames, at(stack, 1)->valueint), "file"), "app");
	assert_non_null(strstr(get(json, "name")->valuestring, "5 samples"));
}

static void speedscope_is_one_of_all_or_by_process_when_asked(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = threads();
	struct view_query q = {.by_process = true};
	AUTO(cJSON_Delete_auto) cJSON *all = json_of(RENDER_SPEEDSCOPE, p, &everything, true);
	AUTO(cJSON_Delete_auto) cJSON *apart = json_of(RENDER_SPEEDSCOPE, p, &q, true);

	assert_int_equal(cJSON_GetArraySize(get(all, "profiles")), 1);
	assert_int_equal(get(at(get(all, "profiles"), 0), "endValue")->valuedouble, 50 * MS);
	assert_int_equal(cJSON_GetArraySize(get(apart, "profiles")), 2);
	assert_text(get(at(get(apart, "profiles"), 1), "name"), "other (50)");
	assert_int_equal(get(at(get(apart, "profiles"), 1), "endValue")->valuedouble, 10 * MS);
}

static void speedscope_does_without_a_log(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = sample_small();
	struct view_query lines = {.lines = true}, none = {.pid = 1};
	AUTO(cJSON_Delete_auto) cJSON *json = json_of(RENDER_SPEEDSCOPE, p, &lines, false);
	AUTO(cJSON_Delete_auto) cJSON *empty = json_of(RENDER_SPEEDSCOPE, p, &none, false);
	const cJSON *only = at(get(json, "profiles"), 0), *frame;

	assert_int_equal(get(only, "endValue")->valuedouble, 1000 * MS);
	assert_int_equal(cJSON_GetArraySize(get(only, "samples")), 4);
	frame = at(get(get(json, "shared"), "frames"), 1);
	assert_text(get(frame, "file"), "/src/source.c");
	assert_true(get(frame, "line")->valueint >= 10);
	/* One profile, of nothing: readers refuse a file without any. */
	assert_int_equal(cJSON_GetArraySize(get(empty, "profiles")), 1);
}

static void assert_column(const cJSON *table, const char *key)
{
	assert_int_equal(cJSON_GetArraySize(get(table, key)), get(table, "length")->valueint);
}

static void firefox_tables_are_whole(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = threads();
	struct view_query q = {.event = -1, .lines = true};
	AUTO(cJSON_Delete_auto) cJSON *json = json_of(RENDER_FIREFOX, p, &q, false);
	const cJSON *shared = get(json, "shared"), *table, *column;

	assert_int_equal(get(get(json, "meta"), "preprocessedProfileVersion")->valueint, 60);
	cJSON_ArrayForEach (table, shared) {
		if (cJSON_IsArray(table))
			continue;
		cJSON_ArrayForEach (column, table)
			if (cJSON_IsArray(column))
				assert_column(table, column->string);
	}
	assert_int_equal(cJSON_GetArraySize(get(get(json, "meta"), "categories")), 5);
}

static void firefox_has_times_and_weights_of_threads(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = threads();
	AUTO(cJSON_Delete_auto) cJSON *json = json_of(RENDER_FIREFOX, p, &everything, false);
	const cJSON *shared = get(json, "shared"), *first = at(get(json, "threads"), 0);
	const cJSON *samples = get(first, "samples"), *stacks = get(shared, "stackTable");
	const cJSON *frames = get(shared, "frameTable"), *funcs = get(shared, "funcTable");
	int stack, frame;

	assert_int_equal(cJSON_GetArraySize(get(json, "threads")), 3);
	assert_text(get(first, "name"), "app");
	assert_text(get(first, "pid"), "42");
	assert_true(cJSON_IsTrue(get(first, "isMainThread")));
	assert_false(cJSON_IsTrue(get(at(get(json, "threads"), 1), "isMainThread")));
	assert_column(samples, "stack");
	assert_column(samples, "time");
	assert_column(samples, "weight");
	assert_column(samples, "threadCPUDelta");
	assert_text(get(samples, "weightType"), "tracing-ms");
	assert_true(at(get(samples, "time"), 2)->valuedouble == 40);
	assert_true(at(get(samples, "weight"), 2)->valuedouble == 10);
	stack = at(get(samples, "stack"), 2)->valueint;
	frame = at(get(stacks, "frame"), stack)->valueint;
	assert_text(
		at(get(shared, "stringArray"),
			at(get(funcs, "name"), at(get(frames, "func"), frame)->valueint)->valueint),
		"c");
	assert_int_equal(at(get(frames, "category"), frame)->valueint, 1);
	stack = at(get(stacks, "prefix"), stack)->valueint;
	assert_true(cJSON_IsNull(at(get(stacks, "prefix"), stack)));
}

/* One event of a trace, as "B b 10.000". */
static void assert_event(const cJSON *event, const char *phase, const char *name, double ts)
{
	assert_text(get(event, "ph"), phase);
	assert_text(get(event, "name"), name);
	assert_true(get(event, "ts")->valuedouble == ts);
}

static void chrome_slices_are_samples_side_by_side(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = threads();
	AUTO(cJSON_Delete_auto) cJSON *json = json_of(RENDER_CHROME, p, &everything, false);
	const cJSON *events = get(json, "traceEvents");

	/* Two names of each of three threads. Then the first: what is between 20 and 30 ms is none
	 * of its time, so that everything is closed there. */
	assert_text(get(get(at(events, 1), "args"), "name"), "app");
	assert_event(at(events, 6), "B", "a", 0);
	assert_event(at(events, 7), "B", "b", 0);
	assert_event(at(events, 8), "E", "b", 19999.999);
	assert_event(at(events, 9), "E", "a", 19999.999);
	assert_event(at(events, 10), "B", "a", 30000);
	assert_event(at(events, 11), "B", "c", 30000);
	assert_event(at(events, 12), "E", "c", 39999.999);
	assert_event(at(events, 13), "E", "a", 39999.999);
	assert_event(at(events, 14), "B", "a", 5000);
	assert_int_equal(get(at(events, 14), "tid")->valueint, 43);
	assert_int_equal(cJSON_GetArraySize(events), 20);
}

static void chrome_keeps_open_what_goes_on(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = threads();
	AUTO(cJSON_Delete_auto) cJSON *json = NULL;
	const cJSON *events;

	/* Two milliseconds late: less than a quarter of a sample. */
	p->log[4].t_ns = SAMPLE_START + 32 * MS;
	json = json_of(RENDER_CHROME, p, &everything, false);
	events = get(json, "traceEvents");
	assert_event(at(events, 8), "E", "b", 19999.999);
	assert_event(at(events, 9), "B", "c", 20000);
	assert_event(at(events, 10), "E", "c", 31999.999);
	assert_event(at(events, 11), "E", "a", 31999.999);
}

static void chrome_has_points_for_what_is_no_time(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = threads();
	AUTO(cJSON_Delete_auto) cJSON *json = NULL;
	const cJSON *samples, *stack;

	p->events[0].is_clock = false;
	json = json_of(RENDER_CHROME, p, &everything, false);
	assert_int_equal(cJSON_GetArraySize(get(json, "traceEvents")), 6);
	samples = get(json, "samples");
	assert_int_equal(cJSON_GetArraySize(samples), 5);
	assert_true(get(at(samples, 2), "ts")->valuedouble == 40000);
	stack = get(get(json, "stackFrames"), get(at(samples, 2), "sf")->valuestring);
	assert_text(get(stack, "name"), "c");
	stack = get(get(json, "stackFrames"), get(stack, "parent")->valuestring);
	assert_text(get(stack, "name"), "a");
	assert_null(cJSON_GetObjectItem(stack, "parent"));
}

/* Where the rate was another, a sample stands for more. */
static void samples_weigh_what_they_stand_for(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = threads();
	AUTO(cJSON_Delete_auto)
	cJSON *speedscope = NULL, *firefox = NULL, *chrome = NULL, *counts = NULL;
	const cJSON *samples;

	p->log[4].weight = 25 * MS;
	speedscope = json_of(RENDER_SPEEDSCOPE, p, &everything, false);
	assert_int_equal(
		at(get(at(get(speedscope, "profiles"), 0), "weights"), 2)->valuedouble, 25 * MS);
	firefox = json_of(RENDER_FIREFOX, p, &everything, false);
	samples = get(at(get(firefox, "threads"), 0), "samples");
	assert_true(at(get(samples, "weight"), 2)->valuedouble == 25);
	assert_int_equal(at(get(samples, "threadCPUDelta"), 2)->valuedouble, 25 * MS);
	chrome = json_of(RENDER_CHROME, p, &everything, false);
	/* It reaches back as far as to the sample before, and no further. */
	assert_event(at(get(chrome, "traceEvents"), 9), "B", "c", 20000);
	p->events[0].is_clock = false;
	counts = json_of(RENDER_FIREFOX, p, &everything, false);
	samples = get(at(get(counts, "threads"), 0), "samples");
	assert_text(get(samples, "weightType"), "samples");
	assert_int_equal(at(get(samples, "weight"), 2)->valuedouble, 25 * MS);
	assert_null(cJSON_GetObjectItem(samples, "threadCPUDelta"));
}

static void formats_survive_hostile_names(void **state)
{
	static const char *const names[] = {"</script><img src=x>", "q\"\\\n\t\x01", "\xff\xfe",
		"\xef\xbf\xbd", "${x}`y`", "a\"},{\"ph\":\"B", "\xe2\x80\xae", "%s%n", "--><!--"};

	for (unsigned n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
		AUTO(profile_unref_auto) struct profile *p = threads_of(names[n], names[n]);

		p->meta.target = p->threads[1].comm;
		for (unsigned i = 0; i < 3; i++)
			cJSON_Delete(json_of(formats[i], p, &everything, false));
	}
}

static void formats_need_the_log_for_times(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = sample_small();
	AUTO(buf_done) struct buf out = BUF_INIT;

	assert_int_equal(write_into(RENDER_FIREFOX, p, &everything, false, &out), -ENODATA);
	assert_int_equal(write_into(RENDER_CHROME, p, &everything, false, &out), -ENODATA);
	assert_int_equal(render_log(RENDER_FIREFOX), RENDER_LOG_NEEDED);
	assert_int_equal(render_log(RENDER_SPEEDSCOPE), RENDER_LOG_WELCOME);
	assert_int_equal(render_log(RENDER_JSON), RENDER_LOG_UNUSED);
}

/* A sample each, of stacks as deep as they may get: no piece is much larger than the others. */
static void long_ones_come_in_pieces(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = NULL;
	struct sample_builder b;
	uint32_t node, thread;
	const char *name = "f";

	sample_begin(&b, 1);
	node = sample_process(&b, 1, "deep");
	thread = sample_thread(&b, 1, 0, "deep");
	for (unsigned i = 0; i < 2000; i++) {
		node = sample_node(&b, node,
			sample_frame(&b, FRAME_USER, sample_module(&b, "/x"), i, &name, 1));
		sample_log(&b, node, thread, 0, MS, SAMPLE_START + (i + 1) * MS);
	}
	p = sample_end(&b);
	for (unsigned i = 0; i < 3; i++) {
		cJSON *json = json_of(formats[i], p, &everything, false);

		assert_non_null(json);
		cJSON_Delete(json);
	}
}

static void no_memory_is_survived(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = threads();

	for (unsigned i = 0; i < 3; i++) {
		int r = -ENOMEM;

		for (long after = 0; r < 0 && after < 200; after++) {
			AUTO(buf_done) struct buf out = BUF_INIT;

			alloc_fail_after = after;
			r = write_into(formats[i], p, &everything, false, &out);
			alloc_fail_after = -1;
			assert_true(r == 0 || r == -ENOMEM);
		}
		assert_int_equal(r, 0);
	}
	assert_int_equal(p->refs, 1);
}

static void full_buffer_ends_the_writer(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = threads();

	for (unsigned i = 0; i < 3; i++) {
		AUTO(buf_done) struct buf out = {.max_bytes = 300};

		assert_int_equal(write_into(formats[i], p, &everything, false, &out), -EFBIG);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_are_where_samples_are),
		cmocka_unit_test(series_are_sorted_by_weight_and_time),
		cmocka_unit_test(speedscope_has_a_profile_for_each_thread),
		cmocka_unit_test(speedscope_is_one_of_all_or_by_process_when_asked),
		cmocka_unit_test(speedscope_does_without_a_log),
		cmocka_unit_test(firefox_tables_are_whole),
		cmocka_unit_test(firefox_has_times_and_weights_of_threads),
		cmocka_unit_test(chrome_slices_are_samples_side_by_side),
		cmocka_unit_test(chrome_keeps_open_what_goes_on),
		cmocka_unit_test(chrome_has_points_for_what_is_no_time),
		cmocka_unit_test(samples_weigh_what_they_stand_for),
		cmocka_unit_test(formats_survive_hostile_names),
		cmocka_unit_test(formats_need_the_log_for_times),
		cmocka_unit_test(long_ones_come_in_pieces),
		cmocka_unit_test(no_memory_is_survived),
		cmocka_unit_test(full_buffer_ends_the_writer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
