/* One document with the profile and the page's own viewer in it, which asks nobody for anything: to
 * be attached to a ticket and opened years later. The viewer, its policy included, is built with
 * the page (web/build.mjs) and has a place for the profile, which stands there as JSON. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/embed.h"
#include "daemon/render/writer.h"

#define PLACE "{{profile}}"

EMBED_FILE(html_viewer, "daemon/render/viewer.html");

struct html {
	void *json;
	const char *place; /* in the viewer */
	enum { BEFORE, PROFILE, AFTER } step;
};

static void html_end(void *state)
{
	struct html *w = state;

	if (w->json)
		json_writer.end(w->json);
	free(w);
}

static int html_start(const struct view *v, const struct svg_options *svg, void **ret_state)
{
	struct html *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	w->place = strstr(html_viewer, PLACE);
	r = w->place ? json_writer.start(v, svg, &w->json) : -ENOENT;
	if (r < 0) {
		html_end(w);
		return r;
	}
	*ret_state = w;
	return 0;
}

static int html_more(void *state, struct buf *into)
{
	struct html *w = state;
	const char *rest = w->place + strlen(PLACE);
	int r;

	switch (w->step) {
	case BEFORE:
		buf_append(into, html_viewer, (size_t)(w->place - html_viewer));
		w->step = PROFILE;
		return 1;
	case PROFILE:
		r = json_writer.more(w->json, into);
		if (r == 0)
			w->step = AFTER;
		return r < 0 ? r : 1;
	default: buf_append(into, rest, (size_t)(html_viewer_end - rest)); return 0;
	}
}

const struct writer html_writer = {
	.name = "html",
	.content_type = "text/html; charset=utf-8",
	.extension = "html",
	.start = html_start,
	.more = html_more,
	.end = html_end,
};
