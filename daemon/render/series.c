#include "daemon/render/series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "daemon/render/render.h"

struct sorting {
	struct series_set *set;
	const struct profile *p;
	const struct view_query *q;
	uint32_t *process_of; /* by node of the profile */
	size_t *starts;       /* by key, and one more */
	uint32_t keys;
};

static uint32_t source_count(const struct sorting *b)
{
	return b->set->timed ? b->p->log_count : b->p->node_count;
}

static size_t cell(const struct sorting *b, uint32_t node)
{
	return (size_t)b->q->event * b->p->node_count + node;
}

static bool wanted_entry(const struct sorting *b, const struct log_entry *e)
{
	return e->event == (unsigned)b->q->event && view_query_covers(b->q, b->p, e) &&
		view_query_wants_process(b->q, b->p, b->process_of[e->node]);
}

static bool wanted(const struct sorting *b, uint32_t i)
{
	if (b->set->timed)
		return wanted_entry(b, &b->p->log[i]);
	return (b->p->self_weight[cell(b, i)] || b->p->self_samples[cell(b, i)]) &&
		view_query_wants_process(b->q, b->p, b->process_of[i]);
}

/* Which series: the last key of those by process is for samples of none. */
static uint32_t key_of(const struct sorting *b, uint32_t i)
{
	uint32_t process;

	if (b->q->by_thread)
		return b->p->log[i].thread;
	if (!b->q->by_process)
		return 0;
	process = b->process_of[b->set->timed ? b->p->log[i].node : i];
	return process == PROFILE_NO_PROCESS ? b->p->process_count : process;
}

static void sort_by_key(struct sorting *b)
{
	uint32_t sources = source_count(b);

	for (uint32_t i = 0; i < sources; i++)
		if (wanted(b, i))
			b->starts[key_of(b, i) + 1]++;
	for (uint32_t k = 0; k < b->keys; k++)
		b->starts[k + 1] += b->starts[k];
	/* Filling moves each start to its end, which is the next one's start. */
	for (uint32_t i = 0; i < sources; i++)
		if (wanted(b, i))
			b->set->order[b->starts[key_of(b, i)]++] = i;
}

static int compare_times(const void *a, const void *b, void *arg)
{
	const struct log_entry *log = arg;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;

	if (log[i].t_ns != log[k].t_ns)
		return log[i].t_ns < log[k].t_ns ? -1 : 1;
	return (i > k) - (i < k);
}

/* The log is in that order already, but for recordings whose clocks are not. */
static void sort_by_time(const struct sorting *b, const struct series *one)
{
	uint32_t *order = b->set->order + one->first;

	for (size_t i = 1; i < one->count; i++) {
		if (b->p->log[order[i - 1]].t_ns > b->p->log[order[i]].t_ns) {
			qsort_r(order, one->count, sizeof(*order), compare_times, b->p->log);
			return;
		}
	}
}

static void add_series(struct sorting *b, uint32_t key, size_t first, size_t end)
{
	struct series_set *s = b->set;
	struct series *one = &s->all[s->count++];

	*one = (struct series){.process = PROFILE_NO_PROCESS,
		.thread = SERIES_NO_THREAD,
		.first = first,
		.count = end - first};
	if (b->q->by_thread) {
		one->thread = key;
		one->process = b->p->threads[key].process;
	} else if (b->q->by_process && key < b->p->process_count) {
		one->process = key;
	}
	if (s->timed)
		sort_by_time(b, one);
	for (size_t i = first; i < end; i++)
		one->weight += series_sample(s, i).weight;
}

static int heaviest_first(const void *a, const void *b)
{
	const struct series *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return (x->first > y->first) - (x->first < y->first);
}

static int fill(struct sorting *b)
{
	struct series_set *s = b->set;
	size_t first = 0, used = 0;

	sort_by_key(b);
	for (uint32_t k = 0; k < b->keys; k++) {
		used += b->starts[k] > first;
		first = b->starts[k];
	}
	s->all = calloc(used + 1, sizeof(*s->all));
	if (!s->all)
		return -ENOMEM;
	first = 0;
	for (uint32_t k = 0; k < b->keys; k++) {
		if (b->starts[k] > first)
			add_series(b, k, first, b->starts[k]);
		first = b->starts[k];
	}
	qsort(s->all, s->count, sizeof(*s->all), heaviest_first);
	return 0;
}

