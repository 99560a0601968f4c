#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <cjson/cJSON.h>
#include <ctype.h>
#include <errno.h>

#include "base/buf.h"
#include "base/parse.h"
#include "daemon/render/render.h"
#include "daemon/tree/ledger.h"
#include "tests/unit/failing_alloc.h"
#include "tests/unit/profile_samples.h"

AUTO_FREE_FN(cJSON, cJSON_Delete)

#define PIECE_MAX ((size_t)128 << 10)

static int render_into(enum render_format format, const struct profile *p,
	const struct view_query *q, struct buf *into, unsigned *ret_pieces)
{
	AUTO(render_free_auto) struct render *r = NULL;
	struct view *v = NULL;
	int e = view_new(p, q, &v);

	*ret_pieces = 0;
	if (e == 0)
		e = render_new(format, v, NULL, &r);
	if (e < 0)
		return e;
	do {
		size_t before = into->len;

		e = render_more(r, into);
		assert_true(into->len - before < PIECE_MAX);
		++*ret_pieces;
	} while (e > 0);
	return e;
}

static void render_of(enum render_format format, const struct profile *p,
	const struct view_query *q, struct buf *into)
{
	unsigned pieces;

	assert_int_equal(render_into(format, p, q, into, &pieces), 0);
	/* Every text format of ours is UTF-8 without control bytes but for line ends. */
	assert_true(text_is_utf8(into->data, into->len));
	for (size_t i = 0; i < into->len; i++)
		assert_true((unsigned char)into->data[i] >= 32 || into->data[i] == '\n');
	assert_int_equal(into->data[into->len - 1], '\n');
}

static cJSON *json_of(const struct profile *p, const struct view_query *q)
{
	AUTO(buf_done) struct buf text = BUF_INIT;
	cJSON *json;

	render_of(RENDER_JSON, p, q, &text);
	json = cJSON_ParseWithLength(text.data, text.len);
	assert_non_null(json);
	return json;
}

static double number(const cJSON *object, const char *key)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);

	assert_true(cJSON_IsNumber(value));
	return value->valuedouble;
}

static const char *text(const cJSON *object, const char *key)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);

	assert_true(cJSON_IsString(value));
	return value->valuestring;
}

static const cJSON *column(const cJSON *object, const char *key, int count)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);

	assert_true(cJSON_IsArray(value));
	assert_int_equal(cJSON_GetArraySize(value), count);
	return value;
}

static int cell(const cJSON *array, int i)
{
	return cJSON_GetArrayItem(array, i)->valueint;
}

