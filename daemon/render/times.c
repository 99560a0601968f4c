#include "daemon/render/times.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define SECOND_NS 1000000000ull
#define CPUS      4096 /* what an entry of the log can say */

/* Which entries of the log are asked for. */
struct choice {
	const struct profile *p;
	struct view_query q;
	uint32_t *process_of; /* by node */
};

static void choice_done(struct choice *c)
{
	free(c->process_of);
}

static int choose(const struct profile *p, const struct view_query *q, struct choice *c)
{
	*c = (struct choice){.p = p, .q = *q};
	if (c->q.event < 0)
		c->q.event = 0;
	if ((uint32_t)c->q.event >= p->event_count)
		return -EINVAL;
	if (!p->log)
		return -ENODATA;
	c->process_of = malloc(p->node_count * sizeof(*c->process_of));
	if (!c->process_of)
		return -ENOMEM;
	profile_find_processes(p, c->process_of);
	return 0;
}

static bool takes(const struct choice *c, const struct times *t, const struct log_entry *e)
{
	return e->t_ns >= t->from_ns && e->t_ns < t->to_ns && e->event == (unsigned)c->q.event &&
		view_query_covers(&c->q, c->p, e) &&
		view_query_wants_process(&c->q, c->p, c->process_of[e->node]);
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static struct times times_of(const struct choice *c)
{
	const struct profile_meta *m = &c->p->meta;
	uint64_t asked_ns = later(c->q.from_ns, m->started_ns);
	uint64_t log_ns = c->p->ledger.log_from_ns, end_ns = m->taken_ns;
	struct times t = {.from_ns = later(asked_ns, log_ns), .log_short = log_ns > asked_ns};

	/* Some were still on their way at the end, and processors are not in step. */
	for (uint32_t i = 0; i < c->p->log_count; i++)
		end_ns = later(end_ns, c->p->log[i].t_ns + 1);
	if (c->q.to_ns && c->q.to_ns < end_ns)
		end_ns = c->q.to_ns;
	t.to_ns = later(end_ns, t.from_ns);
	return t;
}

/* ---- the heat map ---- */

static void fit_seconds(const struct choice *c, struct heatmap *h)
{
	uint64_t start_ns = c->p->meta.started_ns;
	uint64_t first = (h->times.from_ns - start_ns) / SECOND_NS;
	uint64_t ns = h->times.to_ns - start_ns;
	uint64_t end = ns / SECOND_NS + (ns % SECOND_NS != 0);

	if (end - first > HEATMAP_SECONDS_MAX) {
		first = end - HEATMAP_SECONDS_MAX;
		h->times.from_ns = start_ns + first * SECOND_NS;
	}
	h->first_second = first;
	h->seconds = h->times.to_ns > h->times.from_ns ? (uint32_t)(end - first) : 0;
}

static void heat(const struct choice *c, struct heatmap *h)
{
	uint64_t begin_ns = c->p->meta.started_ns + h->first_second * SECOND_NS;

	for (uint32_t i = 0; i < c->p->log_count; i++) {
		const struct log_entry *e = &c->p->log[i];
		uint64_t cell;

		if (!takes(c, &h->times, e))
			continue;
		cell = (e->t_ns - begin_ns) / SECOND_NS * h->rows +
			(e->t_ns - begin_ns) % SECOND_NS * h->rows / SECOND_NS;
		if (++h->samples[cell] > h->max)
			h->max = h->samples[cell];
	}
}

int heatmap_make(
	const struct profile *p, const struct view_query *q, uint32_t rows, struct heatmap *ret)
{
	AUTO(choice_done) struct choice c = {0};
	struct heatmap h = {.rows = rows};
	int r = choose(p, q, &c);

	if (r < 0)
		return r;
	h.times = times_of(&c);
	fit_seconds(&c, &h);
	h.samples = calloc((size_t)h.seconds * rows + 1, sizeof(*h.samples));
	if (!h.samples)
		return -ENOMEM;
	heat(&c, &h);
	*ret = h;
	return 0;
}

void heatmap_done(struct heatmap *h)
{
	free(h->samples);
}

/* ---- the timeline ---- */

/* One of what may get a row: an index of the profile, or a processor. */
struct source {
	uint32_t id;
	uint64_t total;
};

struct sums {
	const struct choice *choice;
	enum timeline_by by;
	struct source *sources;
	uint32_t count;
	uint32_t *row_of; /* by id of the source; TIMELINE_ROWS_MAX: others */
};

static void sums_done(struct sums *s)
{
	free(s->sources);
	free(s->row_of);
}

/* The last one stands for entries of no process that is known. */
static uint32_t source_count(const struct profile *p, enum timeline_by by)
{
	switch (by) {
	case TIMELINE_THREAD: return p->thread_count;
	case TIMELINE_CPU: return CPUS;
	case TIMELINE_PROCESS: return p->process_count + 1;
	}
	return 0;
}

static uint32_t source_of(const struct sums *s, const struct log_entry *e)
{
	uint32_t process;

	switch (s->by) {
	case TIMELINE_THREAD: return e->thread;
	case TIMELINE_CPU: return e->cpu;
	case TIMELINE_PROCESS: break;
	}
	process = s->choice->process_of[e->node];
	return process == PROFILE_NO_PROCESS ? s->count - 1 : process;
}

static int heavier(const void *a, const void *b)
{
	const struct source *one = a, *two = b;

	if (one->total != two->total)
		return one->total < two->total ? 1 : -1;
	return one->id < two->id ? -1 : one->id > two->id;
}

static int sums_new(
	const struct choice *c, const struct times *t, enum timeline_by by, struct sums *s)
{
	uint32_t count = source_count(c->p, by);

	*s = (struct sums){.choice = c, .by = by, .count = count};
	s->sources = calloc(count + (size_t)1, sizeof(*s->sources));
	s->row_of = malloc((count + (size_t)1) * sizeof(*s->row_of));
	if (!s->sources || !s->row_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		s->sources[i].id = i;
		s->row_of[i] = TIMELINE_ROWS_MAX;
	}
	for (uint32_t i = 0; i < c->p->log_count; i++) {
		const struct log_entry *e = &c->p->log[i];

		if (takes(c, t, e))
			s->sources[source_of(s, e)].total += e->weight;
	}
	qsort(s->sources, count, sizeof(*s->sources), heavier);
	return 0;
}

static void name_row(const struct sums *s, uint32_t id, struct timeline_row *row)
{
	const struct profile *p = s->choice->p;
	uint32_t process = id;

	row->name = "";
	row->id = (int32_t)id;
	if (s->by == TIMELINE_CPU)
		return;
	if (s->by == TIMELINE_THREAD) {
		row->id = p->threads[id].tid;
		row->name = profile_text(p, p->threads[id].comm);
		process = p->threads[id].process;
	}
	if (process < p->process_count)
		row->pid = p->processes[process].pid;
	if (s->by == TIMELINE_PROCESS) {
		row->id = row->pid;
		if (process < p->process_count)
			row->name = profile_text(p, p->processes[process].comm);
	}
}

static void give_rows(struct sums *s, struct timeline *t)
{
	for (uint32_t i = 0; i < s->count && s->sources[i].total > 0; i++) {
		if (i >= TIMELINE_ROWS_MAX) {
			t->others_count++;
			continue;
		}
		s->row_of[s->sources[i].id] = i;
		t->rows[i].weights = t->weights + (size_t)i * t->columns;
		name_row(s, s->sources[i].id, &t->rows[i]);
		t->row_count++;
	}
	t->others = (struct timeline_row){
		.name = "", .weights = t->weights + (size_t)TIMELINE_ROWS_MAX * t->columns};
}

static void spread(const struct sums *s, struct timeline *t)
{
	const struct profile *p = s->choice->p;
	double column_ns = (double)(t->times.to_ns - t->times.from_ns) / t->columns;

	for (uint32_t i = 0; i < p->log_count; i++) {
		const struct log_entry *e = &p->log[i];
		struct timeline_row *row;
		uint64_t *weights;
		uint32_t at, column;

		if (!takes(s->choice, &t->times, e))
			continue;
		at = s->row_of[source_of(s, e)];
		row = at < TIMELINE_ROWS_MAX ? &t->rows[at] : &t->others;
		weights = t->weights + (size_t)at * t->columns;
		column = (uint32_t)((double)(e->t_ns - t->times.from_ns) / column_ns);
		/* Rounding may go one beyond. */
		weights[column < t->columns ? column : t->columns - 1] += e->weight;
		row->total += e->weight;
	}
}

int timeline_make(const struct profile *p, const struct view_query *q, enum timeline_by by,
	uint32_t columns, struct timeline *ret)
{
	AUTO(choice_done) struct choice c = {0};
	AUTO(sums_done) struct sums s = {0};
	struct timeline t = {.columns = columns};
	int r = choose(p, q, &c);

	if (r < 0)
		return r;
	t.times = times_of(&c);
	r = sums_new(&c, &t.times, by, &s);
	if (r < 0)
		return r;
	t.weights = calloc((TIMELINE_ROWS_MAX + (size_t)1) * columns, sizeof(*t.weights));
	if (!t.weights)
		return -ENOMEM;
	give_rows(&s, &t);
	spread(&s, &t);
	*ret = t;
	return 0;
}

void timeline_done(struct timeline *t)
{
	free(t->weights);
}
