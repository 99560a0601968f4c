/* Views and writers, comparisons and what a follower is told: the first bytes are the question, the
 * rest is a profile. No weight gets lost on any way, and what comes out is text. */
#include <stdint.h>

#include "base/parse.h"
#include "daemon/render/delta.h"
#include "daemon/render/diff.h"
#include "daemon/render/render.h"
#include "tests/fuzz/forge.h"

#define QUESTION_BYTES 8
#define OUTPUT_MAX     ((size_t)4 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct view_query question(const uint8_t *at, const struct profile *p)
{
	struct view_query q = {
		.event = p->event_count ? at[1] % (int)p->event_count : 0,
		.by_process = at[2] & 1,
		.by_thread = at[2] & 2,
		.lines = at[2] & 4,
		.inverted = at[2] & 8,
		.from_ns = at[2] & 16 ? at[3] * 5000u : 0,
		.to_ns = at[2] & 32 ? at[3] * 5000u + at[4] * 5000u : 0,
		.min_share = at[5] / 255.0,
		.max_depth = at[6],
	};

	if (at[2] & 64 && p->process_count)
		q.pid = p->processes[at[7] % p->process_count].pid;
	if (at[2] & 128 && p->thread_count)
		q.tid = p->threads[at[7] % p->thread_count].tid;
	return q;
}

static void check_sums(const struct view *v, const struct profile *p)
{
	const struct view_query *q = &v->query;
	uint64_t self = 0, samples = 0, all = 0;

	for (uint32_t i = 0; i < v->node_count; i++) {
		self += v->nodes[i].self;
		samples += v->nodes[i].self_samples;
	}
	if (self != v->total || samples != v->samples || v->nodes[0].total != v->total)
		abort();
	if (q->pid || view_query_needs_log(q) || p->event_count == 0)
		return;
	for (uint32_t i = 0; i < p->node_count; i++)
		all += p->self_weight[(size_t)q->event * p->node_count + i];
	if (all != v->total)
		abort();
}

/* JSON whose brackets match, whose strings have no control bytes, and which may stand in a script
 * element. */
static bool is_closed(const struct buf *out)
{
	AUTO(buf_done) struct buf open = BUF_INIT;
	bool in_string = false;

	for (size_t i = 0; i < out->len; i++) {
		char c = out->data[i];

		if (in_string && (unsigned char)c < 32)
			return false;
		if (c == '<' && i + 1 < out->len &&
			(out->data[i + 1] == '/' || out->data[i + 1] == '!'))
			return false;
		if (in_string && c == '\\')
			i++;
		else if (c == '"')
			in_string = !in_string;
		else if (!in_string && (c == '[' || c == '{'))
			buf_append_char(&open, c);
		else if (!in_string && (c == ']' || c == '}') &&
			(open.len == 0 || open.data[--open.len] != (c == ']' ? '[' : '{')))
			return false;
	}
	return open.len == 0 && !in_string;
}

static void write_view(struct view *v, enum render_format format)
{
	AUTO(render_free_auto) struct render *r = NULL;
	AUTO(buf_done) struct buf out = {.max_bytes = OUTPUT_MAX};
	int e;

	if (render_new(format, v, NULL, &r) < 0)
		return;
	do
		e = render_more(r, &out);
	while (e > 0);
	if (e < 0 || format == RENDER_PPROF)
		return;
	if (out.len > 0 && !text_is_utf8(out.data, out.len))
		abort();
	if (strcmp(render_content_type(format), "application/json") == 0 && !is_closed(&out))
		abort();
}

static void write_all(
	const struct profile *p, const struct view_query *q, enum render_format format)
{
	struct view *v = NULL;

	if (view_new(p, q, &v) < 0)
		return;
	check_sums(v, p);
	write_view(v, format);
}

/* The view of a part of it against that of all of it: each once as it is, and laid upon the other.
 */
static void compare(const struct profile *p, const uint8_t *at)
{
	static const enum render_format formats[] = {
		RENDER_JSON, RENDER_FOLDED, RENDER_SVG, RENDER_TEXT};
	struct diff_options options = {.norm = at[3] % 3,
		.width = at[4] & 1,
		.any_module = at[4] & 2,
		.min_share = at[5] / 255.0};
	struct view_query q = question(at, p), all = {.event = q.event, .by_process = q.by_process};

	for (unsigned i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		AUTO(view_free_auto) struct view *part = NULL;
		struct view *whole = NULL, *both = NULL;
		uint64_t total;

		if (view_new(p, &q, &part) < 0 || view_new(p, &all, &whole) < 0)
			return;
		total = options.width == DIFF_BASE ? part->total : whole->total;
		if (diff_new(MOVE(part), whole, &options, &both) < 0)
			return;
		if (both->total != total || both->nodes[0].total != total)
			abort();
		write_view(both, formats[i]);
	}
}

static void follow(const struct profile *p, const uint8_t *at)
{
	AUTO(delta_free_auto) struct delta *d = NULL;
	struct view_query queries[] = {question(at, p), {.event = question(at, p).event}};

	if (delta_new(at[6], &d) < 0)
		return;
	for (unsigned i = 0; i < 4; i++) {
		AUTO(buf_done) struct buf out = {.max_bytes = OUTPUT_MAX};
		AUTO(view_free_auto) struct view *v = NULL;

		queries[i % 2].max_shown = i < 2 ? 0 : at[7];
		if (view_new(p, &queries[i % 2], &v) < 0 || delta_tell(d, v, &out) < 0)
			continue;
		if (!text_is_utf8(out.data, out.len) || !is_closed(&out) || strchr(out.data, '\n'))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const formats[] = {
		"json", "folded", "svg", "text", "pprof", "speedscope", "firefox", "chrome"};
	struct profile *p = NULL;
	enum render_format format;

	if (size < QUESTION_BYTES ||
		forge_profile(data + QUESTION_BYTES, size - QUESTION_BYTES, data[0], &p) < 0)
		return 0;
	for (unsigned i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		struct view_query q = question(data, p);

		if (render_format_parse(formats[i], &format) < 0)
			abort();
		render_fit_query(format, p->log_count > 0, data[0] & 128, &q);
		write_all(p, &q, format);
	}
	compare(p, data);
	follow(p, data);
	profile_unref(p);
	return 0;
}
