/* What reads a request, piece by piece: targets, bodies, times, hosts, tokens, answers. */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "daemon/http/answer.h"
#include "daemon/http/etag.h"
#include "daemon/http/ask.h"
#include "daemon/http/auth.h"
#include "daemon/http/counts.h"
#include "daemon/http/json_in.h"
#include "daemon/http/json_out.h"
#include "daemon/http/json_text.h"
#include "daemon/http/uri.h"
#include "daemon/http/usage.h"
#include "daemon/http/vet.h"
#include "tests/unit/failing_alloc.h"
#include "tests/unit/fake_run.h"

#define MAX_FREQ 10000

/* ---- uri ---- */

static int uri_status(const char *raw)
{
	AUTO(buf_done) struct buf why = BUF_INIT;
	struct uri u;
	int status = uri_parse(raw, &u, &why);

	if (status == 0)
		uri_done(&u);
	else
		assert_true(why.len > 10);
	return status;
}

static void path_and_query_are_decoded(void **state)
{
	AUTO(buf_done) struct buf why = BUF_INIT;
	struct uri u;

	assert_int_equal(uri_parse("/%6detrics/a%2fb?q=a%26b+c&empty=&bare&x=%C3%A9", &u, &why), 0);
	assert_string_equal(u.path, "/metrics/a/b");
	assert_string_equal(uri_get(&u, "q"), "a&b c");
	assert_string_equal(uri_get(&u, "empty"), "");
	assert_string_equal(uri_get(&u, "bare"), "");
	assert_string_equal(uri_get(&u, "x"), "\xc3\xa9");
	assert_null(uri_get(&u, "y"));
	uri_done(&u);
}

static void absolute_form_gives_its_host(void **state)
{
	AUTO(buf_done) struct buf why = BUF_INIT;
	struct uri u;

	assert_int_equal(uri_parse("HTTP://localhost:80/v1/status?a=1", &u, &why), 0);
	assert_string_equal(u.host, "localhost:80");
	assert_string_equal(u.path, "/v1/status");
	assert_string_equal(uri_get(&u, "a"), "1");
	uri_done(&u);
	assert_int_equal(uri_parse("*", &u, &why), 0);
	assert_string_equal(u.path, "*");
	uri_done(&u);
}

static void bad_targets_are_refused(void **state)
{
	static const char *const bad[] = {"", "x", "v1/status", "/a b", "/a\tb", "/a\x01", "/a\x7f",
		"/a\xc3\xa9", "/a#b", "/%", "/%4", "/%zz", "/%4g", "/%00", "/%1f", "/%7F", "/%ff",
		"/%c3", "/?a=%", "/?a=%4", "/?%00=1", "/?a=1&a=2", "/?a=%0a", "http://", "http://x",
		"http://x?a=/", "https://x/", "http:/x", "?a=1", "**"};
	char many[2048] = "/?";

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (uri_status(bad[i]) != 400)
			fail_msg("%s was taken", bad[i]);
	for (int i = 0; i <= URI_ITEMS_MAX; i++)
		sprintf(many + strlen(many), "k%d=1&", i);
	assert_int_equal(uri_status(many), 400);
}

static void long_targets_are_too_long(void **state)
{
	AUTO(free_auto) char *text = malloc(URI_BYTES_MAX + 2);

	memset(text, 'a', URI_BYTES_MAX + 1);
	text[0] = '/';
	text[URI_BYTES_MAX + 1] = 0;
	assert_int_equal(uri_status(text), 414);
	text[URI_BYTES_MAX] = 0;
	assert_int_equal(uri_status(text), 0);
}