static void json_has_the_view_in_columns(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = sample_small();
	struct view_query q = {.by_process = true, .lines = true};
	AUTO(cJSON_Delete_auto) cJSON *json = json_of(p, &q);
	const cJSON *names = cJSON_GetObjectItem(json, "names"), *session, *ledger;
	int name_count = cJSON_GetArraySize(names);
	const cJSON *depth = column(json, "depth", 7), *name = column(json, "name", 7),
		    *self = column(json, "self", 7), *samples = column(json, "samples_total", 7);
	static const char *const want[] = {"all", "app (42)", "main", "sin", "work", "cold", "hot"};
	static const int depths[] = {0, 1, 2, 3, 3, 4, 4}, selves[] = {0, 0, 10, 10, 0, 20, 60},
			 totals[] = {100, 100, 100, 10, 80, 20, 60};
	int sin_name = cell(name, 3);

	assert_int_equal(number(json, "version"), 1);
	assert_string_equal(text(json, "event"), "cpu-clock");
	assert_string_equal(text(json, "unit"), "nanoseconds");
	assert_int_equal(number(json, "total"), 1000000000);
	assert_int_equal(number(json, "samples"), 100);
	for (int i = 0; i < 7; i++) {
		assert_string_equal(cJSON_GetArrayItem(names, cell(name, i))->valuestring, want[i]);
		assert_int_equal(cell(depth, i), depths[i]);
		assert_int_equal(cell(self, i), selves[i] * 10000000);
		assert_int_equal(cell(samples, i), totals[i]);
	}
	assert_string_equal(cJSON_GetArrayItem(cJSON_GetObjectItem(json, "modules"),
				    cell(column(json, "name_module", name_count), sin_name))
				    ->valuestring,
		"libm.so.6");
	assert_string_equal(cJSON_GetArrayItem(cJSON_GetObjectItem(json, "files"),
				    cell(column(json, "name_file", name_count), sin_name))
				    ->valuestring,
		"/src/source.c");
	assert_string_equal(cJSON_GetArrayItem(cJSON_GetObjectItem(json, "kinds"),
				    cell(column(json, "name_kind", name_count), sin_name))
				    ->valuestring,
		"user");
	assert_true(cell(column(json, "name_line", name_count), sin_name) >= 10);
	assert_int_equal(cell(column(json, "name_unnamed", name_count), sin_name), 0);

	session = cJSON_GetObjectItem(json, "session");
	assert_int_equal(number(session, "id"), 7);
	assert_string_equal(text(session, "name"), "morning");
	assert_string_equal(text(session, "target"), "pid 42 (app)");
	assert_string_equal(text(session, "started_at"), "2023-11-14T22:13:20.000Z");
	assert_string_equal(text(session, "ended_at"), "2023-11-14T22:14:20.000Z");
	assert_true(cJSON_IsTrue(
		cJSON_GetObjectItem(cJSON_GetObjectItem(json, "query"), "by_process")));
	ledger = cJSON_GetObjectItem(json, "ledger");
	assert_int_equal(number(ledger, "samples"), 100);
	assert_int_equal(number(ledger, "lost"), 0);
	assert_int_equal(number(cJSON_GetObjectItem(ledger, "unwind_ends"), "root"), 100);
}

static void json_of_a_running_session_has_no_end(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = sample_small();
	struct view_query q = {0};
	AUTO(cJSON_Delete_auto) cJSON *json = NULL;
	const cJSON *warnings;

	p->meta.ended_wall_ns = 0;
	p->meta.warnings = (uint32_t)profile_add_text(p, "one \"1\"\n\ntwo", 13);
	p->events[0].is_clock = false;
	json = json_of(p, &q);
	assert_true(cJSON_IsNull(
		cJSON_GetObjectItem(cJSON_GetObjectItem(json, "session"), "ended_at")));
	assert_string_equal(text(json, "unit"), "count");
	warnings = column(cJSON_GetObjectItem(json, "session"), "warnings", 2);
	assert_string_equal(cJSON_GetArrayItem(warnings, 0)->valuestring, "one \"1\"");
	assert_string_equal(cJSON_GetArrayItem(warnings, 1)->valuestring, "two");
}

static void json_says_what_it_covers(void **state)
{
	struct sample_builder b;
	AUTO(profile_unref_auto) struct profile *p = NULL;
	struct view_query q = {
		.from_ns = SAMPLE_START + 5, .to_ns = SAMPLE_START + 2000000000, .min_share = 0.25};
	AUTO(cJSON_Delete_auto) cJSON *json = NULL;
	const cJSON *covers;
	uint32_t node;

	sample_begin(&b, 1);
	node = sample_process(&b, 1, "x");
	sample_log(&b, node, sample_thread(&b, 1, 0, "x"), 0, 10, SAMPLE_START + 1000);
	b.p->ledger.log_from_ns = SAMPLE_START + 900;
	p = sample_end(&b);
	json = json_of(p, &q);
	covers = cJSON_GetObjectItem(json, "covers");
	assert_int_equal(number(covers, "from_ns"), SAMPLE_START + 900);
	assert_int_equal(number(covers, "to_ns"), SAMPLE_START + 2000000000);
	assert_string_equal(text(covers, "from"), "2023-11-14T22:13:20.000Z");
	assert_string_equal(text(covers, "to"), "2023-11-14T22:13:22.000Z");
	assert_true(cJSON_IsTrue(cJSON_GetObjectItem(covers, "log_short")));
	assert_true(number(cJSON_GetObjectItem(json, "query"), "min_share") == 0.25);
}

