#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "daemon/render/prom.h"

static void write_some(enum prom_format format, struct buf *into)
{
	static const struct prom_label labels[] = {{"session", "7"}, {"comm", "q\"<&>\\\n\xff"}};
	static const double bounds[] = {0.005, 0.1, 1, 10};
	static const uint64_t counts[] = {1, 2, 0, 4, 5};
	struct prom p;

	prom_begin(&p, format, into);
	prom_family(&p, PROM_COUNTER, "x_samples", "Samples in the tree.");
	prom_u64(&p, labels, 2, UINT64_MAX);
	prom_u64(&p, NULL, 0, 0);
	prom_family(&p, PROM_GAUGE, "x_fill_ratio", "Fullest ring.");
	prom_double(&p, labels, 1, 0.25);
	prom_family(&p, PROM_HISTOGRAM, "x_seconds", "Answers.");
	prom_histogram(&p, labels, 1, bounds, counts, 4, 12.5);
	assert_int_equal(prom_end(&p), 0);
}

static void text_is_as_prometheus_reads_it(void **state)
{
	AUTO(buf_done) struct buf out = BUF_INIT;

	write_some(PROM_TEXT, &out);
	assert_string_equal(out.data,
		"# HELP x_samples_total Samples in the tree.\n"
		"# TYPE x_samples_total counter\n"
		"x_samples_total{session=\"7\",comm=\"q\\\"<&>\\\\\\n\xef\xbf\xbd"
		"FF\"} 18446744073709551615\n"
		"x_samples_total 0\n"
		"# HELP x_fill_ratio Fullest ring.\n"
		"# TYPE x_fill_ratio gauge\n"
		"x_fill_ratio{session=\"7\"} 0.25\n"
		"# HELP x_seconds Answers.\n"
		"# TYPE x_seconds histogram\n"
		"x_seconds_bucket{session=\"7\",le=\"0.005\"} 1\n"
		"x_seconds_bucket{session=\"7\",le=\"0.1\"} 3\n"
		"x_seconds_bucket{session=\"7\",le=\"1.0\"} 3\n"
		"x_seconds_bucket{session=\"7\",le=\"10.0\"} 7\n"
		"x_seconds_bucket{session=\"7\",le=\"+Inf\"} 12\n"
		"x_seconds_sum{session=\"7\"} 12.5\n"
		"x_seconds_count{session=\"7\"} 12\n");
}

static void openmetrics_differs_where_it_has_to(void **state)
{
	AUTO(buf_done) struct buf out = BUF_INIT;

	write_some(PROM_OPENMETRICS, &out);
	assert_non_null(strstr(out.data, "# TYPE x_samples counter\nx_samples_total{"));
	assert_non_null(strstr(out.data, "# HELP x_samples Samples in the tree.\n"));
	assert_string_equal(out.data + out.len - 6, "# EOF\n");
}

static void doubles_read_back_as_they_were(void **state)
{
	static const double values[] = {
		0, -0.5, 1e300, 5e-324, DBL_MAX, 0.1, 1.0 / 3, 123456789, 1e22, 1e15};

	for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		AUTO(buf_done) struct buf out = BUF_INIT;
		struct prom p;

		prom_begin(&p, PROM_TEXT, &out);
		prom_family(&p, PROM_GAUGE, "g", "G.");
		buf_clear(&out);
		prom_double(&p, NULL, 0, values[i]);
		assert_true(strtod(out.data + 2, NULL) == values[i]);
	}
}

static void infinity_and_nan_have_names(void **state)
{
	AUTO(buf_done) struct buf out = BUF_INIT;
	struct prom p;

	prom_begin(&p, PROM_TEXT, &out);
	prom_family(&p, PROM_GAUGE, "g", "G.");
	buf_clear(&out);
	prom_double(&p, NULL, 0, (double)INFINITY);
	prom_double(&p, NULL, 0, -(double)INFINITY);
	prom_double(&p, NULL, 0, (double)NAN);
	assert_string_equal(out.data, "g +Inf\ng -Inf\ng NaN\n");
}

static void full_buffer_is_said(void **state)
{
	AUTO(buf_done) struct buf out = {.max_bytes = 10};
	struct prom p;

	prom_begin(&p, PROM_OPENMETRICS, &out);
	prom_family(&p, PROM_GAUGE, "g", "G.");
	assert_int_equal(prom_end(&p), -EFBIG);
}

static void header_chooses_the_format(void **state)
{
	static const struct {
		const char *accept;
		enum prom_format format;
	} cases[] = {
		{NULL, PROM_TEXT},
		{"", PROM_TEXT},
		{"*/*", PROM_TEXT},
		{"text/plain;version=0.0.4", PROM_TEXT},
		{"application/openmetrics-text", PROM_OPENMETRICS},
		{"Application/OpenMetrics-Text ; version=1.0.0", PROM_OPENMETRICS},
		{"application/openmetrics-text;version=1.0.0,application/"
		 "openmetrics-text;version=0.0.1;"
		 "q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
			PROM_OPENMETRICS},
		{"application/openmetrics-text;q=0.3, text/plain;q=0.5", PROM_TEXT},
		{"application/openmetrics-text;q=0", PROM_TEXT},
		{"application/openmetrics-text;q=9", PROM_TEXT},
		{"application/openmetrics-textual", PROM_TEXT},
		{",,;;,;q=,", PROM_TEXT},
		{"application/openmetrics-text;", PROM_OPENMETRICS},
		{"application/openmetrics-text;q=", PROM_OPENMETRICS},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(prom_format_accept(cases[i].accept), cases[i].format);
	assert_string_equal(
		prom_content_type(PROM_TEXT), "text/plain; version=0.0.4; charset=utf-8");
}

/* With an argument: writes the text to standard output, for other parsers to judge. */
int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_as_prometheus_reads_it),
		cmocka_unit_test(openmetrics_differs_where_it_has_to),
		cmocka_unit_test(doubles_read_back_as_they_were),
		cmocka_unit_test(infinity_and_nan_have_names),
		cmocka_unit_test(full_buffer_is_said),
		cmocka_unit_test(header_chooses_the_format),
	};

	if (argc > 1) {
		AUTO(buf_done) struct buf out = BUF_INIT;

		write_some(strcmp(argv[1], "text") == 0 ? PROM_TEXT : PROM_OPENMETRICS, &out);
		return fwrite(out.data, 1, out.len, stdout) != out.len;
	}
	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
