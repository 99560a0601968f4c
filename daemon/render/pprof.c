/* A profile as pprof's profile.proto, gzipped: samples with their addresses and names, for "go tool
 * pprof" and whatever else reads it.
 * https://github.com/google/pprof/blob/main/proto/profile.proto
 *
 * Every frame is a location, and every location has a mapping and a function: readers drop names
 * where one is missing. The order of fields is free, so that samples come first, while they are
 * gone through, and then the locations, functions and strings that they needed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/render/pprof.h"
#include "daemon/render/writer.h"

#define STRINGS_MAX      (16u << 20)
#define STRING_BYTES_MAX ((size_t)1 << 30)

/* Field numbers. */
enum { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_TEXT, LABEL_NUMBER };
enum { VALUE_TYPE = 1, VALUE_UNIT };

static void pprof_end(void *state)
{
	struct pprof *w = state;

	labels_done(&w->labels);
	places_done(&w->places);
	arena_free(w->arena);
	strtab_free(w->strings);
	map_free(w->functions);
	gzip_free(w->gzip);
	free(w->used);
	free(w->mapping_of);
	stacks_done(&w->stacks);
	buf_done(&w->plain);
	buf_done(&w->message);
	buf_done(&w->inner);
	buf_done(&w->text);
	free(w);
}

static void note_error(struct pprof *w, int error)
{
	if (error < 0 && !w->plain.error)
		w->plain.error = error;
}

uint32_t pprof_string(struct pprof *w, const char *raw)
{
	uint32_t id = 0;
	int r;

	buf_clear(&w->text);
	render_plain_text(&w->text, raw, strlen(raw));
	r = w->text.error
		? w->text.error
		: strtab_id(w->strings, w->text.data ? w->text.data : "", w->text.len, &id);
	note_error(w, r);
	return id;
}

/* ---- samples ---- */

static void put_label(struct pprof *w, const char *key, const char *text, pid_t number)
{
	protobuf_number(&w->inner, LABEL_KEY, pprof_string(w, key));
	if (text)
		protobuf_number(&w->inner, LABEL_TEXT, pprof_string(w, text));
	else
		protobuf_number(&w->inner, LABEL_NUMBER, (uint64_t)number);
	protobuf_message(&w->message, SAMPLE_LABEL, &w->inner);
}

/* Innermost first. Kernel functions that nothing tells apart are one. */
static void put_stack(struct pprof *w, uint32_t node)
{
	const struct profile *p = w->p;
	bool was_hidden = false;

	for (; node != 0; node = p->nodes[node].parent) {
		uint32_t frame = p->nodes[node].frame;
		bool hidden = p->frames[frame].kind == FRAME_KERNEL && !w->labels.kernel_named;

		if (p->frames[frame].kind == FRAME_PROCESS)
			break;
		if (!hidden || !was_hidden) {
			w->used[frame] = 1;
			put_number(&w->inner, frame + UINT64_C(1));
		}
		was_hidden = hidden;
	}
	protobuf_message(&w->message, SAMPLE_LOCATIONS, &w->inner);
}

/* One sample of the format: what [first, end) say of one stack. */
static void put_sample(struct pprof *w, size_t first, size_t end)
{
	const struct profile *p = w->p;
	uint64_t values[PROFILE_EVENTS_MAX][2] = {{0}};
	const struct stack *all = w->stacks.all;
	uint32_t process = w->stacks.process_of[all[first].node];

	for (size_t i = first; i < end; i++) {
		values[all[i].event][0] += all[i].samples;
		values[all[i].event][1] += all[i].weight;
	}
	put_stack(w, all[first].node);
	for (uint32_t e = 0; e < p->event_count; e++) {
		if (!stacks_wants_event(&w->stacks, e))
			continue;
		put_number(&w->inner, values[e][0]);
		put_number(&w->inner, values[e][1]);
	}
	protobuf_message(&w->message, SAMPLE_VALUES, &w->inner);
	if (process != PROFILE_NO_PROCESS) {
		put_label(w, "process", profile_text(p, p->processes[process].comm), 0);
		put_label(w, "pid", NULL, p->processes[process].pid);
	}
	if (w->view->query.by_thread) {
		const struct profile_thread *t = &p->threads[all[first].thread];

		put_label(w, "thread", profile_text(p, t->comm), 0);
		put_label(w, "tid", NULL, t->tid);
	}
	protobuf_message(&w->plain, PROFILE_SAMPLE, &w->message);
}

static void put_samples(struct pprof *w)
{
	while (w->at < w->stacks.count && w->plain.len < RENDER_PIECE_BYTES) {
		size_t end = stacks_end_of(&w->stacks, w->at);

		put_sample(w, w->at, end);
		w->at = end;
	}
}

/* ---- the profile ---- */

static void put_value_type(struct pprof *w, unsigned field, const char *type, const char *unit)
{
	protobuf_number(&w->inner, VALUE_TYPE, pprof_string(w, type));
	protobuf_number(&w->inner, VALUE_UNIT, pprof_string(w, unit));
	protobuf_message(&w->plain, field, &w->inner);
}

