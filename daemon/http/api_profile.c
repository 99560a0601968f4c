/* /v1/sessions/ID/profile and flamegraph.svg: a dump, in one of the formats. */
#include "daemon/http/api.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/parse.h"
#include "daemon/http/answer.h"
#include "daemon/http/ask.h"
#include "daemon/http/http.h"
#include "daemon/render/render.h"
#include "daemon/render/view.h"
#include "daemon/tree/ledger.h"

/* Scripts of the SVG itself may run when it is opened; nothing else, and as a stranger to this
 * origin. */
#define SVG_POLICY                                                               \
	"sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; " \
	"script-src 'unsafe-inline'; frame-ancestors 'self'"

#define LAST_S_MAX 1e9
#define WIDTH_MIN  100
#define WIDTH_MAX  20000
#define DEPTH_MAX  100000

/* The question, before the profile is there. */
struct asked {
	enum render_format format;
	struct view_query view;
	struct svg_options svg;
	const char *event; /* NULL: the first */
	struct ask_moment from, to;
	double last_s; /* 0: not asked */
	bool inlines;
};

static bool ask_levels(struct req *r, struct view_query *view)
{
	const char *list = uri_get(&r->uri, "by");

	while (list && *list) {
		size_t len = strcspn(list, ",");

		if (len == 7 && memcmp(list, "process", 7) == 0) {
			view->by_process = true;
		} else if (len == 6 && memcmp(list, "thread", 6) == 0) {
			view->by_thread = true;
		} else if (len == 4 && memcmp(list, "none", 4) == 0) {
			view->by_process = view->by_thread = false;
		} else {
			problem(r, 400,
				"The query value by must be process, thread, both with a comma "
				"between, or none.");
			return false;
		}
		list += len + (list[len] == ',');
	}
	return true;
}

static bool ask_ids(struct req *r, struct view_query *view)
{
	uint64_t pid = 0, tid = 0, depth = 0;

	if (!ask_u64(r, "pid", 1, INT_MAX, &pid) || !ask_u64(r, "thread", 1, INT_MAX, &tid) ||
		!ask_u64(r, "depth", 1, DEPTH_MAX, &depth))
		return false;
	view->pid = (pid_t)pid;
	view->tid = (pid_t)tid;
	view->max_depth = (uint32_t)depth;
	return true;
}

static bool ask_time(struct req *r, struct asked *a)
{
	if (!ask_moment(r, "from", &a->from) || !ask_moment(r, "to", &a->to) ||
		!ask_double(r, "last", 0.001, LAST_S_MAX, &a->last_s))
		return false;
	if (a->last_s > 0 && (a->from.given || a->to.given)) {
		problem(r, 400, "Give either last, or from and to.");
		return false;
	}
	return true;
}

static bool ask_svg(struct req *r, struct svg_options *svg)
{
	static const char *const colors[] = {[SVG_COLOR_KIND] = "kind",
		[SVG_COLOR_MODULE] = "module",
		[SVG_COLOR_NAME] = "name",
		NULL};
	unsigned color = SVG_COLOR_KIND;
	uint64_t width = 0;

	if (!ask_u64(r, "width", WIDTH_MIN, WIDTH_MAX, &width) ||
		!ask_bool(r, "icicle", &svg->icicle) || !ask_choice(r, "color", colors, &color))
		return false;
	svg->width = (unsigned)width;
	svg->color = color;
	return true;
}

static bool ask_format(struct req *r, enum render_format *format)
{
	const char *text = uri_get(&r->uri, "format");

	if (!text || render_format_parse(text, format) == 0)
		return true;
	problem(r, 400,
		"The query value format must be json, folded, svg, text, perfdata or pprof, not "
		"\"%.100s\".",
		text);
	return false;
}

static bool ask(struct req *r, struct asked *a)
{
	double percent = 0;
	bool lines = false, inlines = false;

	a->view.event = -1;
	a->event = uri_get(&r->uri, "event");
	if (!ask_format(r, &a->format) || !ask_levels(r, &a->view) || !ask_ids(r, &a->view) ||
		!ask_time(r, a) || !ask_svg(r, &a->svg) || !ask_bool(r, "lines", &lines) ||
		!ask_bool(r, "inline", &inlines) || !ask_bool(r, "inverted", &a->view.inverted) ||
		!ask_bool(r, "fold_templates", &a->view.fold_templates) ||
		!ask_double(r, "min", 0, 100, &percent))
		return false;
	a->view.lines = lines;
	a->view.min_share = percent / 100;
	a->inlines = lines || inlines;
	return true;
}

static bool find_event(struct req *r, const struct profile *p, const char *name, int *ret_index)
{
	AUTO(buf_done) struct buf names = BUF_INIT;

	if (!name)
		return true;
	for (uint32_t i = 0; i < p->event_count; i++) {
		const char *event = profile_text(p, p->events[i].name);

		if (strcmp(event, name) == 0) {
			*ret_index = (int)i;
			return true;
		}
		buf_printf(&names, "%s%s", i ? ", " : "", event);
	}
	problem(r, 400, "The session has no event \"%.95s\"; it has: %s.", name,
		names.data ? names.data : "none");
	return false;
}

/* A moment on the clock of the samples; before the start: the start. */
static uint64_t to_mono(const struct profile_meta *m, const struct ask_moment *moment)
{
	if (!moment->is_wall)
		return m->started_ns + moment->ns;
	if (moment->ns < m->started_wall_ns)
		return m->started_ns;
	return m->started_ns + (moment->ns - m->started_wall_ns);
}