static void json_prints_large_numbers_in_full(void **state)
{
	struct sample_builder b;
	AUTO(profile_unref_auto) struct profile *p = NULL;
	AUTO(buf_done) struct buf out = BUF_INIT;
	struct view_query q = {0};

	sample_begin(&b, 1);
	sample_add(&b, sample_process(&b, 1, "x"), 0, 3, (1ull << 53) + 1);
	p = sample_end(&b);
	render_of(RENDER_JSON, p, &q, &out);
	assert_non_null(strstr(out.data, "\"total\":9007199254740993,"));
	assert_non_null(strstr(out.data, "\"self\":[9007199254740993]"));
}

static const char *const hostile[] = {"ctl\x1b\x01x", "bad\xff\xfeutf", "bad\xfe\xffutf",
	"a;b <c>&\"d\"", "it's,%20\\back", "</script><b>x", "]]>--><!--", "${x}`y`",
	"semi;colon::f", "nl\nname 12", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82",
	"\xef\xbf\xbd", "\xef\xbf\xbf",
	("\xe2\x80\xae"
	 "evil"),
	"\xc2\x85", "fullwidth\xef\xbc\x9b", "tab\there", "\x7f", " ", "12 34", "[folded]"};

#define HOSTILE_COUNT (sizeof(hostile) / sizeof(hostile[0]))

/* main calls each of them once; the process has such a name, too. */
static struct profile *hostile_profile(void)
{
	struct sample_builder b;
	uint32_t m, process, main_node;

	sample_begin(&b, 1);
	m = sample_module(&b, "/tmp/\x1b;\"lib\xff.so");
	process = sample_process(&b, 1, "x;y\n\xff z");
	main_node = sample_chain(&b, process, m, "main");
	for (unsigned i = 0; i < HOSTILE_COUNT; i++)
		sample_add(&b,
			sample_node(
				&b, main_node, sample_frame(&b, FRAME_USER, m, i, &hostile[i], 1)),
			0, 1, 10);
	return sample_end(&b);
}

static void json_survives_hostile_names(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = hostile_profile();
	struct view_query q = {.by_process = true};
	AUTO(cJSON_Delete_auto) cJSON *json = json_of(p, &q);
	AUTO(buf_done) struct buf out = BUF_INIT;
	const cJSON *names = cJSON_GetObjectItem(json, "names");
	unsigned found = 0;

	assert_int_equal(cJSON_GetArraySize(names), HOSTILE_COUNT + 3);
	for (int i = 0; i < cJSON_GetArraySize(names); i++) {
		const char *a = cJSON_GetArrayItem(names, i)->valuestring;

		for (int k = 0; k < i; k++)
			assert_string_not_equal(a, cJSON_GetArrayItem(names, k)->valuestring);
		/* What is valid comes back as it was. */
		for (unsigned k = 0; k < HOSTILE_COUNT; k++)
			found += strcmp(a, hostile[k]) == 0;
	}
	assert_int_equal(found, HOSTILE_COUNT - 7);
	render_of(RENDER_JSON, p, &q, &out);
	assert_null(strstr(out.data, "</"));
	assert_null(strstr(out.data, "<!"));
	assert_non_null(strstr(out.data,
		"bad\xef\xbf\xbd"
		"FF\xef\xbf\xbd"
		"FEutf"));
}

/* The lines of folded stacks: each "frames COUNT". Sums the counts; checks the number of frames. */
static uint64_t check_folded(const struct buf *out, unsigned min_frames, unsigned max_frames)
{
	const char *at = out->data;
	uint64_t sum = 0;

	while (*at) {
		const char *end = strchr(at, '\n'), *space;
		unsigned frames = 1;

		assert_non_null(end);
		space = memrchr(at, ' ', (size_t)(end - at));
		assert_non_null(space);
		assert_true(space > at && space + 1 < end);
		for (const char *c = space + 1; c < end; c++)
			assert_true(isdigit((unsigned char)*c));
		for (const char *c = at; c < space; c++)
			frames += *c == ';';
		assert_in_range(frames, min_frames, max_frames);
		sum += strtoull(space + 1, NULL, 10);
		at = end + 1;
	}
	return sum;
}

