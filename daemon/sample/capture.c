/* Opens a capture, looks after it, and ends it. */
#include "daemon/sample/capture.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/parse.h"
#include "daemon/sample/explain.h"

static int add_cpu(unsigned cpu, void *arg)
{
	struct cpus *cpus = arg;

	if (cpus->count == CPUS_MAX)
		return -E2BIG;
	cpus->list[cpus->count++] = cpu;
	return 0;
}

int capture_read_online(struct broker *b, struct cpus *cpus)
{
	AUTO(buf_done) struct buf text = BUF_INIT;
	AUTO(close_auto) int fd = -1;
	int r = broker_open_host(b, BROKER_HOST_CPUS_ONLINE, &fd);

	cpus->count = 0;
	if (r == 0)
		r = io_read_fd(fd, 64 << 10, &text);
	return r < 0 ? r : parse_cpu_list(text.data ? text.data : "", add_cpu, cpus);
}

int capture_open_slots(struct capture *c)
{
	unsigned opened = 0;
	int r = -ENODEV;

	for (unsigned i = 0; i < events_slot_count(c->events); i++) {
		r = events_open_slot(c->events, i);
		if (r < 0 && r != -ENODEV)
			return r;
		opened += r == 0;
	}
	return opened > 0 ? 0 : r;
}

static int open_events(struct capture *c, const struct cpus *cpus, struct buf *message)
{
	const char *cgroup = c->plan == CAPTURE_CGROUP ? c->target.cgroup : NULL;
	int r = events_new(c->b, &c->options, c->plan, cgroup, &c->events);

	if (r == 0) {
		r = events_add_cpus(c->events, cpus->list, cpus->count);
		if (r < 0) {
			explain_rings(c->b, &c->options, r, message);
			return r;
		}
		r = c->plan == CAPTURE_TASK ? tasks_open(c, &c->processes) : capture_open_slots(c);
	}
	if (r < 0)
		explain_open(c->b, &c->options, c->plan,
			c->events ? events_failed(c->events) : EVENTS_MAX, r, message);
	return r;
}

/* Who of those that the events see belongs to the target. */
static int make_members(struct capture *c)
{
	bool by_name = c->target.kind == TARGET_COMMAND;
	bool by_pid = c->target.kind == TARGET_PIDS && c->plan == CAPTURE_CPU;
	enum members_rule rule = by_name ? MEMBERS_NAME : by_pid ? MEMBERS_TREE : MEMBERS_ALL;
	int r = 0;

	members_free(MOVE(c->members));
	members_free(MOVE(c->covered));
	if (rule != MEMBERS_ALL || c->target.only_uid != (uid_t)-1)
		r = members_new(c->b, rule, c->target.command, c->target.only_uid,
			c->plan == CAPTURE_CPU, &c->members);
	if (r == 0 && c->plan == CAPTURE_TASK)
		r = members_new(c->b, MEMBERS_TREE, NULL, (uid_t)-1, false, &c->covered);
	return r;
}

/* The sideband runs: what happens to these processes from here on will be told. */
static int add_members(struct capture *c, struct buf *message)
{
	int r = 0;

	if (c->target.kind == TARGET_PIDS)
		r = target_processes_pin(c->b, &c->processes, message);
	if (c->target.kind == TARGET_COMMAND && c->plan == CAPTURE_CPU) {
		/* Those that came by the name between the first look and the events are there now.
		 */
		target_processes_done(&c->processes);
		r = target_resolve(c->b, &c->target, &c->processes, message);
	}
	for (size_t i = 0; i < c->processes.count && c->members && r == 0; i++)
		r = members_add(
			c->members, c->processes.list[i].pid, c->processes.list[i].start_ticks);
	return r;
}

static int cgroup_inode(struct capture *c, uint64_t *ret_inode)
{
	AUTO(close_auto) int fd = -1;
	struct stat st;
	int r = broker_open_cgroup(c->b, c->target.cgroup, BROKER_CGROUP_DIR, &fd);

	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0)
		return -errno;
	*ret_inode = st.st_ino;
	return 0;
}

static int open_plan(struct capture *c, const struct cpus *cpus, struct buf *message)
{
	int r = make_members(c);

	if (r == 0)
		r = open_events(c, cpus, message);
	if (r == 0)
		r = add_members(c, message);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < c->options.event_count; i++)
		events_layout(c->events, i, &c->layouts[i]);
	return events_start(c->events);
}

