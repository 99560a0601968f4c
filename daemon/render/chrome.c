/* The samples of a view in the Trace Event Format, as one JSON object, for Perfetto,
 * chrome://tracing and speedscope.
 *
 * Samples of a clock become slices (B and E events, by thread): each stands for the time that it
 * weighs, up to its own moment, and functions that are in one sample and in the next stay open
 * between them, unless there is a gap of more than a quarter of a sample: there the thread did not
 * run. A slice ends a nanosecond before the next one begins, since some readers sort events by
 * time alone and would take one's end for that of another. Samples of other events say nothing of
 * time: they are at "samples" and "stackFrames", where readers show them as points with a stack.
 * Times are microseconds since the start of the session. otherData has the ledger. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "daemon/render/series.h"
#include "daemon/render/writer.h"

struct chrome {
	const struct view *view;
	const struct profile *p;
	struct series_set set;
	struct buf text;
	struct buf path; /* nodes to be opened: array of uint32_t, innermost first */
	uint32_t at;     /* of series */
	size_t sample;   /* next of it */
	uint32_t node;   /* next of the view, of those to be written */
	uint32_t open;   /* node whose path is open; 0: none */
	uint64_t end_ns; /* where the last block ends */
	bool clock, comma;
	enum { HEAD, NAMES, SLICES, STACKS, SAMPLES, TAIL } step;
};

static void string(struct buf *into, const char *text)
{
	render_json_string(into, text, strlen(text));
}

static const struct series *series_at(const struct chrome *w)
{
	return &w->set.all[w->at];
}

static pid_t pid_of(const struct chrome *w)
{
	return w->p->processes[series_at(w)->process].pid;
}

static pid_t tid_of(const struct chrome *w)
{
	return w->p->threads[series_at(w)->thread].tid;
}

static void put_separator(struct chrome *w, struct buf *into)
{
	buf_append_str(into, w->comma ? ",\n" : "\n");
	w->comma = true;
}

static void put_time(const struct chrome *w, uint64_t t_ns, struct buf *into)
{
	uint64_t since = t_ns > w->p->meta.started_ns ? t_ns - w->p->meta.started_ns : 0;

	buf_printf(into, ",\"ts\":%" PRIu64 ".%03u", since / 1000, (unsigned)(since % 1000));
}

static void put_task(const struct chrome *w, struct buf *into)
{
	buf_printf(into, ",\"pid\":%d,\"tid\":%d", (int)pid_of(w), (int)tid_of(w));
}

/* ---- metadata ---- */

static void put_name_event(struct chrome *w, const char *what, const char *name, struct buf *into)
{
	put_separator(w, into);
	buf_printf(into, "{\"ph\":\"M\",\"name\":\"%s\"", what);
	put_task(w, into);
	buf_append_str(into, ",\"args\":{\"name\":");
	string(into, name);
	buf_append_str(into, "}}");
}

static void put_names(struct chrome *w, struct buf *into)
{
	const struct series *one = series_at(w);

	put_name_event(
		w, "process_name", profile_text(w->p, w->p->processes[one->process].comm), into);
	put_name_event(w, "thread_name", profile_text(w->p, w->p->threads[one->thread].comm), into);
}

static void put_head(struct chrome *w, struct buf *into)
{
	series_title(w->view, &w->text);
	buf_append_str(into,
		"{\"displayTimeUnit\":\"ms\",\"otherData\":{\"version\":\"profiled " PACKAGE_VERSION
		"\",\"profile\":");
	string(into, w->text.data ? w->text.data : "");
	buf_append_str(into, ",\"event\":");
	string(into, profile_text(w->p, w->p->events[w->view->query.event].name));
	buf_append_str(into, "},\"traceEvents\":[");
}

/* ---- slices ---- */

static void put_label(const struct view_name *n, struct buf *text)
{
	buf_clear(text);
	buf_append_str(text, n->text);
	if (n->file[0])
		buf_printf(text, " (%s:%u)", n->file, n->line);
}