/* A piece that is full at the end of an array: the next array begins once all the same. */
static void json_pieces_end_between_arrays(void **state)
{
	AUTO(cJSON_Delete_auto) cJSON *json = NULL;
	AUTO(profile_unref_auto) struct profile *p = NULL;
	static char long_name[70000];
	struct view_query q = {0};
	struct sample_builder b;
	uint32_t process;

	memset(long_name, 'z', sizeof(long_name) - 1);
	sample_begin(&b, 1);
	process = sample_process(&b, 1, "app");
	sample_add(&b, sample_chain(&b, process, sample_module(&b, "/app"), long_name), 0, 1, 1);
	p = sample_end(&b);
	json = json_of(p, &q);
	assert_int_equal(number(json, "samples"), 1);
	column(json, "name_module", 2);
}

static void html_is_a_document_around_the_json(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = sample_small();
	AUTO(buf_done) struct buf html = BUF_INIT, json = BUF_INIT;
	struct view_query q = {0};
	unsigned pieces;
	const char *at, *end;

	assert_int_equal(render_into(RENDER_HTML, p, &q, &html, &pieces), 0);
	assert_int_equal(render_into(RENDER_JSON, p, &q, &json, &pieces), 0);
	at = strstr(html.data, "<script type=\"application/json\" id=\"profile\">");
	assert_non_null(at);
	at = strchr(at, '>') + 1;
	assert_memory_equal(at, json.data, json.len);
	end = strstr(at, "</script>");
	assert_int_equal(end - at, json.len);
	assert_null(strstr(html.data, "{{"));
	assert_non_null(strstr(html.data, "script-src 'sha256-"));
	assert_string_equal(html.data + html.len - strlen("</html>\n"), "</html>\n");
}

static void folded_has_a_line_for_each_stack(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = sample_small();
	struct view_query q = {.by_process = true};
	AUTO(buf_done) struct buf out = BUF_INIT;

	render_of(RENDER_FOLDED, p, &q, &out);
	assert_string_equal(out.data,
		"app (42);main 10\n"
		"app (42);main;sin 10\n"
		"app (42);main;work;cold 20\n"
		"app (42);main;work;hot 60\n");
}

static void folded_into_the_root_has_a_frame(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = sample_small();
	struct view_query q = {.min_share = 2};
	AUTO(buf_done) struct buf out = BUF_INIT;

	render_of(RENDER_FOLDED, p, &q, &out);
	assert_string_equal(out.data, "[folded] 100\n");
}

static void folded_survives_hostile_names(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = hostile_profile();
	struct view_query q = {.by_process = true};
	AUTO(buf_done) struct buf out = BUF_INIT;

	render_of(RENDER_FOLDED, p, &q, &out);
	assert_int_equal(check_folded(&out, 3, 3), HOSTILE_COUNT);
	assert_non_null(strstr(out.data,
		";semi\xef\xbc\x9b"
		"colon::f 1\n"));
	assert_non_null(strstr(out.data,
		";nl\xef\xbf\xbd"
		"0Aname 12 1\n"));
	assert_non_null(strstr(out.data,
		";fullwidth\xef\xbf\xbd"
		"EF"));
}

static void text_reads_as_a_report(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = sample_small();
	struct view_query q = {.by_process = true};
	AUTO(buf_done) struct buf out = BUF_INIT;

	render_of(RENDER_TEXT, p, &q, &out);
	assert_string_equal(out.data,
		"Session  7, morning\n"
		"Target   pid 42 (app)\n"
		"Started  2023-11-14T22:13:20.000Z\n"
		"Event    cpu-clock, 100 samples, 1.000 s\n"
		"Ledger   100 samples · 0 lost · 0 truncated · whole stacks 100.0 %\n"
		"\n"
		"  Self %  Total %     Samples  Kind     Module                    Function\n"
		"   60.00   60.00          60  user     app                       hot\n"
		"   20.00   20.00          20  user     app                       cold\n"
		"   10.00  100.00         100  user     app                       main\n"
		"   10.00   10.00          10  user     libm.so.6                 sin\n"
		"    0.00   80.00          80  user     app                       work\n"
		"\n"
		" Total %   Self %  Tree (what has less than 0.5 % is left out)\n"
		"  100.00     0.00  all\n"
		"  100.00     0.00    app (42)\n"
		"  100.00    10.00      main\n"
		"   10.00    10.00        sin\n"
		"   80.00     0.00        work\n"
		"   20.00    20.00          cold\n"
		"   60.00    60.00          hot\n");
}