/* The first processor clock goes by the name that Go's own profiles have for it. */
static const char *type_of(const struct profile *p, uint32_t event)
{
	bool first = p->events[event].is_clock;

	for (uint32_t e = 0; e < event; e++)
		first = first && !p->events[e].is_clock;
	return first ? "cpu" : profile_text(p, p->events[event].name);
}

static void put_types(struct pprof *w)
{
	const struct profile *p = w->p;
	uint32_t first = UINT32_MAX, asked = 0;

	for (uint32_t e = 0; e < p->event_count; e++)
		asked += stacks_wants_event(&w->stacks, e);
	for (uint32_t e = 0; e < p->event_count; e++) {
		AUTO(buf_done) struct buf name = BUF_INIT;

		if (!stacks_wants_event(&w->stacks, e))
			continue;
		buf_append_str(&name, "samples");
		if (asked > 1)
			buf_printf(&name, "_of_%s", profile_text(p, p->events[e].name));
		note_error(w, name.error);
		put_value_type(w, PROFILE_SAMPLE_TYPE, name.data ? name.data : "", "count");
		put_value_type(w, PROFILE_SAMPLE_TYPE, type_of(p, e),
			p->events[e].is_clock ? "nanoseconds" : "count");
		if (first == UINT32_MAX)
			first = e;
	}
	if (first == UINT32_MAX)
		return;
	put_value_type(w, PROFILE_PERIOD_TYPE, type_of(p, first),
		p->events[first].is_clock ? "nanoseconds" : "count");
	protobuf_number(&w->plain, PROFILE_DEFAULT_SAMPLE_TYPE, pprof_string(w, type_of(p, first)));
	if (p->meta.period)
		protobuf_number(&w->plain, PROFILE_PERIOD, p->meta.period);
	else if (p->meta.freq_hz && p->events[first].is_clock)
		protobuf_number(&w->plain, PROFILE_PERIOD, UINT64_C(1000000000) / p->meta.freq_hz);
}

static void put_comment(struct pprof *w, const char *text)
{
	protobuf_number(&w->plain, PROFILE_COMMENT, pprof_string(w, text));
}

static void put_head(struct pprof *w)
{
	AUTO(buf_done) struct buf ledger = BUF_INIT;
	const struct profile_meta *m = &w->p->meta;
	const struct view *v = w->view;

	put_types(w);
	protobuf_number(&w->plain, PROFILE_TIME_NANOS,
		m->started_wall_ns +
			(v->covers_from_ns > m->started_ns ? v->covers_from_ns - m->started_ns
							   : 0));
	protobuf_number(&w->plain, PROFILE_DURATION_NANOS, v->covers_to_ns - v->covers_from_ns);
	put_comment(w, profile_text(w->p, m->target));
	render_ledger_line(w->p, &ledger);
	note_error(w, ledger.error);
	put_comment(w, ledger.data ? ledger.data : "");
}

static int put_rest(struct pprof *w)
{
	int r = pprof_put_code(w);

	for (uint32_t i = 0; r == 0 && i < strtab_count(w->strings); i++) {
		const char *text = strtab_get(w->strings, i);

		protobuf_bytes(&w->plain, PROFILE_STRING, text, strlen(text));
	}
	return r;
}

static int pprof_start(const struct view *v, const struct svg_options *svg, void **ret_state)
{
	const struct profile *p = v->profile;
	struct pprof *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	w->view = v;
	w->p = p;
	w->used = calloc(p->frame_count + (size_t)1, 1);
	w->mapping_of = calloc(p->module_count + (size_t)1, sizeof(*w->mapping_of));
	r = w->used && w->mapping_of ? 0 : -ENOMEM;
	if (r == 0)
		r = arena_new(&w->arena);
	if (r == 0)
		r = labels_init(&w->labels, p, &v->query, w->arena);
	if (r == 0)
		r = places_make(p, &w->places);
	if (r == 0)
		r = strtab_new(STRINGS_MAX, STRING_BYTES_MAX, &w->strings);
	if (r == 0)
		r = map_new(256, &w->functions);
	if (r == 0)
		r = gzip_new(&w->gzip);
	if (r == 0)
		r = stacks_make(v, &w->stacks);
	if (r < 0) {
		pprof_end(w);
		return r;
	}
	*ret_state = w;
	return 0;
}

static int pprof_more(void *state, struct buf *into)
{
	struct pprof *w = state;
	bool last;
	int r = 0;

	if (!w->begun)
		put_head(w);
	w->begun = true;
	put_samples(w);
	last = w->at == w->stacks.count;
	if (last)
		r = put_rest(w);
	if (r == 0)
		r = w->plain.error;
	if (r == 0)
		r = gzip_add(w->gzip, w->plain.data, w->plain.len, into);
	if (r == 0 && last)
		r = gzip_end(w->gzip, into);
	buf_clear(&w->plain);
	return r < 0 ? r : !last;
}

const struct writer pprof_writer = {
	.name = "pprof",
	.content_type = "application/octet-stream",
	.extension = "pb.gz",
	.start = pprof_start,
	.more = pprof_more,
	.end = pprof_end,
};
