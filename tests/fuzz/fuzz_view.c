/* Views and writers: the first bytes are the question, the rest is a profile. No weight gets lost
 * on any way, and what comes out is text. */
#include <stdint.h>

#include "base/parse.h"
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

/* JSON whose brackets match and whose strings have no control bytes. */
static bool is_closed(const struct buf *out)
{
	AUTO(buf_done) struct buf open = BUF_INIT;
	bool in_string = false;

	for (size_t i = 0; i < out->len; i++) {
		char c = out->data[i];

		if (in_string && (unsigned char)c < 32)
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

static void write_all(
	const struct profile *p, const struct view_query *q, enum render_format format)
{
	AUTO(render_free_auto) struct render *r = NULL;
	AUTO(buf_done) struct buf out = {.max_bytes = OUTPUT_MAX};
	struct view *v = NULL;
	int e = view_new(p, q, &v);

	if (e < 0)
		return;
	check_sums(v, p);
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
	profile_unref(p);
	return 0;
}