static int open_target(struct capture *c, const struct target_spec *target, struct buf *message)
{
	AUTO(free_auto) struct cpus *cpus = calloc(1, sizeof(*cpus));
	int r;

	if (!cpus)
		return -ENOMEM;
	r = target_resolve(c->b, target, &c->processes, message);
	if (r == 0 && target->kind == TARGET_CGROUP)
		r = cgroup_inode(c, &c->cgroup_inode);
	if (r == 0)
		r = capture_read_online(c->b, cpus);
	if (r == 0)
		r = target_plan(target, &c->options, &c->processes, cpus->count, &c->plan, message);
	if (r == 0)
		r = open_plan(c, cpus, message);
	/* More threads than there seemed to be, or others took the descriptors. */
	if (r == -EMFILE && c->events && c->plan == CAPTURE_TASK && c->options.allow_cpu_wide) {
		buf_clear(message);
		events_free(MOVE(c->events));
		c->plan = target->kind == TARGET_CGROUP ? CAPTURE_CGROUP : CAPTURE_CPU;
		r = open_plan(c, cpus, message);
	}
	return r;
}

int capture_new(struct broker *b, const struct target_spec *target,
	const struct capture_options *options, struct capture **ret_capture, struct buf *message)
{
	AUTO(capture_free_auto) struct capture *c = NULL;
	int r = explain_options(b, target, options, message);

	if (r < 0)
		return r;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->b = b;
	c->target = *target;
	c->target.pids = NULL;
	c->target.pid_count = 0;
	c->options = *options;
	c->epoll_fd = -1;
	r = merge_new(&c->merge);
	if (r == 0)
		r = open_target(c, target, message);
	if (r == 0)
		*ret_capture = MOVE(c);
	else if (message->len == 0)
		buf_printf(message, "The target cannot be sampled: %s.", strerror(-r));
	return r;
}

void capture_free(struct capture *c)
{
	if (!c)
		return;
	events_free(c->events);
	events_free(c->previous);
	merge_free(c->merge);
	members_free(c->members);
	members_free(c->covered);
	target_processes_done(&c->processes);
	target_processes_done(&c->candidates);
	free(c);
}

int capture_watch_slots(struct capture *c)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = c->epoll_data};

	for (; c->epoll_fd >= 0 && c->watched_slots < events_slot_count(c->events);
		c->watched_slots++) {
		const struct slot *slot = events_slot(c->events, c->watched_slots);

		for (unsigned i = 0; i <= EVENTS_MAX; i++)
			if (slot->anchors[i] >= 0 &&
				epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, slot->anchors[i], &event) < 0)
				return -errno;
	}
	return 0;
}

int capture_watch(struct capture *c, int epoll_fd, void *data)
{
	c->epoll_fd = epoll_fd;
	c->epoll_data = data;
	return capture_watch_slots(c);
}

void capture_read_counts(struct capture *c)
{
	events_read_counts(c->events, c->stats.counted, &c->lost_counted);
	c->lost_counted += c->lost_before;
	for (unsigned i = 0; i < c->options.event_count; i++)
		c->stats.counted[i] += c->counted_before[i];
}

void capture_stop(struct capture *c)
{
	if (c->stopped)
		return;
	c->stopped = true;
	events_stop(c->events);
	capture_read_counts(c);
	c->epoll_fd = -1;
}

static int refresh_cpu(struct capture *c, unsigned cpu)
{
	int r, slot = events_slot_of(c->events, cpu);
	bool is_new = slot < 0;

	if (is_new) {
		r = events_add_cpus(c->events, &cpu, 1);
		if (r < 0)
			return r;
		slot = events_slot_of(c->events, cpu);
	}
	if (c->plan == CAPTURE_TASK)
		r = is_new ? tasks_open_slots(c, (unsigned)slot) : 0;
	else
		r = events_slot(c->events, (unsigned)slot)->open
			? 0
			: events_open_slot(c->events, (unsigned)slot);
	if (r < 0)
		return r == -ENODEV ? 0 : r;
	r = events_start(c->events);
	return r < 0 ? r : capture_watch_slots(c);
}

/* A CPU's events stay off when it comes back: they are closed, and opened again once it is online.
 * Those of a task go with the task, and need this only on CPUs that were never there before. */
