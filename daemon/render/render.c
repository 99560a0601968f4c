#include "daemon/render/render.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/render/writer.h"

#define DEFAULT_WIDTH 1200

struct render {
	const struct writer *writer;
	struct view *view;
	void *state;
};

static const struct writer *const writers[] = {
	[RENDER_JSON] = &json_writer,
	[RENDER_FOLDED] = &folded_writer,
	[RENDER_SVG] = &svg_writer,
	[RENDER_TEXT] = &text_writer,
	[RENDER_PERFDATA] = &perfdata_writer,
	[RENDER_PPROF] = &pprof_writer,
	[RENDER_SPEEDSCOPE] = &speedscope_writer,
	[RENDER_FIREFOX] = &firefox_writer,
	[RENDER_CHROME] = &chrome_writer,
	[RENDER_HTML] = &html_writer,
};

#define WRITER_COUNT (sizeof(writers) / sizeof(writers[0]))

int render_format_parse(const char *text, enum render_format *ret_format)
{
	for (unsigned i = 0; i < WRITER_COUNT; i++) {
		if (strcmp(writers[i]->name, text) == 0) {
			*ret_format = (enum render_format)i;
			return 0;
		}
	}
	return -EINVAL;
}

void render_format_names(struct buf *into)
{
	for (unsigned i = 0; i < WRITER_COUNT; i++)
		buf_printf(into, "%s%s",
			i == 0                         ? ""
				: i + 1 < WRITER_COUNT ? ", "
						       : " or ",
			writers[i]->name);
}

enum render_log render_log(enum render_format format)
{
	return writers[format]->log;
}

void render_fit_query(
	enum render_format format, bool has_log, bool by_given, struct view_query *query)
{
	const struct writer *w = writers[format];

	if (!w->series)
		return;
	query->places = true;
	if (w->by_thread || (!by_given && has_log))
		query->by_thread = true;
}

const char *render_content_type(enum render_format format)
{
	return writers[format]->content_type;
}

const char *render_extension(enum render_format format)
{
	return writers[format]->extension;
}

bool render_is_for_browsers(enum render_format format)
{
	return format == RENDER_JSON || format == RENDER_FOLDED || format == RENDER_SVG ||
		format == RENDER_TEXT;
}

int render_new(enum render_format format, struct view *view, const struct svg_options *svg,
	struct render **ret_render)
{
	AUTO(render_free_auto) struct render *r = calloc(1, sizeof(*r));
	struct svg_options options = svg ? *svg : (struct svg_options){0};
	int e;

	if (!r) {
		view_free(view);
		return -ENOMEM;
	}
	r->view = view;
	if (!options.width)
		options.width = DEFAULT_WIDTH;
	r->writer = view->diff && format == RENDER_TEXT ? &diff_text_writer : writers[format];
	e = r->writer->start(view, &options, &r->state);
	if (e < 0)
		return e;
	*ret_render = MOVE(r);
	return 0;
}

void render_free(struct render *r)
{
	if (!r)
		return;
	if (r->state)
		r->writer->end(r->state);
	view_free(r->view);
	free(r);
}

int render_more(struct render *r, struct buf *into)
{
	int e = r->writer->more(r->state, into);

	return into->error ? into->error : e;
}