static void text_counts_recursion_once(void **state)
{
	struct sample_builder b;
	AUTO(profile_unref_auto) struct profile *p = NULL;
	AUTO(buf_done) struct buf out = BUF_INIT;
	struct view_query q = {0};
	uint32_t m, process;

	sample_begin(&b, 1);
	m = sample_module(&b, "/m");
	process = sample_process(&b, 1, "x");
	sample_add(&b, sample_chain(&b, process, m, "a;b;a;b;a"), 0, 6, 6);
	sample_add(&b, sample_chain(&b, process, m, "b"), 0, 4, 4);
	p = sample_end(&b);
	render_of(RENDER_TEXT, p, &q, &out);
	assert_non_null(strstr(
		out.data, "   60.00   60.00           6  user     m                         a\n"));
	assert_non_null(strstr(
		out.data, "   40.00  100.00          10  user     m                         b\n"));
}

static void text_keeps_its_width_and_length(void **state)
{
	struct sample_builder b;
	AUTO(profile_unref_auto) struct profile *p = NULL;
	AUTO(buf_done) struct buf out = BUF_INIT;
	struct view_query q = {.lines = true};
	AUTO(free_auto) char *name = malloc(10241);
	uint32_t m, node;

	assert_non_null(name);
	for (unsigned i = 0; i < 10240; i += 2)
		memcpy(name + i, "\xc3\xa9", 2);
	name[10240] = 0;
	sample_begin(&b, 1);
	m = sample_module(&b, "/lib/a-very-long-name-of-a-library-that-goes-on.so");
	node = sample_process(&b, 1, "x");
	for (unsigned i = 0; i < 300; i++) {
		const char *names[] = {name};

		node = sample_node(&b, node, sample_frame(&b, FRAME_USER, m, i, names, 1));
		sample_add(&b, node, 0, 1, 10);
	}
	p = sample_end(&b);
	render_of(RENDER_TEXT, p, &q, &out);
	for (const char *at = out.data, *end; *at; at = end + 1) {
		end = strchr(at, '\n');
		assert_true(end - at < 600);
	}
	assert_non_null(strstr(out.data, "… and 200 more\n"));
	assert_non_null(strstr(out.data, "  299: \xc3\xa9"));
}

static void text_survives_hostile_names(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = hostile_profile();
	struct view_query q = {.by_process = true};
	AUTO(buf_done) struct buf out = BUF_INIT;

	p->meta.warnings = (uint32_t)profile_add_text(p, "\x1b[31mred\nnext\n", 15);
	p->meta.name = (uint32_t)profile_add_text(p, "na\x1bme\r", 6);
	render_of(RENDER_TEXT, p, &q, &out);
	assert_null(strchr(out.data, '\x1b'));
	assert_non_null(strstr(out.data, "Warning  next\n"));
	assert_null(strstr(out.data, "\xe2\x80\xae"));
}

static struct profile *big(uint32_t depth, uint32_t width)
{
	struct sample_builder b;
	uint32_t m, process, node;

	sample_begin(&b, 1);
	m = sample_module(&b, "/m");
	node = process = sample_process(&b, 1, "x");
	for (uint32_t i = 0; i < depth + width; i++) {
		char name[32];
		const char *names[] = {name};
		uint32_t frame;

		snprintf(name, sizeof(name), "function_%05u", i);
		frame = sample_frame(&b, FRAME_USER, m, i, names, 1);
		node = sample_node(&b, i < depth ? node : process, frame);
		if (i + 1 >= depth)
			sample_add(&b, node, 0, 1, 10);
	}
	return sample_end(&b);
}