static void put_begin(struct chrome *w, uint32_t node, uint64_t t_ns, struct buf *into)
{
	const struct view_name *n = &w->view->names[w->view->nodes[node].name];

	put_label(n, &w->text);
	put_separator(w, into);
	buf_append_str(into, "{\"ph\":\"B\",\"name\":");
	string(into, w->text.data ? w->text.data : "");
	buf_printf(into, ",\"cat\":\"%s\"", view_kind_name((enum view_kind)n->kind));
	put_task(w, into);
	put_time(w, t_ns, into);
	buf_append_char(into, '}');
}

static void put_end(struct chrome *w, uint32_t node, uint64_t t_ns, struct buf *into)
{
	put_label(&w->view->names[w->view->nodes[node].name], &w->text);
	put_separator(w, into);
	buf_append_str(into, "{\"ph\":\"E\",\"name\":");
	string(into, w->text.data ? w->text.data : "");
	put_task(w, into);
	put_time(w, t_ns, into);
	buf_append_char(into, '}');
}

/* The deepest node above both, or one of them. */
static uint32_t common(const struct chrome *w, uint32_t a, uint32_t b)
{
	const struct view_node *nodes = w->view->nodes;

	while (a != b) {
		if (nodes[a].depth >= nodes[b].depth)
			a = w->set.parent[a];
		else
			b = w->set.parent[b];
	}
	return a;
}

static void close_down_to(struct chrome *w, uint32_t node, struct buf *into)
{
	for (; w->open != node; w->open = w->set.parent[w->open])
		put_end(w, w->open, w->end_ns - 1, into);
}

static void open_up_to(struct chrome *w, uint32_t node, uint64_t t_ns, struct buf *into)
{
	const uint32_t *nodes;
	size_t count;

	buf_clear(&w->path);
	for (uint32_t n = node; n != w->open; n = w->set.parent[n])
		buf_append(&w->path, &n, sizeof(n));
	nodes = (const void *)w->path.data;
	count = w->path.len / sizeof(*nodes);
	while (count-- > 0)
		put_begin(w, nodes[count], t_ns, into);
	w->open = node;
}

static void put_block(struct chrome *w, const struct series_sample *s, struct buf *into)
{
	uint64_t start = s->t_ns > s->weight ? s->t_ns - s->weight : 0;

	/* None is shorter than the nanosecond that it leaves free, and one more. */
	if (s->t_ns < w->end_ns + 2 || s->weight < 2)
		return;
	if (start <= w->end_ns + s->weight / 4) {
		start = w->end_ns;
		close_down_to(w, common(w, w->open, s->node), into);
	} else {
		close_down_to(w, 0, into);
	}
	open_up_to(w, s->node, start, into);
	w->end_ns = s->t_ns;
}

static void begin_series(struct chrome *w)
{
	w->sample = 0;
	w->open = 0;
	w->end_ns = w->p->meta.started_ns;
}

/* True: those of all series are written. */
static bool put_slices(struct chrome *w, struct buf *into, size_t until)
{
	for (; w->at < w->set.count; w->at++, begin_series(w)) {
		const struct series *one = series_at(w);

		for (; w->sample < one->count; w->sample++) {
			struct series_sample s = series_sample(&w->set, one->first + w->sample);

			if (into->len >= until || into->error)
				return false;
			put_block(w, &s, into);
		}
		close_down_to(w, 0, into);
	}
	return true;
}

/* ---- samples ---- */

/* The first is for stacks that were folded altogether: no other has it above. */
static void put_stack(struct chrome *w, uint32_t i, struct buf *into)
{
	const struct view_name *n = &w->view->names[w->view->nodes[i].name];

	put_separator(w, into);
	if (i == 0) {
		buf_append_str(into, "\"0\":{\"name\":\"[folded]\",\"category\":\"\"}");
		return;
	}
	put_label(n, &w->text);
	buf_printf(into, "\"%u\":{\"name\":", i);
	string(into, w->text.data ? w->text.data : "");
	buf_append_str(into, ",\"category\":");
	string(into, n->module);
	if (w->set.parent[i])
		buf_printf(into, ",\"parent\":\"%u\"", w->set.parent[i]);
	buf_append_char(into, '}');
}

