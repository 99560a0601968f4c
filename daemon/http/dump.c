#include "daemon/http/dump.h"

#include <errno.h>

#include "base/cleanup.h"
#include "daemon/http/answer.h"
#include "daemon/http/ask.h"
#include "daemon/render/view.h"

#define WIDTH_MIN 100
#define WIDTH_MAX 20000

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
	AUTO(buf_done) struct buf names = BUF_INIT;
	const char *text = uri_get(&r->uri, "format");

	if (!text || render_format_parse(text, format) == 0)
		return true;
	render_format_names(&names);
	problem(r, 400, "The query value format must be %s, not \"%.100s\".",
		names.data ? names.data : "another", text);
	return false;
}

bool dump_ask(struct req *r, struct dump *d)
{
	return ask_format(r, &d->format) && asked_read(r, &d->asked) && asked_lines(r, &d->asked) &&
		ask_svg(r, &d->svg);
}

void dump_open(struct req *r, struct dump *d, struct profile *p)
{
	struct view *view;

	d->asked.view.all_events = !d->asked.event;
	render_fit_query(d->format, p->log_count > 0, d->asked.by_given, &d->asked.view);
	if (render_log(d->format) == RENDER_LOG_NEEDED && !p->log)
		asked_refuse_view(r, -ENODATA);
	else if (!asked_view(r, &d->asked, p, &view))
		return;
	else if (render_new(d->format, view, &d->svg, &r->answer.stream) < 0)
		problem(r, 503, "There is no memory for this answer; try again later.");
}

void dump_first_piece(struct req *r, const struct dump *d)
{
	AUTO(buf_done) struct buf piece = BUF_INIT;
	int more = render_more(r->answer.stream, &piece);

	if (more < 0 || piece.error || more == 0) {
		render_free(r->answer.stream);
		r->answer.stream = NULL;
	}
	if (more < 0 && !piece.error)
		piece.error = more;
	answer_take(r, 200, render_content_type(d->format), &piece);
}

void dump_answer(struct req *r, profile_fn get, void *arg)
{
	struct dump d = {.format = RENDER_JSON};
	struct profile *p;

	if (!dump_ask(r, &d))
		return;
	p = get(arg, d.asked.inlines);
	if (!p) {
		problem(r, 503, "There is no memory for this profile.");
		return;
	}
	dump_open(r, &d, p);
	if (r->answer.stream)
		dump_first_piece(r, &d);
}