static void big_trees_come_in_pieces(void **state)
{
	static const enum render_format formats[] = {RENDER_JSON, RENDER_FOLDED, RENDER_TEXT};
	AUTO(profile_unref_auto) struct profile *deep = big(5000, 0), *wide = big(1, 5000);
	struct view_query q = {.by_process = true};

	for (unsigned i = 0; i < 3; i++) {
		AUTO(buf_done) struct buf a = BUF_INIT, b = BUF_INIT;
		unsigned pieces;

		render_of(formats[i], deep, &q, &a);
		render_of(formats[i], wide, &q, &b);
		if (formats[i] == RENDER_FOLDED) {
			assert_int_equal(check_folded(&a, 5001, 5001), 1);
			assert_int_equal(check_folded(&b, 2, 2), 5001);
		}
		if (formats[i] == RENDER_JSON) {
			AUTO(cJSON_Delete_auto) cJSON *json = cJSON_Parse(a.data);

			column(json, "depth", 5002);
			assert_int_equal(number(json, "samples"), 1);
			buf_clear(&a);
			assert_int_equal(render_into(RENDER_JSON, deep, &q, &a, &pieces), 0);
			assert_true(pieces > 1);
		}
	}
}

static void formats_have_names(void **state)
{
	enum render_format format;

	assert_int_equal(render_format_parse("json", &format), 0);
	assert_int_equal(format, RENDER_JSON);
	assert_int_equal(render_format_parse("folded", &format), 0);
	assert_int_equal(format, RENDER_FOLDED);
	assert_int_equal(render_format_parse("text", &format), 0);
	assert_int_equal(format, RENDER_TEXT);
	assert_int_equal(render_format_parse("", &format), -EINVAL);
	assert_int_equal(render_format_parse("JSON", &format), -EINVAL);
	assert_string_equal(render_content_type(RENDER_JSON), "application/json");
}

typedef void (*escape_fn)(struct buf *into, const char *raw, size_t len);

static void assert_escaped(escape_fn fn, const char *raw, const char *want)
{
	AUTO(buf_done) struct buf out = BUF_INIT;

	fn(&out, raw, strlen(raw));
	assert_string_equal(out.data, want);
}

static void each_sink_escapes_for_itself(void **state)
{
	assert_escaped(render_json_string, "a\"\\\n\x01</b>\x7f",
		"\"a\\\"\\\\\\n\\u0001\\u003c/b>\\u007f\"");
	assert_escaped(render_json_string, "", "\"\"");
	assert_escaped(render_json_string, "\xf0\x9f\x94\xa5<", "\"\xf0\x9f\x94\xa5<\"");
	assert_escaped(render_xml_text, "<a href='\"'>&\t\n\r\x0b",
		"&lt;a href=&#39;&quot;&#39;&gt;&amp;&#9;&#10;&#13;\xef\xbf\xbd"
		"0B");
	assert_escaped(render_xml_text, "\xef\xbf\xbe",
		"\xef\xbf\xbd"
		"EF\xef\xbf\xbd"
		"BF\xef\xbf\xbd"
		"BE");
	assert_escaped(render_label_value, "q\"<&>\\\n\t",
		"q\\\"<&>\\\\\\n\xef\xbf\xbd"
		"09");
	assert_escaped(render_plain_text, "\xc3\xa9\x1b[m;",
		"\xc3\xa9\xef\xbf\xbd"
		"1B[m;");
	assert_escaped(render_folded_text, "a;b",
		"a\xef\xbc\x9b"
		"b");
}

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Every string of up to five of these bytes, among them those that escaping itself makes. */
static void different_names_stay_different(void **state)
{
	static const escape_fn sinks[] = {render_json_string, render_xml_text, render_label_value,
		render_plain_text, render_folded_text};
	static const char bytes[] = {
		'F', '\\', '"', '\n', ';', (char)0xff, (char)0xef, (char)0xbf, (char)0xbd};
	enum { BASE = sizeof(bytes), MANY = 1 + 9 + 81 + 729 + 6561 + 59049 };
	AUTO(free_auto) char **all = calloc(MANY, sizeof(*all));

	assert_non_null(all);
	for (unsigned s = 0; s < 5; s++) {
		unsigned count = 0;

		for (unsigned len = 0, of_len = 1; len <= 5; len++, of_len *= BASE) {
			for (unsigned n = 0; n < of_len; n++) {
				struct buf out = BUF_INIT;
				char raw[5];

				for (unsigned i = 0, rest = n; i < len; i++, rest /= BASE)
					raw[i] = bytes[rest % BASE];
				buf_append_str(&out, "");
				sinks[s](&out, raw, len);
				all[count++] = buf_take(&out);
			}
		}
		assert_int_equal(count, MANY);
		qsort(all, count, sizeof(*all), compare_strings);
		for (unsigned i = 1; i < count; i++)
			assert_string_not_equal(all[i - 1], all[i]);
		for (unsigned i = 0; i < count; i++)
			free(all[i]);
	}
}