static void key_is_taken_out_of_a_query(void **state)
{
	static const char *const cases[][2] = {
		{"/?token=x", "/"},
		{"/?token=x&a=1", "/?a=1"},
		{"/?a=1&token=x&b=2", "/?a=1&b=2"},
		{"/?tokens=x&token", "/?tokens=x"},
		{"/a", "/a"},
		{"/?&&token=1&&", "/"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		AUTO(buf_done) struct buf out = BUF_INIT;

		assert_int_equal(uri_without(cases[i][0], "token", &out), 0);
		assert_string_equal(out.data, cases[i][1]);
	}
}

/* ---- JSON in ---- */

static int text_result(const char *text, size_t len)
{
	AUTO(buf_done) struct buf why = BUF_INIT;
	int r = json_text_check(text, len, &why);

	if (r == 0)
		assert_int_equal(why.len, 0);
	else
		assert_true(why.len > 10);
	return r;
}

static void json_grammar_is_held(void **state)
{
	static const char *const good[] = {"{}", "[]", " [ ] ", "0", "-0", "1.5e+10", "1E-2",
		"\"\"", "\"\\u00e9\\ud83d\\ude00\\n\\/\"", "[1,2,[3,{\"a\":null}]]",
		"{\"a\":{\"b\":[true]}}", "\"\xc3\xa9\"", "\r\n\t{ \"a\" : 1 , \"b\" : 2 }\n"};
	static const char *const bad[] = {"", " ", "\n", "{", "}", "[", "]", "[1", "[1,", "[1,]",
		"[,1]", "{,}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "{'a':1}", "{\"a\" 1}",
		"[1 2]", "[1}", "{\"a\":1]", "01", "-", "+1", ".5", "1.", "1e", "1e+", "0x10",
		"1-2", "--1", "NaN", "Infinity", "-Infinity", "nul", "nullx", "True", "tru", "\"",
		"\"\\\"", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\u0000\"", "\"\\ud800\"",
		"\"\\udc00\"", "\"\\ud800\\u0041\"", "\"\\ud800x\"", "\"a\nb\"", "\"\t\"",
		"\"\x01\"", "\xef\xbb\xbf{}", "{\"a\":\"\xff\xfe\"}", "\"\xc3\"",
		"\"\xed\xa0\x80\"", "{}x", "{} {}", "1 2", "[] ]", "/**/{}", "{}//",
		"\xe2\x80\xa8{}"};

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		if (text_result(good[i], strlen(good[i])) != 0)
			fail_msg("%s was refused", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (text_result(bad[i], strlen(bad[i])) != -EINVAL)
			fail_msg("%s was taken", bad[i]);
	assert_int_equal(text_result("{}\0", 3), -EINVAL);
	assert_int_equal(text_result("\"a\0b\"", 5), -EINVAL);
	assert_int_equal(text_result("{}garbage", 2), 0); /* len counts, not a NUL */
}

static void json_levels_and_values_are_limited(void **state)
{
	enum { DEEP = 100000 };
	AUTO(free_auto) char *text = malloc(DEEP * 2 + 2);

	for (int depth = JSON_DEPTH_MAX; depth <= JSON_DEPTH_MAX + 1; depth++) {
		memset(text, '[', depth);
		memset(text + depth, ']', depth);
		assert_int_equal(
			text_result(text, 2 * depth), depth > JSON_DEPTH_MAX ? -EINVAL : 0);
	}
	memset(text, '[', DEEP);
	assert_int_equal(text_result(text, DEEP), -EINVAL);
	for (int values = JSON_VALUES_MAX - 1; values <= JSON_VALUES_MAX; values++) {
		text[0] = '[';
		for (int i = 0; i < values; i++)
			memcpy(text + 1 + 2 * i, i + 1 < values ? "1," : "1]", 2);
		assert_int_equal(text_result(text, 1 + 2 * values),
			values + 1 > JSON_VALUES_MAX ? -EINVAL : 0);
	}
}

static int session_result(const char *text, struct session_request *request, struct buf *why)
{
	buf_clear(why);
	return json_in_session(text, strlen(text), MAX_FREQ, request, why);
}

static void plain_sessions_are_read(void **state)
{
	AUTO(free_auto) struct session_request *s = malloc(sizeof(*s));
	AUTO(buf_done) struct buf why = BUF_INIT;

	assert_int_equal(session_result("{\"pid\": 42}", s, &why), 0);
	assert_int_equal(s->target, RUN_PID);
	assert_int_equal(s->pid_count, 1);
	assert_int_equal(s->pids[0], 42);
	assert_true(s->kernel);
	assert_int_equal(s->freq_hz, 0);

	assert_int_equal(
		session_result("{\"pids\":[1,2,3],\"events\":\"cycles\",\"period\":1e6}", s, &why),
		0);
	assert_int_equal(s->target, RUN_PIDS);
	assert_int_equal(s->pid_count, 3);
	assert_int_equal(s->event_count, 1);
	assert_string_equal(s->events[0], "cycles");
	assert_int_equal(s->period, 1000000);

	assert_int_equal(
		session_result("{\"all\":true,\"events\":[\"a\",\"b\"],\"duration_s\":1.5,"
			       "\"kernel\":false,\"unwind\":\"fp\",\"stack_bytes\":8192,"
			       "\"max_frames\":100,\"name\":\"n\\u00e4me\",\"unwinder\":\"libdw\","
			       "\"frequency_hz\":199}",
			s, &why),
		0);
	assert_int_equal(s->target, RUN_ALL);
	assert_int_equal(s->event_count, 2);
	assert_int_equal(s->duration_ns, 1500000000);
	assert_false(s->kernel);
	assert_string_equal(s->unwind, "fp");
	assert_int_equal(s->stack_bytes, 8192);
	assert_int_equal(s->max_frames, 100);
	assert_string_equal(s->name, "n\xc3\xa4me");
	assert_string_equal(s->unwinder, "libdw");
	assert_int_equal(s->freq_hz, 199);

	assert_int_equal(session_result("{\"cgroup\":\"/a/b\"}", s, &why), 0);
	assert_int_equal(s->target, RUN_CGROUP);
	assert_string_equal(s->text, "/a/b");
	assert_int_equal(session_result("{\"unit\":\"nginx.service\"}", s, &why), 0);
	assert_int_equal(s->target, RUN_UNIT);
	assert_int_equal(session_result("{\"container\":\"abcdef123456\"}", s, &why), 0);
	assert_int_equal(s->target, RUN_CONTAINER);
	assert_int_equal(session_result("{\"command\":\"java\"}", s, &why), 0);
	assert_int_equal(s->target, RUN_COMMAND);
}

/* What is wrong, and the word that the sentence must hold. */
static void wrong_sessions_are_refused_by_key(void **state)
{
	static const char *const cases[][2] = {
		{"[]", "object"},
		{"42", "object"},
		{"\"pid\"", "object"},
		{"null", "object"},
		{"{}", "target"},
		{"{\"name\":\"x\"}", "target"},
		{"{\"pid\":1,\"all\":true}", "exactly one"},
		{"{\"pid\":1,\"pid\":2}", "\"pid\""},
		{"{\"pid\":1,\"\\u0070id\":2}", "twice"},
		{"{\"pid\":0}", "\"pid\""},
		{"{\"pid\":-1}", "-1"},
		{"{\"pid\":1.5}", "1.5"},
		{"{\"pid\":\"42\"}", "\"pid\""},
		{"{\"pid\":null}", "\"pid\""},
		{"{\"pid\":[1]}", "\"pid\""},
		{"{\"pid\":{}}", "\"pid\""},
		{"{\"pid\":true}", "\"pid\""},
		{"{\"pid\":1e999}", "\"pid\""},
		{"{\"pid\":-1e999}", "\"pid\""},
		{"{\"pid\":18446744073709551616}", "\"pid\""},
		{"{\"pid\":2147483648}", "\"pid\""},
		{"{\"pid\":-1,\"hz\":0}", "pid"},
		{"{\"hz\":0,\"pid\":1}", "\"hz\""},
		{"{\"Pid\":1}", "\"Pid\""},
		{"{\"pids\":[]}", "\"pids\""},
		{"{\"pids\":5}", "\"pids\""},
		{"{\"pids\":[1,\"2\"]}", "\"pids\""},
		{"{\"pids\":[0]}", "\"pids\""},
		{"{\"all\":false}", "\"all\""},
		{"{\"all\":1}", "\"all\""},
		{"{\"cgroup\":\"a\"}", "\"cgroup\""},
		{"{\"cgroup\":\"\"}", "\"cgroup\""},
		{"{\"unit\":7}", "\"unit\""},
		{"{\"command\":\"a\\nb\"}", "\"command\""},
		{"{\"container\":[]}", "\"container\""},
		{"{\"pid\":1,\"events\":[]}", "\"events\""},
		{"{\"pid\":1,\"events\":[1]}", "\"events\""},
		{"{\"pid\":1,\"events\":\"\"}", "\"events\""},
		{"{\"pid\":1,\"events\":{}}", "\"events\""},
		{"{\"pid\":1,\"events\":[\"a\",\"a\"]}", "twice"},
		{"{\"pid\":1,\"events\":[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\"]}",
			"\"events\""},
		{"{\"pid\":1,\"frequency_hz\":0}", "\"frequency_hz\""},
		{"{\"pid\":1,\"frequency_hz\":10001}", "10000"},
		{"{\"pid\":1,\"frequency_hz\":99.5}", "\"frequency_hz\""},
		{"{\"pid\":1,\"frequency_hz\":99,\"period\":5}", "period"},
		{"{\"pid\":1,\"period\":0}", "\"period\""},
		{"{\"pid\":1,\"period\":1e16}", "\"period\""},
		{"{\"pid\":1,\"duration_s\":-1}", "\"duration_s\""},
		{"{\"pid\":1,\"duration_s\":1e300}", "\"duration_s\""},
		{"{\"pid\":1,\"duration_s\":1e-9}", "\"duration_s\""},
		{"{\"pid\":1,\"duration_s\":\"5s\"}", "\"duration_s\""},
		{"{\"pid\":1,\"kernel\":0}", "\"kernel\""},
		{"{\"pid\":1,\"unwind\":\"lbr\"}", "\"unwind\""},
		{"{\"pid\":1,\"unwind\":1}", "\"unwind\""},
		{"{\"pid\":1,\"stack_bytes\":65536}", "\"stack_bytes\""},
		{"{\"pid\":1,\"cpu_percent\":0}", "\"cpu_percent\""},
		{"{\"pid\":1,\"cpu_percent\":100.5}", "\"cpu_percent\""},
		{"{\"pid\":1,\"cpu_percent\":\"1\"}", "\"cpu_percent\""},
		{"{\"pid\":1,\"memory_mib\":0}", "\"memory_mib\""},
		{"{\"pid\":1,\"memory_mib\":1.5}", "\"memory_mib\""},
		{"{\"pid\":1,\"stack_bytes\":1001}", "\"stack_bytes\""},
		{"{\"pid\":1,\"max_frames\":0}", "\"max_frames\""},
		{"{\"pid\":1,\"max_frames\":100000}", "\"max_frames\""},
		{"{\"pid\":1,\"name\":\"\"}", "\"name\""},
		{"{\"pid\":1,\"name\":\"a\\u001bb\"}", "\"name\""},
		{"{\"pid\":1,\"unwinder\":\"0123456789abcdef\"}", "\"unwinder\""},
	};
	AUTO(free_auto) struct session_request *s = malloc(sizeof(*s));
	AUTO(buf_done) struct buf why = BUF_INIT;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		if (session_result(cases[i][0], s, &why) != -EINVAL)
			fail_msg("%s was taken", cases[i][0]);
		if (!strstr(why.data, cases[i][1]))
			fail_msg("%s: \"%s\" lacks %s", cases[i][0], why.data, cases[i][1]);
	}
}

static void long_names_and_many_pids_are_refused(void **state)
{
	AUTO(free_auto) struct session_request *s = malloc(sizeof(*s));
	AUTO(buf_done) struct buf why = BUF_INIT;
	AUTO(buf_done) struct buf text = BUF_INIT;

	buf_append_str(&text, "{\"pid\":1,\"name\":\"");
	for (int i = 0; i < 128; i++)
		buf_append_char(&text, 'x');
	buf_append_str(&text, "\"}");
	assert_int_equal(session_result(text.data, s, &why), -EINVAL);
	assert_non_null(strstr(why.data, "..."));

	buf_clear(&text);
	buf_append_str(&text, "{\"pids\":[1");
	for (int i = 1; i < RUN_PIDS_MAX; i++)
		buf_append_str(&text, ",1");
	assert_int_equal(buf_append_str(&text, "]}"), 0);
	assert_int_equal(session_result(text.data, s, &why), 0);
	assert_int_equal(s->pid_count, RUN_PIDS_MAX);
	text.len -= 2;
	assert_int_equal(buf_append_str(&text, ",1]}"), 0);
	assert_int_equal(session_result(text.data, s, &why), -EINVAL);
}

static void changes_are_read(void **state)
{
	static const char *const bad[] = {"{}", "{\"name\":\"\"}", "{\"name\":\"a\\u0001\"}",
		"{\"name\":7}", "{\"frequency_hz\":0}", "{\"kernel\":\"no\"}", "{\"pid\":1}", "[]",
		"", "{\"kernel\":true,\"kernel\":true}", "{\"cpu_percent\":0}",
		"{\"memory_mib\":0}"};
	AUTO(buf_done) struct buf why = BUF_INIT;
	struct session_change change;

	assert_int_equal(json_in_change("{\"kernel\":false}", 16, MAX_FREQ, &change, &why), 0);
	assert_int_equal(change.freq_hz, 0);
	assert_int_equal(change.kernel, 0);
	assert_int_equal(json_in_change("{\"frequency_hz\":5}", 18, MAX_FREQ, &change, &why), 0);
	assert_int_equal(change.freq_hz, 5);
	assert_int_equal(change.kernel, -1);
	assert_int_equal(json_in_change("{\"cpu_percent\":0.5,\"memory_mib\":9}", 34, MAX_FREQ,
				 &change, &why),
		0);
	assert_true(change.cpu_percent == 0.5 && change.memory_mib == 9 && change.kernel == -1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(
			json_in_change(bad[i], strlen(bad[i]), MAX_FREQ, &change, &why), -EINVAL);
	assert_int_equal(json_in_nothing("", 0, &why), 0);
	assert_int_equal(json_in_nothing("{ }", 3, &why), 0);
	assert_int_equal(json_in_nothing("{\"a\":1}", 7, &why), -EINVAL);
	assert_int_equal(json_in_nothing("null", 4, &why), -EINVAL);
}

/* ---- JSON out ---- */

static void json_is_written_with_its_commas(void **state)
{
	AUTO(buf_done) struct buf b = BUF_INIT;

	json_begin(&b, '{');
	json_text(&b, "a{", "x{[:");
	json_u64(&b, "big", UINT64_MAX);
	json_begin_in(&b, "list", '[');
	json_u64(&b, NULL, 1);
	json_null(&b, NULL);
	json_begin(&b, '{');
	json_end(&b, '}');
	json_begin(&b, '[');
	json_end(&b, ']');
	json_end(&b, ']');
	json_double(&b, "d", 12.5);
	json_double(&b, "nan", 0.0 / 0.0);
	json_bool(&b, "t", true);
	json_text(&b, "none", NULL);
	json_time(&b, "at", UINT64_C(1700000000123000000));
	json_time(&b, "never", 0);
	json_seconds(&b, "s", 1500000000);
	json_end(&b, '}');
	assert_string_equal(b.data,
		"{\"a{\":\"x{[:\",\"big\":18446744073709551615,\"list\":[1,null,{},[]],\"d\":12.5,"
		"\"nan\":null,\"t\":true,\"none\":null,\"at\":\"2023-11-14T22:13:20.123Z\","
		"\"never\":null,\"s\":1.5}");
}

/* ---- times, hosts, tokens ---- */

static void rfc3339_is_read(void **state)
{
	static const char *const bad[] = {"", "2023", "2023-11-14", "2023-11-14T22:13:20",
		"2023-11-14T22:13Z", "2023-13-14T22:13:20Z", "2023-11-00T22:13:20Z",
		"2023-11-14T24:13:20Z", "2023-11-14T22:60:20Z", "2023-11-14T22:13:61Z",
		"2023-11-14T22:13:20ZZ", "2023-11-14T22:13:20+1", "2023-11-14T22:13:20+25:00",
		"1969-12-31T23:59:59Z", "2023-11-14x22:13:20Z", "-023-11-14T22:13:20Z"};
	uint64_t ns = 0;

	assert_int_equal(ask_parse_rfc3339("2023-11-14T22:13:20Z", &ns), 0);
	assert_int_equal(ns, UINT64_C(1700000000000000000));
	assert_int_equal(ask_parse_rfc3339("2023-11-14T23:13:20.123456789+01:00", &ns), 0);
	assert_int_equal(ns, UINT64_C(1700000000123456789));
	assert_int_equal(ask_parse_rfc3339("2023-11-14t21:13:20.5-01:00", &ns), 0);
	assert_int_equal(ns, UINT64_C(1700000000500000000));
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (ask_parse_rfc3339(bad[i], &ns) != -EINVAL)
			fail_msg("%s was taken", bad[i]);
}

static void hosts_are_split(void **state)
{
	static const char *const bad[] = {"", ":80", "a b", "a:b", "a:123456", "[::1", "::1", "a/b",
		"a@b", "[::1]x", "[::1]:x", "a:80:80", "a,b", "[g]"};
	char name[32];

	assert_true(vet_host_split("localhost:9611", name, sizeof(name)));
	assert_string_equal(name, "localhost");
	assert_true(vet_host_split("[::1]:80", name, sizeof(name)));
	assert_string_equal(name, "[::1]");
	assert_true(vet_host_split("a.b-c", name, sizeof(name)));
	assert_false(vet_host_split("0123456789012345678901234567890123", name, sizeof(name)));
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (vet_host_split(bad[i], name, sizeof(name)))
			fail_msg("%s was taken", bad[i]);
}

static void tokens_are_compared_in_full(void **state)
{
	char token[65], given[65];

	memset(token, 'a', 64);
	token[64] = 0;
	memcpy(given, token, sizeof(given));
	assert_true(auth_token_equal(token, given, 64));
	assert_false(auth_token_equal(token, given, 63));
	assert_false(auth_token_equal(token, given, 0));
	assert_false(auth_token_equal("", "", 0));
	for (int i = 0; i < 64; i++) {
		given[i] = 'b';
		assert_false(auth_token_equal(token, given, 64));
		given[i] = 'a';
	}
}

/* ---- answers ---- */

static void first_answer_wins(void **state)
{
	struct req *r = calloc(1, sizeof(*r));

	problem(r, 404, "There is no %s.", "\"thing\"");
	problem(r, 500, "Never seen.");
	assert_int_equal(r->answer.status, 404);
	assert_string_equal(r->answer.body.data,
		"{\"type\":\"about:blank\",\"title\":\"Not Found\",\"status\":404,"
		"\"detail\":\"There is no \\\"thing\\\".\"}\n");
	answer_done(&r->answer);
	free(r);
}

static void run_errors_have_their_status(void **state)
{
	static const unsigned statuses[] = {[RUN_BAD_REQUEST] = 400,
		[RUN_FORBIDDEN] = 403,
		[RUN_NOT_FOUND] = 404,
		[RUN_CONFLICT] = 409,
		[RUN_UNSUPPORTED] = 422,
		[RUN_TOO_MANY] = 429,
		[RUN_UNAVAILABLE] = 503,
		[RUN_FAILED] = 500,
		500};
	struct buf none = BUF_INIT;

	for (unsigned i = 1; i < sizeof(statuses) / sizeof(*statuses); i++) {
		struct req *r = calloc(1, sizeof(*r));

		problem_of_run(r, (int)i, &none);
		assert_int_equal(r->answer.status, statuses[i]);
		assert_int_equal(r->answer.header_count, statuses[i] == 429 || statuses[i] == 503);
		answer_done(&r->answer);
		free(r);
	}
}

static void tags_are_found_in_lists(void **state)
{
	static const struct {
		const char *list;
		bool match;
	} cases[] = {{"\"a\"", true}, {"W/\"a\"", true}, {"\"b\", \"a\"", true}, {"*", true},
		{"\"ab\"", false}, {"a", false}, {"", false}, {"\"b\",W/\"c\"", false}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct req *r = calloc(1, sizeof(*r));

		r->headers[0] = (struct header){"if-none-match", cases[i].list,
			strlen("if-none-match"), strlen(cases[i].list)};
		r->header_count = 1;
		assert_int_equal(answer_etag(r, "\"a\""), cases[i].match);
		assert_int_equal(r->answer.status, cases[i].match ? 304 : 0);
		answer_done(&r->answer);
		free(r);
	}
}

static void counts_belong_together(void **state)
{
	static struct counts c, copy;
	uint64_t all = 0;

	counts_init(&c);
	for (unsigned status = 200; status < 200 + 2 * COUNTS_STATUS_MAX; status++)
		counts_add(&c, status % 2 ? route_at(0) : NULL, status, (uint64_t)status * 1000000);
	counts_get(&c, &copy);
	for (unsigned row = 0; row < ROUTES_MAX; row++)
		for (unsigned i = 0; i < copy.status_count; i++)
			all += copy.requests[row][i];
	assert_int_equal(all, 2 * COUNTS_STATUS_MAX);
	all = 0;
	for (unsigned i = 0; i <= COUNTS_BUCKETS; i++)
		all += copy.buckets[i];
	assert_int_equal(all, 2 * COUNTS_STATUS_MAX);
	counts_done(&c);
}

/* An answer comes out whatever fails on the way to it: at worst the one that says so. */
static void missing_memory_is_answered(void **state)
{
	long fails = 0;

	for (bool whole = false; !whole; fails++) {
		AUTO(buf_done) struct buf why = BUF_INIT;
		struct req *r = calloc(1, sizeof(*r));
		int status;

		alloc_fail_after = fails;
		status = uri_parse("/v1/status?a=1", &r->uri, &why);
		if (status == 0)
			problem(r, 404, "There is no %s.", "such thing");
		else
			problem(r, (unsigned)status, "There is no memory.");
		whole = alloc_fail_after > 0;
		alloc_fail_after = -1;
		assert_true(r->answer.status == 503 || r->answer.status == 404);
		assert_true(r->answer.fixed || r->answer.body.len > 0);
		if (whole)
			assert_int_equal(r->answer.status, 404);
		answer_done(&r->answer);
		uri_done(&r->uri);
		free(r);
	}
	assert_true(fails > 2);
}

static double reader_seconds(struct usages *u)
{
	struct usage list[USAGE_PROCESSES];
	unsigned count = usages_read(u, NULL, list);

	for (unsigned i = 0; i < count; i++)
		if (strcmp(list[i].role, "reader") == 0)
			return list[i].cpu_seconds;
	return 0;
}

static void cpu_of_readers_adds_up(void **state)
{
	double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
	struct usages u;

	fake_run_reset();
	usages_init(&u);
	assert_true(reader_seconds(&u) == 0);
	fake_run.reader_pid = 12;
	fake_run.reader_ticks = 50;
	assert_true(reader_seconds(&u) == 50 * tick);
	fake_run.reader_ticks = 60;
	assert_true(reader_seconds(&u) == 60 * tick);
	fake_run.reader_pid = 0; /* it has died */
	assert_true(reader_seconds(&u) == 60 * tick);
	fake_run.reader_pid = 13;
	fake_run.reader_ticks = 5;
	assert_true(reader_seconds(&u) == 60 * tick + 5 * tick);
	fake_run.reader_ticks = 7;
	assert_true(reader_seconds(&u) == 60 * tick + 7 * tick);
	usages_done(&u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(path_and_query_are_decoded),
		cmocka_unit_test(absolute_form_gives_its_host),
		cmocka_unit_test(bad_targets_are_refused),
		cmocka_unit_test(long_targets_are_too_long),
		cmocka_unit_test(key_is_taken_out_of_a_query),
		cmocka_unit_test(json_grammar_is_held),
		cmocka_unit_test(json_levels_and_values_are_limited),
		cmocka_unit_test(plain_sessions_are_read),
		cmocka_unit_test(wrong_sessions_are_refused_by_key),
		cmocka_unit_test(long_names_and_many_pids_are_refused),
		cmocka_unit_test(changes_are_read),
		cmocka_unit_test(json_is_written_with_its_commas),
		cmocka_unit_test(rfc3339_is_read),
		cmocka_unit_test(hosts_are_split),
		cmocka_unit_test(tokens_are_compared_in_full),
		cmocka_unit_test(first_answer_wins),
		cmocka_unit_test(run_errors_have_their_status),
		cmocka_unit_test(tags_are_found_in_lists),
		cmocka_unit_test(counts_belong_together),
		cmocka_unit_test(missing_memory_is_answered),
		cmocka_unit_test(cpu_of_readers_adds_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
