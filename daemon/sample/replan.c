/* From events on the tasks of a target to CPU-wide ones.
 *
 * A clock event that a task inherits begins with a whole period before it: a process that lives for
 * less is never seen, and of the others the last part of a period is missing. For a build or a
 * shell script that is most of the time. The clock of a CPU-wide event runs on from one process to
 * the next. */
#include "daemon/sample/capture.h"

#include <errno.h>

#include "base/cleanup.h"

/* Births a second that matter: each costs half a period on average. */
#define MANY_BIRTHS 16

static bool has_clocks_alone(const struct capture_options *o)
{
	for (unsigned i = 0; i < o->event_count; i++)
		if (!o->events[i].is_clock)
			return false;
	return true;
}

static bool is_unfair(const struct capture *c)
{
	return c->plan == CAPTURE_TASK && c->target.kind == TARGET_PIDS && !c->stays &&
		c->births >= MANY_BIRTHS && c->options.allow_cpu_wide &&
		has_clocks_alone(&c->options) && !c->previous && !c->gone;
}

/* With its sideband running, so that no birth falls between the two. */
static int open_cpu_wide(struct capture *c)
{
	AUTO(free_auto) struct cpus *cpus = calloc(1, sizeof(*cpus));
	int r = cpus ? capture_read_online(c->b, cpus) : -ENOMEM;

	if (r == 0)
		r = events_new(c->b, &c->options, CAPTURE_CPU, NULL, &c->events);
	if (r == 0)
		r = events_add_cpus(c->events, cpus->list, cpus->count);
	return r < 0 ? r : capture_open_slots(c);
}

/* The descendants that the task plan knows of are the members now. */
static void change_members(struct capture *c)
{
	members_free(c->members);
	c->members = MOVE(c->covered);
	members_go_on(c->members, c->target.only_uid, true);
	c->late_threads = false;
}

int replan(struct capture *c)
{
	bool unfair = is_unfair(c);
	struct events *old = c->events;
	int r;

	c->births = 0;
	if (!unfair)
		return 0;
	c->events = NULL;
	r = open_cpu_wide(c);
	if (r < 0) {
		/* What there is goes on as before. */
		events_free(c->events);
		c->events = old;
		c->stays = true;
		return r;
	}
	c->previous_period = c->options.period;
	capture_retire(c, old);
	c->plan = CAPTURE_CPU;
	change_members(c);
	r = events_start(c->events);
	return r < 0 ? r : capture_watch_slots(c);
}