/* The last node at each depth so far is the parent of what is deeper by one. */
static int find_parents(struct series_set *s)
{
	const struct view *v = s->view;

	s->parent = calloc(v->node_count + (size_t)1, sizeof(*s->parent));
	if (!s->parent)
		return -ENOMEM;
	for (uint32_t i = 1; i < v->node_count; i++) {
		uint32_t at = i - 1;

		while (v->nodes[at].depth >= v->nodes[i].depth)
			at = s->parent[at];
		s->parent[i] = at;
	}
	return 0;
}

static int prepare(struct sorting *b)
{
	const struct profile *p = b->p;

	b->keys = b->q->by_thread ? p->thread_count : b->q->by_process ? p->process_count + 1 : 1;
	b->process_of = malloc((p->node_count + (size_t)1) * sizeof(*b->process_of));
	b->starts = calloc(b->keys + (size_t)2, sizeof(*b->starts));
	b->set->order = calloc(source_count(b) + (size_t)1, sizeof(*b->set->order));
	if (!b->process_of || !b->starts || !b->set->order)
		return -ENOMEM;
	profile_find_processes(p, b->process_of);
	return 0;
}

int series_make(const struct view *v, struct series_set *s)
{
	struct sorting b = {.set = s, .p = v->profile, .q = &v->query};
	int r = 0;

	*s = (struct series_set){.view = v, .timed = view_query_needs_log(&v->query)};
	/* A profile without any event has no samples either, nor the columns to look at. */
	if (v->profile->event_count > 0)
		r = prepare(&b);
	if (r == 0 && v->profile->event_count > 0)
		r = fill(&b);
	if (r == 0)
		r = find_parents(s);
	free(b.process_of);
	free(b.starts);
	if (r < 0)
		series_done(s);
	return r;
}

void series_done(struct series_set *s)
{
	free(s->all);
	free(s->order);
	free(s->parent);
	*s = (struct series_set){0};
}

struct series_sample series_sample(const struct series_set *s, size_t i)
{
	const struct profile *p = s->view->profile;
	uint32_t at = s->order[i];

	if (s->timed) {
		const struct log_entry *e = &p->log[at];

		return (struct series_sample){e->t_ns, e->weight, s->view->place_of[e->node]};
	}
	return (struct series_sample){0,
		p->self_weight[(size_t)s->view->query.event * p->node_count + at],
		s->view->place_of[at]};
}

static void put_task(struct buf *into, const char *comm, pid_t id)
{
	buf_printf(into, "%s (%d)", *comm ? comm : "[unknown]", (int)id);
}

void series_name(const struct series_set *s, const struct series *one, struct buf *into)
{
	const struct profile *p = s->view->profile;

	if (one->process == PROFILE_NO_PROCESS)
		buf_append_str(into,
			s->view->query.by_process && !s->view->query.by_thread
				? "[no process]"
				: profile_text(p, p->meta.target));
	if (one->process != PROFILE_NO_PROCESS &&
		(one->thread == SERIES_NO_THREAD || p->process_count > 1))
		put_task(into, profile_text(p, p->processes[one->process].comm),
			p->processes[one->process].pid);
	if (one->thread == SERIES_NO_THREAD)
		return;
	if (p->process_count > 1)
		buf_append_str(into, ": ");
	put_task(into, profile_text(p, p->threads[one->thread].comm), p->threads[one->thread].tid);
}

static double seconds(const struct profile *p, uint64_t t_ns)
{
	return t_ns > p->meta.started_ns ? (double)(t_ns - p->meta.started_ns) / 1e9 : 0;
}

void series_title(const struct view *v, struct buf *into)
{
	const struct profile *p = v->profile;

	if (p->meta.name)
		buf_printf(into, "%s: ", profile_text(p, p->meta.name));
	buf_printf(into, "%s, ", profile_text(p, p->meta.target));
	render_ledger_line(p, into);
	if (view_query_needs_log(&v->query))
		buf_printf(into, " · seconds %.3f to %.3f of %.3f", seconds(p, v->covers_from_ns),
			seconds(p, v->covers_to_ns), seconds(p, p->meta.taken_ns));
}