static int refresh_cpus(struct capture *c)
{
	AUTO(free_auto) struct cpus *cpus = calloc(1, sizeof(*cpus));
	int r;

	if (!cpus)
		return -ENOMEM;
	for (unsigned i = 0; c->plan != CAPTURE_TASK && i < events_slot_count(c->events); i++)
		if (events_slot(c->events, i)->open && !events_slot_lives(c->events, i))
			events_close_slot(c->events, i);
	r = capture_read_online(c->b, cpus);
	for (unsigned i = 0; i < cpus->count && r == 0; i++)
		r = refresh_cpu(c, cpus->list[i]);
	return r;
}

static void refresh_gone(struct capture *c)
{
	uint64_t inode = 0;
	int r;

	switch (c->target.kind) {
	case TARGET_ALL:
	case TARGET_COMMAND: break;
	case TARGET_PIDS:
		c->gone = c->gone || target_processes_are_gone(c->b, &c->processes);
		break;
	case TARGET_CGROUP:
		r = cgroup_inode(c, &inode);
		/* One made anew under the same path is another. */
		if (r == -ENOENT || (r == 0 && inode != c->cgroup_inode))
			c->gone = true;
		break;
	}
}

/* Events on tasks do not see who joins later. Found here, opened after the next round, when the
 * sideband has told which of these inherited their events anyway. */
static int find_candidates(struct capture *c)
{
	AUTO(buf_done) struct buf message = BUF_INIT;

	if (c->plan != CAPTURE_TASK || c->target.kind == TARGET_PIDS || c->gone)
		return 0;
	target_processes_done(&c->candidates);
	return target_resolve(c->b, &c->target, &c->candidates, &message);
}

static int refresh_members(struct capture *c)
{
	uint64_t lost = c->stats.sideband_lost;
	int r = 0;

	for (unsigned i = 0; i < 2 && r == 0; i++) {
		struct members *m = i == 0 ? c->members : c->covered;

		if (!m)
			continue;
		members_prune(m);
		if (lost != c->rescanned_at)
			r = members_rescan(m);
	}
	if (r == 0)
		c->rescanned_at = lost;
	return r;
}

int capture_refresh(struct capture *c)
{
	int r, first = 0;

	if (c->stopped)
		return 0;
	refresh_gone(c);
	if (c->read_since_reap)
		events_reap(c->events);
	c->read_since_reap = false;
	r = refresh_members(c);
	first = r < 0 ? r : first;
	r = refresh_cpus(c);
	first = r < 0 && first == 0 ? r : first;
	r = find_candidates(c);
	first = r < 0 && first == 0 ? r : first;
	r = replan(c);
	first = r < 0 && first == 0 ? r : first;
	capture_read_counts(c);
	return first;
}

bool capture_target_gone(const struct capture *c)
{
	return c->gone;
}

static void add_peak(const struct ring *r, double *peak)
{
	double share = (double)ring_peak(r) / (double)ring_bytes(r);

	if (share > *peak)
		*peak = share;
}

double capture_peak(struct events *e)
{
	double peak = 0;

	for (unsigned i = 0; i < events_slot_count(e); i++) {
		const struct slot *slot = events_slot(e, i);

		for (unsigned k = 0; k < events_ring_count(e); k++)
			add_peak(slot->samples[k], &peak);
		add_peak(slot->sideband, &peak);
	}
	return peak;
}

void capture_get_stats(struct capture *c, struct capture_stats *ret_stats)
{
	struct capture_stats *s = ret_stats;

	*s = c->stats;
	s->plan = c->plan;
	s->fds = events_fd_count(c->events);
	for (size_t i = 0; i < c->processes.count; i++)
		s->fds += c->processes.list[i].pidfd >= 0;
	s->cpus = events_slot_count(c->events);
	s->rings = events_slot_count(c->events) * (events_ring_count(c->events) + 1);
	s->ring_bytes = events_granted_bytes(c->events);
	s->ring_bytes_all = events_all_bytes(c->events);
	/* A loss is told by a record once there is room for one, by the count at once. */
	s->lost = c->lost_records > c->lost_counted ? c->lost_records : c->lost_counted;
	s->lost += c->lost_by_hardware;
	s->ring_peak = capture_peak(c->events);
	if (c->peak_before > s->ring_peak)
		s->ring_peak = c->peak_before;
}
