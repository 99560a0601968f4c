/* A view as a file of speedscope: https://www.speedscope.app/file-format-schema.json
 *
 * One "sampled" profile for each thread, its samples in the order of time (by=thread), for each
 * process (by=process), or one of all; the heaviest first. Weights are nanoseconds of a clock, else
 * counts without a unit. A frame's file is its source file, where lines were asked for, else its
 * module. The file's name says what it is of, and the ledger. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "daemon/render/parts.h"
#include "daemon/render/series.h"
#include "daemon/render/writer.h"

struct speedscope {
	const struct view *view;
	struct series_set set;
	struct buf text;
	struct buf stack; /* frames of one sample: array of uint32_t, innermost first */
	struct parts frames, profile;
	struct series nothing; /* written where there is no series: readers want one */
	uint32_t at;           /* of series */
	enum { HEAD, FRAMES, PROFILE_HEAD, PROFILE, TAIL } step;
};

static const struct series *series_at(const struct speedscope *w)
{
	return w->set.count ? &w->set.all[w->at] : &w->nothing;
}

static void string(struct buf *into, const char *text)
{
	render_json_string(into, text, strlen(text));
}

/* ---- arrays ---- */

static size_t frame_count(const void *state)
{
	return ((const struct speedscope *)state)->view->name_count;
}

static void put_frame(void *state, size_t i, struct buf *into)
{
	const struct speedscope *w = state;
	const struct view_name *n = &w->view->names[i];
	const char *file = n->file[0] ? n->file : n->module;

	buf_append_str(into, "{\"name\":");
	string(into, n->text);
	if (file[0]) {
		buf_append_str(into, ",\"file\":");
		string(into, file);
	}
	if (n->line)
		buf_printf(into, ",\"line\":%u", n->line);
	buf_append_char(into, '}');
}

static size_t sample_count(const void *state)
{
	return series_at(state)->count;
}

static void put_stack(void *state, size_t i, struct buf *into)
{
	struct speedscope *w = state;
	uint32_t node = series_sample(&w->set, series_at(w)->first + i).node;
	const uint32_t *frames;
	size_t count;

	buf_clear(&w->stack);
	for (; node != 0; node = w->set.parent[node])
		buf_append(&w->stack, &w->view->nodes[node].name, sizeof(*frames));
	if (w->stack.error && !into->error)
		into->error = w->stack.error;
	frames = (const void *)w->stack.data;
	count = w->stack.len / sizeof(*frames);
	buf_append_char(into, '[');
	while (count-- > 0) {
		buf_append_u64(into, frames[count]);
		if (count > 0)
			buf_append_char(into, ',');
	}
	buf_append_char(into, ']');
}

static void put_weight(void *state, size_t i, struct buf *into)
{
	const struct speedscope *w = state;

	buf_append_u64(into, series_sample(&w->set, series_at(w)->first + i).weight);
}

static const struct part frame_parts[] = {
	{.open = ",\"shared\":{\"frames\":", .count = frame_count, .put = put_frame, .close = "}"},
};
static const struct part profile_parts[] = {
	{.open = ",\"samples\":", .count = sample_count, .put = put_stack},
	{.open = ",\"weights\":", .count = sample_count, .put = put_weight, .close = "}"},
};

/* ---- the file ---- */

static void put_head(struct speedscope *w, struct buf *into)
{
	buf_clear(&w->text);
	series_title(w->view, &w->text);
	buf_append_str(into,
		"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
		"\"exporter\":\"profiled " PACKAGE_VERSION "\",\"activeProfileIndex\":0,\"name\":");
	string(into, w->text.data ? w->text.data : "");
}

static void put_profile_head(struct speedscope *w, struct buf *into)
{
	const struct view *v = w->view;
	const struct profile_event *e = &v->profile->events[v->query.event];

	buf_clear(&w->text);
	series_name(&w->set, series_at(w), &w->text);
	buf_append_str(into, w->at ? ",{" : ",\"profiles\":[{");
	buf_append_str(into, "\"type\":\"sampled\",\"name\":");
	string(into, w->text.data ? w->text.data : "");
	buf_printf(into, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":",
		e->is_clock ? "nanoseconds" : "none");
	buf_append_u64(into, series_at(w)->weight);
}

static int speedscope_more(void *state, struct buf *into)
{
	struct speedscope *w = state;
	size_t until = into->len + RENDER_PIECE_BYTES;

	while (w->step != TAIL) {
		if (into->len >= until || into->error)
			return 1;
		switch (w->step) {
		case HEAD:
			put_head(w, into);
			w->step = FRAMES;
			break;
		case FRAMES:
			if (!parts_put(&w->frames, w, into, until))
				return 1;
			w->step = PROFILE_HEAD;
			break;
		case PROFILE_HEAD:
			put_profile_head(w, into);
			w->profile = (struct parts)PARTS(profile_parts);
			w->step = PROFILE;
			break;
		default:
			if (!parts_put(&w->profile, w, into, until))
				return 1;
			w->step = ++w->at < w->set.count ? PROFILE_HEAD : TAIL;
		}
	}
	buf_append_str(into, "]}\n");
	return w->text.error;
}

static void speedscope_end(void *state)
{
	struct speedscope *w = state;

	series_done(&w->set);
	buf_done(&w->text);
	buf_done(&w->stack);
	free(w);
}

static int speedscope_start(const struct view *v, const struct svg_options *svg, void **ret_state)
{
	struct speedscope *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	w->view = v;
	w->nothing.process = PROFILE_NO_PROCESS;
	w->nothing.thread = SERIES_NO_THREAD;
	w->frames = (struct parts)PARTS(frame_parts);
	r = series_make(v, &w->set);
	if (r < 0) {
		speedscope_end(w);
		return r;
	}
	*ret_state = w;
	return 0;
}

const struct writer speedscope_writer = {
	.name = "speedscope",
	.content_type = "application/json",
	.extension = "speedscope.json",
	.log = RENDER_LOG_WELCOME,
	.series = true,
	.start = speedscope_start,
	.more = speedscope_more,
	.end = speedscope_end,
};
