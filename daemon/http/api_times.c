/* /v1/sessions/ID/heatmap and timeline: when the samples of the log were taken. */
#include "daemon/http/api.h"

#include "base/cleanup.h"
#include "daemon/http/answer.h"
#include "daemon/http/asked.h"
#include "daemon/http/http.h"
#include "daemon/http/json_out.h"
#include "daemon/render/times.h"

#define ROWS    50
#define COLUMNS 200

/* The session's profile and what of it is asked for; NULL: an answer that refuses is ready. */
static struct profile *get(struct req *r, struct asked *a)
{
	AUTO(profile_unref_auto) struct profile *p = NULL;
	AUTO(buf_done) struct buf message = {.max_bytes = 64 << 10};
	int error;

	error = run_profile(r->http->setup.run, &r->who, r->id, true, false, &p, &message);
	if (error != RUN_OK) {
		problem_of_run(r, error, &message);
		return NULL;
	}
	if (!asked_event(r, p, a->event, &a->view.event) || !asked_range(r, a, p))
		return NULL;
	return MOVE(p);
}

static void put_times(struct buf *b, const struct times *t, const struct profile *p)
{
	json_u64(b, "from_ns", t->from_ns - p->meta.started_ns);
	json_u64(b, "to_ns", t->to_ns - p->meta.started_ns);
	json_bool(b, "log_short", t->log_short);
}

static void put_heatmap(struct buf *b, const struct heatmap *h, const struct profile *p)
{
	json_begin(b, '{');
	put_times(b, &h->times, p);
	json_u64(b, "first_second", h->first_second);
	json_u64(b, "seconds", h->seconds);
	json_u64(b, "rows", h->rows);
	json_u64(b, "max", h->max);
	json_begin_in(b, "samples", '[');
	for (uint64_t i = 0; i < (uint64_t)h->seconds * h->rows; i++)
		json_u64(b, NULL, h->samples[i]);
	json_end(b, ']');
	json_end(b, '}');
}

static void answer_heatmap(struct req *r, struct asked *a, uint32_t rows)
{
	AUTO(profile_unref_auto) struct profile *p = NULL;
	AUTO(heatmap_done) struct heatmap map = {0};
	AUTO(buf_done) struct buf b = BUF_INIT;
	int error;

	p = get(r, a);
	if (!p)
		return;
	error = heatmap_make(p, &a->view, rows, &map);
	if (error < 0) {
		asked_refuse_view(r, error);
		return;
	}
	put_heatmap(&b, &map, p);
	answer_json(r, 200, &b);
}

void api_heatmap(struct req *r)
{
	struct asked a = {0};
	uint64_t rows = ROWS;

	if (!ask_u64(r, "rows", 1, HEATMAP_ROWS_MAX, &rows) || !asked_samples(r, &a) ||
		!http_enter_heavy(r))
		return;
	answer_heatmap(r, &a, (uint32_t)rows);
	http_leave_heavy(r);
}

static void put_row(
	struct buf *b, const char *key, const struct timeline_row *row, uint32_t columns)
{
	json_begin_in(b, key, '{');
	json_u64(b, "id", (uint64_t)row->id);
	json_text(b, "name", row->name);
	json_u64(b, "pid", (uint64_t)row->pid);
	json_u64(b, "total", row->total);
	json_begin_in(b, "weights", '[');
	for (uint32_t i = 0; i < columns; i++)
		json_u64(b, NULL, row->weights[i]);
	json_end(b, ']');
	json_end(b, '}');
}

static void put_timeline(
	struct buf *b, const struct timeline *t, const struct profile *p, int event)
{
	json_begin(b, '{');
	put_times(b, &t->times, p);
	json_u64(b, "columns", t->columns);
	json_text(b, "unit", p->events[event < 0 ? 0 : event].is_clock ? "nanoseconds" : "count");
	json_begin_in(b, "rows", '[');
	for (uint32_t i = 0; i < t->row_count; i++)
		put_row(b, NULL, &t->rows[i], t->columns);
	json_end(b, ']');
	json_u64(b, "others_count", t->others_count);
	if (t->others_count)
		put_row(b, "others", &t->others, t->columns);
	else
		json_null(b, "others");
	json_end(b, '}');
}

static void answer_timeline(struct req *r, struct asked *a, enum timeline_by by, uint32_t columns)
{
	AUTO(profile_unref_auto) struct profile *p = NULL;
	AUTO(timeline_done) struct timeline line = {0};
	AUTO(buf_done) struct buf b = BUF_INIT;
	int error;

	p = get(r, a);
	if (!p)
		return;
	error = timeline_make(p, &a->view, by, columns, &line);
	if (error < 0) {
		asked_refuse_view(r, error);
		return;
	}
	put_timeline(&b, &line, p, a->view.event);
	answer_json(r, 200, &b);
}

void api_timeline(struct req *r)
{
	static const char *const words[] = {[TIMELINE_THREAD] = "thread",
		[TIMELINE_CPU] = "cpu",
		[TIMELINE_PROCESS] = "process",
		NULL};
	struct asked a = {0};
	unsigned by = TIMELINE_THREAD;
	uint64_t columns = COLUMNS;

	if (!ask_choice(r, "by", words, &by) ||
		!ask_u64(r, "columns", 1, TIMELINE_COLUMNS_MAX, &columns) ||
		!asked_samples(r, &a) || !http_enter_heavy(r))
		return;
	answer_timeline(r, &a, (enum timeline_by)by, (uint32_t)columns);
	http_leave_heavy(r);
}
