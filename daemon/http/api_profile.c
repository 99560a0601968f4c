/* /v1/sessions/ID/profile and flamegraph.svg: a dump, in one of the formats. */
#include "daemon/http/api.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/parse.h"
#include "daemon/http/answer.h"
#include "daemon/http/ask.h"
#include "daemon/http/asked.h"
#include "daemon/http/http.h"
#include "daemon/render/render.h"
#include "daemon/render/view.h"
#include "daemon/tree/ledger.h"

/* Scripts of the SVG itself may run when it is opened; nothing else, and as a stranger to this
 * origin. */
#define SVG_POLICY                                                               \
	"sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; " \
	"script-src 'unsafe-inline'; frame-ancestors 'self'"

#define WIDTH_MIN 100
#define WIDTH_MAX 20000

/* The question, before the profile is there. */
struct dump {
	enum render_format format;
	struct asked asked;
	struct svg_options svg;
};

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

static bool ask(struct req *r, struct dump *d)
{
	return ask_format(r, &d->format) && asked_read(r, &d->asked) && asked_lines(r, &d->asked) &&
		ask_svg(r, &d->svg);
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
static void open_stream(struct req *r, struct dump *d, struct profile *p)
{
	struct view *view;

	d->asked.view.all_events = !d->asked.event;
	if (render_needs_log(d->format) && !p->log)
		asked_refuse_view(r, -ENODATA);
	else if (!asked_view(r, &d->asked, p, &view))
		return;
	else if (render_new(d->format, view, &d->svg, &r->answer.stream) < 0)
		problem(r, 503, "There is no memory for this answer; try again later.");
}

/* With a place among the heavy ones taken. */
static void make(struct req *r, struct dump *d)
{
	AUTO(profile_unref_auto) struct profile *p = NULL;
	AUTO(buf_done) struct buf message = {.max_bytes = 64 << 10};
	bool with_log = asked_needs_log(&d->asked) || render_needs_log(d->format);
	int error = run_profile(
		r->http->setup.run, &r->who, r->id, with_log, d->asked.inlines, &p, &message);

	if (error == RUN_OK)
		open_stream(r, d, p);
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

static void dump(struct req *r, struct dump *d)
{
	if (r->http->streams >= HTTP_STREAMS_MAX || !http_enter(&r->http->heavy, HTTP_HEAVY_MAX)) {
		problem(r, 503, "Other profiles are being made just now; try again in a moment.");
		return;
	}
	make(r, d);
	if (r->answer.stream) {
		if (d->format == RENDER_SVG)
			r->answer.csp = SVG_POLICY;
		first_piece(r, d->format);
	}
	http_leave(&r->http->heavy);
}

static void answer_profile(struct req *r, enum render_format format)
{
	AUTO(profile_unref_auto) struct profile *head = NULL;
	AUTO(buf_done) struct buf message = {.max_bytes = 64 << 10};
	struct dump d = {.format = format};
	int error;

	if (!ask(r, &d))
		return;
	error = run_head(r->http->setup.run, &r->who, r->id, &head, &message);
	if (error != RUN_OK)
		problem_of_run(r, error, &message);
	else if (!tag_ended(r, head, d.format))
		dump(r, &d);
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
	struct dump d = {.format = RENDER_JSON};
	struct profile *p;

	if (!ask(r, &d))
		return;
	p = get(arg, d.asked.inlines);
	if (!p) {
		problem(r, 503, "There is no memory for this profile.");
		return;
	}
	open_stream(r, &d, p);
	if (r->answer.stream)
		first_piece(r, d.format);
}