static bool put_stacks(struct chrome *w, struct buf *into, size_t until)
{
	for (; w->node < w->view->node_count; w->node++) {
		if (into->len >= until || into->error)
			return false;
		put_stack(w, w->node, into);
	}
	return true;
}

static void put_sample(struct chrome *w, const struct series_sample *s, struct buf *into)
{
	put_separator(w, into);
	buf_append_str(into, "{\"name\":");
	string(into, profile_text(w->p, w->p->events[w->view->query.event].name));
	put_task(w, into);
	put_time(w, s->t_ns, into);
	buf_printf(into, ",\"weight\":%" PRIu64 ",\"sf\":\"%u\"}", s->weight, s->node);
}

static bool put_samples(struct chrome *w, struct buf *into, size_t until)
{
	for (; w->at < w->set.count; w->at++, w->sample = 0) {
		const struct series *one = series_at(w);

		for (; w->sample < one->count; w->sample++) {
			struct series_sample s = series_sample(&w->set, one->first + w->sample);

			if (into->len >= until || into->error)
				return false;
			put_sample(w, &s, into);
		}
	}
	return true;
}

/* ---- the file ---- */

/* Once: what stands between what this step wrote and what the next one will. */
static void next_step(struct chrome *w, unsigned step, const char *text, struct buf *into)
{
	buf_append_str(into, text);
	w->step = step;
	w->comma = false;
	w->at = 0;
	if (w->set.count)
		begin_series(w);
}

/* True: this step is complete, and the next one has begun. */
static bool put_step(struct chrome *w, struct buf *into, size_t until)
{
	switch (w->step) {
	case HEAD:
		put_head(w, into);
		next_step(w, NAMES, "", into);
		return true;
	case NAMES:
		for (; w->at < w->set.count && into->len < until; w->at++)
			put_names(w, into);
		if (w->at < w->set.count)
			return false;
		next_step(w, w->clock ? SLICES : STACKS, w->clock ? "" : "\n],\"stackFrames\":{",
			into);
		/* Both are of one array. */
		w->comma = w->clock && w->set.count > 0;
		return true;
	case SLICES:
		if (!put_slices(w, into, until))
			return false;
		next_step(w, TAIL, "\n]}\n", into);
		return true;
	case STACKS:
		if (!put_stacks(w, into, until))
			return false;
		next_step(w, SAMPLES, "\n},\"samples\":[", into);
		return true;
	default:
		if (!put_samples(w, into, until))
			return false;
		next_step(w, TAIL, "\n]}\n", into);
		return true;
	}
}

static int chrome_more(void *state, struct buf *into)
{
	struct chrome *w = state;
	size_t until = into->len + RENDER_PIECE_BYTES;

	while (w->step != TAIL && !into->error)
		if (!put_step(w, into, until))
			break;
	if (w->text.error || w->path.error)
		return w->text.error ? w->text.error : w->path.error;
	return w->step != TAIL;
}

static void chrome_end(void *state)
{
	struct chrome *w = state;

	series_done(&w->set);
	buf_done(&w->text);
	buf_done(&w->path);
	free(w);
}

static int chrome_start(const struct view *v, const struct svg_options *svg, void **ret_state)
{
	struct chrome *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	w->view = v;
	w->p = v->profile;
	w->clock = v->profile->events[v->query.event].is_clock;
	r = series_make(v, &w->set);
	if (r < 0) {
		chrome_end(w);
		return r;
	}
	*ret_state = w;
	return 0;
}

const struct writer chrome_writer = {
	.name = "chrome",
	.content_type = "application/json",
	.extension = "trace.json",
	.log = RENDER_LOG_NEEDED,
	.series = true,
	.by_thread = true,
	.start = chrome_start,
	.more = chrome_more,
	.end = chrome_end,
};
