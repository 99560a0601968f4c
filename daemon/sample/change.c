/* Other options for a capture that runs: a rate, the kernel side, how much of a stack is copied.
 * New events take the place of the old ones. Changing those in place would not do: a clock's
 * samples would go on to bear the period that it was opened with, and what a task has passed on to
 * its children is out of reach. */
#include "daemon/sample/capture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "daemon/sample/explain.h"

void capture_retire(struct capture *c, struct events *old)
{
	uint64_t counted[EVENTS_MAX], lost;

	/* Stopped before the others start, so that no sample counts twice. The sideband of both ran
	 * for a while: up to here the old one's is good, from here on the new one's. */
	c->replanned_ns = time_mono_ns();
	events_stop(old);
	events_read_counts(old, counted, &lost);
	for (unsigned i = 0; i < EVENTS_MAX; i++)
		c->counted_before[i] += counted[i];
	c->lost_before += lost;
	for (unsigned i = 0; i < EVENTS_MAX; i++)
		events_layout(old, i, &c->previous_layouts[i]);
	c->previous = old;
	c->watched_slots = 0;
}

/* With its sideband running, so that nothing falls between the two. */
static int open_again(struct capture *c, struct buf *message)
{
	AUTO(free_auto) struct cpus *cpus = calloc(1, sizeof(*cpus));
	const char *cgroup = c->plan == CAPTURE_CGROUP ? c->target.cgroup : NULL;
	int r = cpus ? capture_read_online(c->b, cpus) : -ENOMEM;

	if (r == 0)
		r = events_new(c->b, &c->options, c->plan, cgroup, &c->events);
	if (r < 0)
		return r;
	r = events_add_cpus(c->events, cpus->list, cpus->count);
	if (r < 0) {
		explain_rings(c->b, &c->options, r, message);
		return r;
	}
	r = c->plan == CAPTURE_TASK ? tasks_open_again(c) : capture_open_slots(c);
	if (r < 0)
		explain_open(c->b, &c->options, c->plan, events_failed(c->events), r, message);
	return r;
}

int capture_change(struct capture *c, const struct capture_options *options, struct buf *message)
{
	static const struct target_spec known = {.kind = TARGET_ALL}; /* it was good at the start */
	struct capture_options before = c->options;
	struct events *old = c->events;
	int r;

	if (c->stopped || c->previous)
		return -EBUSY;
	r = explain_options(c->b, &known, options, message);
	if (r < 0)
		return r;
	c->events = NULL;
	c->options = *options;
	r = open_again(c, message);
	if (r < 0) {
		/* What there is goes on as before. */
		events_free(c->events);
		c->events = old;
		c->options = before;
		if (message->len == 0)
			buf_printf(message, "The events cannot be opened again: %s.", strerror(-r));
		return r;
	}
	c->previous_period = before.period;
	capture_retire(c, old);
	for (unsigned i = 0; i < c->options.event_count; i++)
		events_layout(c->events, i, &c->layouts[i]);
	r = events_start(c->events);
	return r < 0 ? r : capture_watch_slots(c);
}