static void ledger_fits_a_line(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = NULL;
	AUTO(buf_done) struct buf line = BUF_INIT;

	assert_int_equal(profile_new(&p), 0);
	render_ledger_line(p, &line);
	assert_string_equal(line.data, "0 samples · 0 lost · 0 truncated");
	buf_clear(&line);
	p->ledger = (struct ledger){
		.samples = 9812, .truncated = 12, .unwind_ends = {9726, 12, [9] = 75}};
	render_ledger_line(p, &line);
	assert_string_equal(
		line.data, "9,812 samples · 0 lost · 12 truncated · whole stacks 99.1 %");
	buf_clear(&line);
	p->ledger.lost = 1234567;
	p->ledger.dropped = 3;
	p->ledger.throttled = 4;
	p->ledger.depth_cut = 5;
	render_ledger_line(p, &line);
	assert_string_equal(line.data,
		"9,812 samples · 1,234,567 lost · 3 dropped · 4 times throttled · "
		"12 truncated · 5 cut in depth · whole stacks 99.1 %");
}

static void no_memory_is_survived(void **state)
{
	static const enum render_format formats[] = {
		RENDER_JSON, RENDER_FOLDED, RENDER_TEXT, RENDER_HTML};
	AUTO(profile_unref_auto) struct profile *p = sample_small();
	struct view_query q = {0};

	for (unsigned i = 0; i < 4; i++) {
		for (long after = 0; after < 60; after++) {
			AUTO(buf_done) struct buf out = BUF_INIT;
			unsigned pieces;
			int r;

			alloc_fail_after = after;
			r = render_into(formats[i], p, &q, &out, &pieces);
			alloc_fail_after = -1;
			assert_true(r == 0 || r == -ENOMEM);
		}
	}
	assert_int_equal(p->refs, 1);
}

static void full_buffer_ends_the_writer(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = big(1, 5000);
	static const enum render_format formats[] = {RENDER_JSON, RENDER_FOLDED, RENDER_TEXT};
	struct view_query q = {0};

	for (unsigned i = 0; i < 3; i++) {
		AUTO(buf_done) struct buf out = {.max_bytes = 300};
		unsigned pieces;

		assert_int_equal(render_into(formats[i], p, &q, &out, &pieces), -EFBIG);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_has_the_view_in_columns),
		cmocka_unit_test(json_of_a_running_session_has_no_end),
		cmocka_unit_test(json_says_what_it_covers),
		cmocka_unit_test(json_prints_large_numbers_in_full),
		cmocka_unit_test(json_survives_hostile_names),
		cmocka_unit_test(json_pieces_end_between_arrays),
		cmocka_unit_test(html_is_a_document_around_the_json),
		cmocka_unit_test(folded_has_a_line_for_each_stack),
		cmocka_unit_test(folded_into_the_root_has_a_frame),
		cmocka_unit_test(folded_survives_hostile_names),
		cmocka_unit_test(text_reads_as_a_report),
		cmocka_unit_test(text_counts_recursion_once),
		cmocka_unit_test(text_keeps_its_width_and_length),
		cmocka_unit_test(text_survives_hostile_names),
		cmocka_unit_test(big_trees_come_in_pieces),
		cmocka_unit_test(formats_have_names),
		cmocka_unit_test(each_sink_escapes_for_itself),
		cmocka_unit_test(different_names_stay_different),
		cmocka_unit_test(ledger_fits_a_line),
		cmocka_unit_test(no_memory_is_survived),
		cmocka_unit_test(full_buffer_ends_the_writer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