static bool set_range(
	struct req *r, const struct profile_meta *m, const struct asked *a, struct view_query *view)
{
	if (a->last_s > 0) {
		uint64_t ns = (uint64_t)(a->last_s * 1e9);

		/* 0 would mean all, and asking for all needs no log. */
		view->from_ns =
			m->taken_ns > ns && m->taken_ns - ns > m->started_ns ? m->taken_ns - ns : 0;
	}
	if (a->from.given)
		view->from_ns = to_mono(m, &a->from);
	if (a->to.given)
		view->to_ns = to_mono(m, &a->to);
	if (a->to.given && view->to_ns <= view->from_ns) {
		problem(r, 400, "The range is empty: to must be later than from.");
		return false;
	}
	return true;
}

/* An ended session does not change any more, so that its dumps have a tag; unless names of JIT code
 * are missing, which may come when the program ends. */
static bool tag_ended(struct req *r, const struct profile *head, enum render_format format)
{
	const struct profile_meta *m = &head->meta;
	const uint64_t *from = head->ledger.names_from;
	AUTO(buf_done) struct buf key = BUF_INIT;
	char tag[40];

	if (m->ended_wall_ns == 0 || (from[LEDGER_FROM_JITDUMP] && from[LEDGER_FROM_NOTHING]))
		return false;
	buf_printf(&key, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %s", m->session_id,
		m->started_wall_ns, m->ended_wall_ns, r->raw);
	if (key.error)
		return false;
	snprintf(tag, sizeof(tag), "\"%016" PRIx64 "\"", hash_bytes(key.data, key.len, 0));
	r->answer.cache = "private, no-cache";
	if (!answer_etag(r, tag))
		return false;
	/* Browsers put the headers of "not modified" in place of those that they have kept. */
	if (format == RENDER_SVG)
		r->answer.csp = SVG_POLICY;
	return true;
}

/* The stream of the answer out of a named profile. */
static void open_stream(struct req *r, struct asked *a, struct profile *p)
{
	struct view *view;
	int error;

	/* Several programs in one picture would be one heap of _start otherwise. */
	if (!uri_get(&r->uri, "by"))
		a->view.by_process = p->process_count > 1;
	if (!find_event(r, p, a->event, &a->view.event) || !set_range(r, &p->meta, a, &a->view))
		return;
	a->view.all_events = !a->event;
	error = render_needs_log(a->format) && !p->log ? -ENODATA : view_new(p, &a->view, &view);
	if (error == -ENODATA)
		problem(r, 422,
			"This session has kept no log of its samples, so that time ranges and "
			"threads cannot be told apart; ask without from, to, last, thread and "
			"by=thread, and not for perfdata.");
	else if (error < 0)
		problem(r, 503, "There is no memory for this view; ask for less, as by min=0.1.");
	else if (render_new(a->format, view, &a->svg, &r->answer.stream) < 0)
		problem(r, 503, "There is no memory for this answer; try again later.");
}

/* With a place among the heavy ones taken. */
static void make(struct req *r, struct asked *a)
{
	AUTO(profile_unref_auto) struct profile *p = NULL;
	AUTO(buf_done) struct buf message = {.max_bytes = 64 << 10};
	bool with_log = a->from.given || a->to.given || a->last_s > 0 ||
		view_query_needs_log(&a->view) || render_needs_log(a->format);
	int error =
		run_profile(r->http->setup.run, &r->who, r->id, with_log, a->inlines, &p, &message);

	if (error == RUN_OK)
		open_stream(r, a, p);
	else
		problem_of_run(r, error, &message);
}

/* The first piece is made here: what goes wrong at once still gets a proper status, and a short
 * answer its length. */
static void first_piece(struct req *r, enum render_format format)
{
	AUTO(buf_done) struct buf piece = BUF_INIT;
	int more = render_more(r->answer.stream, &piece);

	if (more < 0 || piece.error || more == 0) {
		render_free(r->answer.stream);
		r->answer.stream = NULL;
	}
	if (more < 0 && !piece.error)
		piece.error = more;
	answer_take(r, 200, render_content_type(format), &piece);
}

static void dump(struct req *r, struct asked *a)
{
	if (r->http->streams >= HTTP_STREAMS_MAX || !http_enter(&r->http->heavy, HTTP_HEAVY_MAX)) {
		problem(r, 503, "Other profiles are being made just now; try again in a moment.");
		return;
	}
	make(r, a);
	if (r->answer.stream) {
		if (a->format == RENDER_SVG)
			r->answer.csp = SVG_POLICY;
		first_piece(r, a->format);
	}
	http_leave(&r->http->heavy);
}

static void answer_profile(struct req *r, enum render_format format)
{
	AUTO(profile_unref_auto) struct profile *head = NULL;
	AUTO(buf_done) struct buf message = {.max_bytes = 64 << 10};
	struct asked asked = {.format = format};
	int error;

	if (!ask(r, &asked))
		return;
	error = run_head(r->http->setup.run, &r->who, r->id, &head, &message);
	if (error != RUN_OK)
		problem_of_run(r, error, &message);
	else if (!tag_ended(r, head, asked.format))
		dump(r, &asked);
}

void api_profile(struct req *r)
{
	answer_profile(r, RENDER_JSON);
}

void api_flamegraph(struct req *r)
{
	if (uri_get(&r->uri, "format"))
		problem(r, 400,
			"flamegraph.svg is SVG always; other formats are at .../profile?format=.");
	else
		answer_profile(r, RENDER_SVG);
}

void api_profile_of(struct req *r, profile_fn get, void *arg)
{
	struct asked asked = {.format = RENDER_JSON};
	struct profile *p;

	if (!ask(r, &asked))
		return;
	p = get(arg, asked.inlines);
	if (!p) {
		problem(r, 503, "There is no memory for this profile.");
		return;
	}
	open_stream(r, &asked, p);
	if (r->answer.stream)
		first_piece(r, asked.format);
}
