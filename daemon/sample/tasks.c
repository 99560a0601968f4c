/* The task plan: events on each thread there is; what those start inherits them. */
#include "daemon/sample/capture.h"

#include <errno.h>
#include <string.h>

#include "base/map.h"

/* Listing the threads again finds those that were born before their parent had its events. */
#define PASSES_MAX 3

/* One look at the threads of a process. */
struct look {
	struct capture *c;
	struct map *threads; /* those dealt with, by number */
	unsigned pass;
	unsigned from_slot;
	unsigned opened, refused;
	int error; /* why the last one was refused */
};

static bool has_room(const struct capture *c, unsigned from_slot)
{
	unsigned slots = events_slot_count(c->events) - from_slot;

	return events_fd_count(c->events) + slots * (c->options.event_count + 1) <=
		c->options.fd_budget;
}

static int open_thread(struct look *l, pid_t tid)
{
	struct capture *c = l->c;
	uint64_t seen;
	int r;

	if (map_get(l->threads, (uint64_t)tid, &seen))
		return 0;
	r = map_set(l->threads, (uint64_t)tid, 1);
	if (r < 0)
		return r;
	r = has_room(c, l->from_slot) ? events_open_thread(c->events, tid, l->from_slot) : -EMFILE;
	if (r == -ESRCH)
		return 0;
	if (r == -EACCES || r == -EPERM) {
		l->refused++;
		l->error = r;
		return 0;
	}
	if (r < 0)
		return r;
	l->opened++;
	if (l->pass > 0 || l->from_slot > 0)
		c->late_threads = true;
	return 1;
}

/* How many threads it had that were new. */
static int open_threads(struct look *l, pid_t pid)
{
	AUTO(buf_done) struct buf tids = BUF_INIT;
	int news = 0, r = broker_list(l->c->b, pid, &tids);

	if (r == -ESRCH || r == -ENOENT)
		return 0;
	for (size_t at = 0; r >= 0 && at + sizeof(pid_t) <= tids.len; at += sizeof(pid_t)) {
		pid_t tid;

		memcpy(&tid, tids.data + at, sizeof(tid));
		r = open_thread(l, tid);
		news += r > 0;
	}
	return r < 0 ? r : news;
}

static int open_process(struct look *l, pid_t pid)
{
	int r = 1;

	for (l->pass = 0; l->pass < PASSES_MAX && r > 0; l->pass++)
		r = open_threads(l, pid);
	return r < 0 ? r : 0;
}

static int look_begin(struct capture *c, unsigned from_slot, struct look *l)
{
	*l = (struct look){.c = c, .from_slot = from_slot};
	return map_new(64, &l->threads);
}

static int look_end(struct look *l, int r)
{
	l->c->stats.task_errors += l->refused;
	map_free(l->threads);
	if (r == 0 && l->opened == 0 && l->refused > 0)
		return l->error;
	return r;
}

/* A fork that is reported has inherited all sampling events of its parent, as their sideband was
 * opened after them. If the new thread was found in a list as well, its own events would count it
 * twice. Read here and left in the rings, for the first round to hand out. */
static void drop_doubles(struct capture *c, struct ring *ring)
{
	static const struct record_layout layout = {.sampling = false};
	size_t len, skipped;
	const void *bytes;

	ring_take_head(ring);
	while ((bytes = ring_peek(ring, &len, &skipped))) {
		struct record r;

		if (record_decode(bytes, len, &layout, &r) == 0 && r.kind == RECORD_SIDEBAND &&
			r.sideband.kind == SIDEBAND_FORK)
			events_drop_thread(c->events, r.sideband.tid);
		ring_advance(ring);
	}
	ring_rewind(ring);
}

static void drop_all_doubles(struct capture *c)
{
	if (!c->late_threads)
		return;
	for (unsigned i = 0; i < events_slot_count(c->events); i++)
		drop_doubles(c, events_slot(c->events, i)->sideband);
}

int tasks_open(struct capture *c, const struct target_processes *processes)
{
	struct look l;
	int r = look_begin(c, 0, &l);

	for (size_t i = 0; i < processes->count && r == 0; i++)
		r = open_process(&l, processes->list[i].pid);
	for (size_t i = 0; i < processes->count && r == 0; i++)
		r = members_add(c->covered, processes->list[i].pid, processes->list[i].start_ticks);
	r = look_end(&l, r);
	if (r == 0)
		drop_all_doubles(c);
	return r;
}

int tasks_open_slots(struct capture *c, unsigned from_slot)
{
	AUTO(buf_done) struct buf pids = BUF_INIT;
	struct look l;
	int r = members_list(c->covered, &pids);

	if (r < 0)
		return r;
	r = look_begin(c, from_slot, &l);
	for (size_t at = 0; at < pids.len && r == 0; at += sizeof(pid_t)) {
		pid_t pid;

		memcpy(&pid, pids.data + at, sizeof(pid));
		r = open_process(&l, pid);
	}
	return look_end(&l, r);
}

int tasks_open_again(struct capture *c)
{
	int r = tasks_open_slots(c, 0);

	if (r == 0)
		drop_all_doubles(c);
	return r;
}

void tasks_adopt(struct capture *c)
{
	struct target_processes *found = &c->candidates, one = {.count = 1};
	int r = 0;

	for (size_t i = 0; i < found->count && r == 0; i++) {
		one.list = &found->list[i];
		/* Since it was found, the sideband may have told that it inherited its events. */
		if (members_has(c->covered, one.list->pid))
			continue;
		r = tasks_open(c, &one);
		if (r == 0 && c->members)
			r = members_add(c->members, one.list->pid, one.list->start_ticks);
		if (r == -EMFILE)
			c->stats.task_errors += one.list->threads;
		if (r == -EMFILE || r == -EACCES || r == -EPERM)
			r = 0;
	}
	if (found->count > 0)
		events_start(c->events);
	target_processes_done(found);
}

bool tasks_is_double(struct capture *c, struct events *e, unsigned slot, unsigned event,
	const struct sample_head *head, const struct event_source *source)
{
	struct last_sample *last = &events_slot(e, slot)->last[event], before = *last;

	if (!c->late_threads)
		return false;
	*last = (struct last_sample){head->t_ns, head->tid};
	/* Prepared once for both events, so the stamp is the same to the nanosecond. */
	if (events_is_shared(e, event)) {
		if (before.t_ns != head->t_ns || before.tid != head->tid)
			return false;
		events_drop_own(e, head->tid, head->cpu, event);
		return true;
	}
	if (!source)
		return false;
	if (source->tid != head->tid)
		events_drop_own(e, head->tid, head->cpu, event);
	return source->dropped;
}
