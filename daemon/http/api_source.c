/* /v1/sessions/ID/source: what each line of a function has cost, beside its text. */
#include "daemon/http/api.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "daemon/http/answer.h"
#include "daemon/http/asked.h"
#include "daemon/http/http.h"
#include "daemon/http/json_out.h"
#include "daemon/http/sourcetext.h"
#include "daemon/render/render.h"
#include "daemon/render/sourcelines.h"

#define AROUND        6   /* lines of text before and after one that cost something */
#define LINE_BYTES    500 /* of a line's text; machines write longer ones */
#define FUNCTION_NEED "The query needs function=NAME, as the profile with lines=1 has it."

/* Text may be a file of the host, which is neither what a container's program was made of nor for
 * those to read who may only see their own processes. */
static const char *read_text(struct req *r, const struct source_lines *s, struct buf *text)
{
	if (!*s->file)
		return "no file is known";
	if (!HTTP_CONFIG(r->http, source_text))
		return "http.source_text is no";
	if (!r->who.all)
		return "it is shown to those who may see all processes";
	if (s->in_container)
		return "the program runs in a container, whose files are not read";
	return sourcetext_read(s->file, text);
}

static void put_line(struct buf *b, const struct source_line *line, const char *text, size_t len)
{
	json_begin(b, '{');
	json_u64(b, "line", line->line);
	json_u64(b, "self", line->self);
	json_u64(b, "total", line->total);
	json_u64(b, "samples", line->samples);
	if (text) {
		buf_append_str(b, ",\"text\":");
		render_json_string(b, text, len < LINE_BYTES ? len : LINE_BYTES);
	}
	json_end(b, '}');
}

/* Lines from..to of the text alone. */
static void put_around(struct buf *b, uint64_t from, uint64_t to, struct sourcetext_cursor *text)
{
	for (uint64_t n = from; n <= to && n <= UINT32_MAX; n++) {
		struct source_line line = {.line = (uint32_t)n};
		size_t len;
		const char *at = sourcetext_line(text, line.line, &len);

		if (!at)
			return;
		put_line(b, &line, at, len);
	}
}

static void put_lines(struct buf *b, const struct source_lines *s, struct sourcetext_cursor *text)
{
	uint64_t told = 0; /* the last line that is in the answer */

	json_begin_in(b, "lines", '[');
	for (uint32_t i = 0; i < s->count; i++) {
		uint64_t line = s->lines[i].line;
		size_t len = 0;
		const char *at;

		if (line > told + 1) {
			uint64_t from = line > AROUND ? line - AROUND : 1;

			put_around(b, from > told ? from : told + 1, line - 1, text);
		}
		at = line ? sourcetext_line(text, (uint32_t)line, &len) : NULL;
		put_line(b, &s->lines[i], at, len);
		told = line;
		if (line && (i + 1 == s->count || s->lines[i + 1].line > line + AROUND)) {
			put_around(b, line + 1, line + AROUND, text);
			told = line + AROUND;
		}
	}
	json_end(b, ']');
}

static void put_source(struct req *r, const struct view *v, const struct source_lines *s)
{
	AUTO(buf_done) struct buf b = BUF_INIT;
	AUTO(buf_done) struct buf text = BUF_INIT;
	const char *why = read_text(r, s, &text);

	json_begin(&b, '{');
	json_text(&b, "function", uri_get(&r->uri, "function"));
	json_text(&b, "file", s->file);
	json_u64(&b, "other_files", s->other_files);
	json_text(&b, "event", profile_text(v->profile, v->profile->events[v->query.event].name));
	json_u64(&b, "total", v->total);
	json_text(&b, "why_no_text", why);
	put_lines(&b, s, &(struct sourcetext_cursor){.text = &text});
	json_end(&b, '}');
	answer_json(r, 200, &b);
}

static void answer_source(struct req *r, struct asked *a, const char *function)
{
	AUTO(profile_unref_auto) struct profile *p = NULL;
	AUTO(source_lines_done) struct source_lines lines = {0};
	AUTO(view_free_auto) struct view *v = NULL;
	AUTO(buf_done) struct buf message = {.max_bytes = 64 << 10};
	const char *module = uri_get(&r->uri, "module");
	int error = run_profile(
		r->http->setup.run, &r->who, r->id, asked_needs_log(a), true, &p, &message);

	if (error != RUN_OK) {
		problem_of_run(r, error, &message);
		return;
	}
	if (!asked_view(r, a, p, &v))
		return;
	error = source_lines_make(v, function, module ? module : "", &lines);
	if (error == -ENOENT)
		problem(r, 404, "Nothing that was sampled is called \"%.200s\".", function);
	else if (error < 0)
		asked_refuse_view(r, error);
	else
		put_source(r, v, &lines);
}

void api_source(struct req *r)
{
	struct asked a = {.view = {.lines = true}};
	const char *function = uri_get(&r->uri, "function");

	if (!function || !*function) {
		problem(r, 400, FUNCTION_NEED);
	} else if (asked_samples(r, &a) && http_enter_heavy(r)) {
		answer_source(r, &a, function);
		http_leave_heavy(r);
	}
}
