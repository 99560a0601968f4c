#include "daemon/sample/events.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#include "base/io.h"
#include "base/map.h"

#define SIDEBAND_EVENT     EVENTS_MAX
#define RING_BYTES_FLOOR   ((size_t)256 << 10)
#define RING_BYTES_CAP     ((size_t)8 << 20)
#define LOST_RECORD_MAX    ((size_t)80)       /* header, id, count; when and of whom */
#define CPU_BYTES_CAP      ((size_t)16 << 20) /* of all sample rings of a CPU */
#define SIDEBAND_BYTES     ((size_t)128 << 10)
#define SIDEBAND_BYTES_CPU ((size_t)512 << 10) /* of all that happens on the CPU */
#define SIDEBAND_BYTES_MIN ((size_t)32 << 10)
/* Of events that come by count, as many as one may expect to be of use. */
#define COUNTED_RATE_HZ 1000

/* One descriptor. Closed ones (fd -1, their counts are in the totals) keep their id for a while, as
 * there may be samples of theirs in the rings; then they are free for another. */
struct event_fd {
	struct event_source source; /* event SIDEBAND_EVENT: the sideband */
	uint64_t id;
	int fd;
	unsigned slot;
	bool started;
	bool free;
};

/* ids leads from the kernel's id, own from (thread, slot, event), to an index into fds. */
struct events {
	struct broker *b;
	const struct capture_options *options;
	enum capture_plan plan;
	const char *cgroup;

	struct perf_event_attr attrs[EVENTS_MAX + 1];
	bool lost_format; /* the kernel can count what was lost, by event */
	size_t ring_bytes, sideband_bytes;
	unsigned ring_count, ring_of[EVENTS_MAX];
	int sole[EVENTS_MAX]; /* by ring */
	unsigned failed;

	struct slot *slots;
	unsigned slot_count;
	struct event_fd *fds;
	size_t fd_count, fd_cap;
	size_t free_from; /* none before is free */
	unsigned open_count;
	struct map *ids, *own;

	uint64_t closed_counts[EVENTS_MAX], closed_lost;
};

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t power_of_two(size_t at_least)
{
	size_t size = 1;

	while (size < at_least)
		size <<= 1;
	return size;
}

static bool is_shared(const struct event_spec *event)
{
	return !event->is_clock && !event->hardware;
}

/* Gives each event its ring; returns how many there are. */
static unsigned share_out(
	const struct capture_options *o, unsigned ring_of[EVENTS_MAX], int sole[EVENTS_MAX])
{
	unsigned rings = 0, common = EVENTS_MAX;

	for (unsigned i = 0; i < o->event_count; i++) {
		bool own = is_shared(&o->events[i]) || common == EVENTS_MAX;

		ring_of[i] = own ? rings++ : common;
		sole[ring_of[i]] = own ? (int)i : -1;
		if (!is_shared(&o->events[i]))
			common = ring_of[i];
	}
	return rings;
}

static size_t largest_record(const struct capture_options *o)
{
	uint32_t stack_bytes = o->stack_bytes;

	for (unsigned i = 0; i < o->event_count; i++)
		if (o->events[i].deep)
			stack_bytes = STACK_BYTES_MAX;
	return record_sample_max(o->stack, stack_bytes, 0);
}

/* A ring that lost something takes a record again only together with the one that says so. */
static size_t least_bytes(const struct capture_options *o)
{
	return power_of_two(largest_record(o) + LOST_RECORD_MAX);
}

/* For a second of all events of the fullest ring: under load the reader may lose its turn for long.
 */
static size_t bytes_by_rate(const struct capture_options *o, size_t record)
{
	unsigned ring_of[EVENTS_MAX], rings, clocks = 0;
	uint64_t rate = o->freq_hz ? o->freq_hz : COUNTED_RATE_HZ, second;
	int sole[EVENTS_MAX];
	size_t bytes, deep = 0;

	rings = share_out(o, ring_of, sole);
	for (unsigned i = 0; i < o->event_count; i++) {
		if (o->events[i].deep)
			deep = rate / DEEP_EVERY * largest_record(o);
		else
			clocks += !is_shared(&o->events[i]);
	}
	second = rate * (clocks ? clocks : 1) * record + deep;
	bytes = second > RING_BYTES_CAP ? RING_BYTES_CAP : power_of_two(second);
	while (bytes > RING_BYTES_FLOOR && rings > 1 && bytes * rings > CPU_BYTES_CAP)
		bytes /= 2;
	return bytes < RING_BYTES_FLOOR ? RING_BYTES_FLOOR : bytes;
}

int events_ring_bytes(const struct capture_options *options, size_t *ret_bytes)
{
	size_t record = record_sample_max(options->stack, options->stack_bytes, 0);
	size_t bytes = options->ring_bytes ? options->ring_bytes : bytes_by_rate(options, record);

	if (bytes < page_bytes() || (bytes & (bytes - 1)) != 0)
		return -EINVAL;
	if (bytes < largest_record(options))
		return -EMSGSIZE;
	if (bytes < least_bytes(options))
		bytes = least_bytes(options);
	*ret_bytes = bytes;
	return 0;
}

static void make_attrs(struct events *e)
{
	const struct capture_options *o = e->options;
	struct attr_options options = {
		.freq_hz = o->freq_hz,
		.period = o->period,
		.kernel = o->kernel,
		.stack = o->stack,
		.stack_bytes = o->stack_bytes,
		.chain = o->chain,
		.cpu_wide = e->plan == CAPTURE_CPU,
		.inherit = e->plan == CAPTURE_TASK,
		.wakeup_bytes = UINT32_MAX, /* the anchor's is the ring's */
	};

	for (unsigned i = 0; i < o->event_count; i++) {
		struct attr_options of_event = options;

		if (o->events[i].deep) {
			of_event.freq_hz = (o->freq_hz + DEEP_EVERY - 1) / DEEP_EVERY;
			of_event.period = o->period * DEEP_EVERY;
			of_event.stack_bytes = STACK_BYTES_MAX;
			of_event.chain = false;
		}
		attr_for_sampling(&e->attrs[i], &o->events[i], &of_event);
	}
	attr_for_sideband(&e->attrs[SIDEBAND_EVENT], options.inherit, UINT32_MAX);
}

int events_new(struct broker *b, const struct capture_options *options, enum capture_plan plan,
	const char *cgroup, struct events **ret_events)
{
	AUTO(events_free_auto) struct events *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return -ENOMEM;
	e->b = b;
	e->options = options;
	e->plan = plan;
	e->cgroup = cgroup;
	e->lost_format = true;
	r = events_ring_bytes(options, &e->ring_bytes);
	if (r == 0)
		r = map_new(64, &e->ids);
	if (r == 0)
		r = map_new(64, &e->own);
	if (r < 0)
		return r;
	e->ring_count = share_out(options, e->ring_of, e->sole);
	e->sideband_bytes = plan == CAPTURE_CPU ? SIDEBAND_BYTES_CPU : SIDEBAND_BYTES;
	make_attrs(e);
	*ret_events = MOVE(e);
	return 0;
}

static void close_fd(struct events *e, int *fd)
{
	if (*fd < 0)
		return;
	close(MOVE_FD(*fd));
	e->open_count--;
}

static void close_anchors(struct events *e, struct slot *s)
{
	for (unsigned i = 0; i <= EVENTS_MAX; i++)
		close_fd(e, &s->anchors[i]);
}

static void slot_unmap(struct events *e, struct slot *s)
{
	for (unsigned i = 0; i < EVENTS_MAX; i++)
		ring_free(MOVE(s->samples[i]));
	ring_free(MOVE(s->sideband));
	close_anchors(e, s);
}

static void slot_init(struct slot *s, unsigned cpu)
{
	*s = (struct slot){.cpu = cpu, .sentinel = -1};
	for (unsigned i = 0; i <= EVENTS_MAX; i++)
		s->anchors[i] = -1;
}

void events_free(struct events *e)
{
	if (!e)
		return;
	for (size_t i = 0; i < e->fd_count; i++)
		close_fd(e, &e->fds[i].fd);
	for (unsigned i = 0; i < e->slot_count; i++) {
		close_fd(e, &e->slots[i].sentinel);
		slot_unmap(e, &e->slots[i]);
	}
	free(e->slots);
	free(e->fds);
	map_free(e->ids);
	map_free(e->own);
	free(e);
}

static int map_ring(
	struct events *e, unsigned cpu, size_t bytes, int *ret_fd, struct ring **ret_ring)
{
	struct perf_event_attr attr;
	int r;

	/* A quarter: what is left is room for as long again as it took, three times. */
	attr_for_anchor(&attr, (uint32_t)(bytes / 4));
	r = broker_perf_open(e->b, &attr, 0, (int)cpu, NULL, ret_fd);
	if (r < 0) {
		*ret_fd = -1;
		e->failed = SIDEBAND_EVENT;
		return r;
	}
	e->open_count++;
	return ring_new(*ret_fd, bytes, ret_ring);
}

/* The anchors decide at their opening when to wake us, so other sizes need other anchors. */
static int map_slots(struct events *e, struct slot *slots, unsigned count)
{
	int r = 0;

	for (unsigned i = 0; i < count && r == 0; i++) {
		struct slot *s = &slots[i];

		for (unsigned k = 0; k < e->ring_count && r == 0; k++)
			r = map_ring(e, s->cpu, e->ring_bytes, &s->anchors[k], &s->samples[k]);
		if (r == 0)
			r = map_ring(e, s->cpu, e->sideband_bytes, &s->anchors[SIDEBAND_EVENT],
				&s->sideband);
	}
	for (unsigned i = 0; i < count && r < 0; i++)
		slot_unmap(e, &slots[i]);
	return r;
}

/* False: no smaller ones make sense. */
static bool halve(struct events *e)
{
	size_t least = least_bytes(e->options);
	size_t floor = least > RING_BYTES_MIN ? least : RING_BYTES_MIN;

	if (e->ring_bytes <= floor && e->sideband_bytes <= SIDEBAND_BYTES_MIN)
		return false;
	if (e->ring_bytes > floor)
		e->ring_bytes /= 2;
	if (e->sideband_bytes > SIDEBAND_BYTES_MIN)
		e->sideband_bytes /= 2;
	return true;
}

static size_t wanted_bytes(const struct events *e, unsigned slots)
{
	return slots * (e->ring_count * e->ring_bytes + e->sideband_bytes);
}

int events_add_cpus(struct events *e, const unsigned *cpus, unsigned count)
{
	struct slot *slots = reallocarray(e->slots, e->slot_count + count, sizeof(*slots));
	int r;

	if (!slots)
		return -ENOMEM;
	e->slots = slots;
	slots += e->slot_count;
	for (unsigned i = 0; i < count; i++)
		slot_init(&slots[i], cpus[i]);
	while (wanted_bytes(e, e->slot_count + count) > e->options->ring_bytes_all &&
		e->options->ring_bytes_all && halve(e))
		;
	do {
		r = map_slots(e, slots, count);
	} while (r == -EPERM && halve(e));
	if (r == 0)
		e->slot_count += count;
	return r;
}

static int event_id(int fd, uint64_t *ret_id)
{
	return ioctl(fd, PERF_EVENT_IOC_ID, ret_id) < 0 ? -errno : 0;
}

static int redirect(const struct events *e, const struct slot *s, int fd, unsigned event)
{
	unsigned ring = event == SIDEBAND_EVENT ? SIDEBAND_EVENT : e->ring_of[event];

	return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, s->anchors[ring]) < 0 ? -errno : 0;
}

static uint64_t own_key(pid_t tid, unsigned slot, unsigned event)
{
	return (uint64_t)(uint32_t)tid << 32 | (uint64_t)slot << 8 | event;
}

/* An index into fds for one more. */
static int entry_new(struct events *e, size_t *ret_index)
{
	struct event_fd *fds;
	size_t cap;

	while (e->free_from < e->fd_count && !e->fds[e->free_from].free)
		e->free_from++;
	if (e->free_from == e->fd_cap) {
		cap = e->fd_cap ? e->fd_cap * 2 : 16;
		fds = reallocarray(e->fds, cap, sizeof(*fds));
		if (!fds)
			return -ENOMEM;
		e->fds = fds;
		e->fd_cap = cap;
	}
	*ret_index = e->free_from;
	return 0;
}

/* Kernels before 6.0 do not know PERF_FORMAT_LOST. */
static bool drop_lost_format(struct events *e)
{
	if (!e->lost_format)
		return false;
	e->lost_format = false;
	for (unsigned i = 0; i < e->options->event_count; i++)
		e->attrs[i].read_format &= ~(uint64_t)PERF_FORMAT_LOST;
	return true;
}

static int open_perf(struct events *e, unsigned event, pid_t tid, unsigned cpu, int *ret_fd)
{
	bool in_cgroup = e->plan == CAPTURE_CGROUP;
	pid_t pid = tid ? tid : -1;
	int r;

	do {
		r = broker_perf_open(e->b, &e->attrs[event], pid, (int)cpu,
			in_cgroup ? e->cgroup : NULL, ret_fd);
	} while (r == -EINVAL && event != SIDEBAND_EVENT && drop_lost_format(e));
	if (r < 0)
		e->failed = event;
	return r;
}

static int start(struct event_fd *f)
{
	if (f->fd < 0 || f->started)
		return 0;
	if (ioctl(f->fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		return -errno;
	f->started = true;
	return 0;
}

static int open_event(struct events *e, unsigned slot, pid_t tid, unsigned event)
{
	struct event_fd entry = {.source = {.tid = tid, .event = event}, .fd = -1, .slot = slot};
	struct slot *s = &e->slots[slot];
	size_t index;
	int r = entry_new(e, &index);

	if (r < 0)
		return r;
	r = open_perf(e, event, tid, s->cpu, &entry.fd);
	if (r < 0)
		return r;
	e->open_count++;
	r = redirect(e, s, entry.fd, event);
	if (r == 0)
		r = event_id(entry.fd, &entry.id);
	if (r == 0)
		r = map_set(e->ids, entry.id, index);
	if (r == 0 && tid)
		r = map_set(e->own, own_key(tid, slot, event), index);
	if (r == 0 && event == SIDEBAND_EVENT)
		r = start(&entry);
	if (r < 0) {
		map_remove(e->ids, entry.id, NULL);
		close_fd(e, &entry.fd);
		return r;
	}
	e->fds[index] = entry;
	if (index == e->fd_count)
		e->fd_count++;
	return 0;
}

/* A dummy on the CPU, always on: its time stands still once the CPU has been away. */
static int open_sentinel(struct events *e, struct slot *s)
{
	struct perf_event_attr attr;
	int r;

	attr_for_anchor(&attr, UINT32_MAX);
	attr.disabled = 0;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED;
	r = broker_perf_open(e->b, &attr, -1, (int)s->cpu, NULL, &s->sentinel);
	if (r < 0) {
		s->sentinel = -1;
		e->failed = SIDEBAND_EVENT;
		return r;
	}
	e->open_count++;
	s->sentinel_ns = 0;
	return 0;
}

int events_open_slot(struct events *e, unsigned slot)
{
	struct slot *s = &e->slots[slot];
	int r = open_sentinel(e, s);

	s->open = true;
	for (unsigned i = 0; i < e->options->event_count && r == 0; i++)
		r = open_event(e, slot, 0, i);
	if (r == 0)
		r = open_event(e, slot, 0, SIDEBAND_EVENT);
	if (r < 0)
		events_close_slot(e, slot);
	return r;
}

static bool read_counts(const struct events *e, int fd, uint64_t *ret_count, uint64_t *ret_lost)
{
	uint64_t values[3] = {0}; /* value, id, lost */
	size_t want = e->lost_format ? sizeof(values) : 2 * sizeof(values[0]);

	if (read(fd, values, sizeof(values)) < (ssize_t)want)
		return false;
	*ret_count = values[0];
	*ret_lost = values[2];
	return true;
}

/* What it counted goes into the totals. */
static void end_event(struct events *e, size_t index)
{
	struct event_fd *f = &e->fds[index];
	uint64_t count, lost, own;

	if (f->fd < 0)
		return;
	if (f->source.event != SIDEBAND_EVENT) {
		ioctl(f->fd, PERF_EVENT_IOC_DISABLE, 0);
		if (read_counts(e, f->fd, &count, &lost)) {
			e->closed_counts[f->source.event] += count;
			e->closed_lost += lost;
		}
	}
	close_fd(e, &f->fd);
	if (f->source.tid &&
		map_get(e->own, own_key(f->source.tid, f->slot, f->source.event), &own) &&
		own == index)
		map_remove(e->own, own_key(f->source.tid, f->slot, f->source.event), NULL);
}

static void free_closed(struct events *e)
{
	for (size_t i = 0; i < e->fd_count; i++) {
		struct event_fd *f = &e->fds[i];

		if (f->fd >= 0 || f->free)
			continue;
		map_remove(e->ids, f->id, NULL);
		f->free = true;
		if (i < e->free_from)
			e->free_from = i;
	}
}

#define POLL_BATCH 256

/* The kernel reports a hang-up once the thread and all that inherited its event are gone. */
static void end_hung_up(struct events *e, size_t from, size_t to)
{
	struct pollfd polls[POLL_BATCH];

	for (size_t i = from; i < to; i++)
		polls[i - from] = (struct pollfd){.fd = e->fds[i].source.tid ? e->fds[i].fd : -1};
	if (poll(polls, to - from, 0) <= 0)
		return;
	for (size_t i = from; i < to; i++)
		if (polls[i - from].fd >= 0 && (polls[i - from].revents & POLLHUP))
			end_event(e, i);
}

void events_reap(struct events *e)
{
	free_closed(e);
	if (e->plan != CAPTURE_TASK)
		return;
	for (size_t i = 0; i < e->fd_count; i += POLL_BATCH)
		end_hung_up(e, i, i + POLL_BATCH < e->fd_count ? i + POLL_BATCH : e->fd_count);
}

void events_close_slot(struct events *e, unsigned slot)
{
	struct slot *s = &e->slots[slot];

	for (size_t i = 0; i < e->fd_count; i++)
		if (e->fds[i].slot == slot)
			end_event(e, i);
	close_fd(e, &s->sentinel);
	s->open = false;
}

bool events_slot_lives(struct events *e, unsigned slot)
{
	struct slot *s = &e->slots[slot];
	uint64_t values[2]; /* the count, the time enabled */

	if (!s->open || read(s->sentinel, values, sizeof(values)) != sizeof(values) ||
		values[1] <= s->sentinel_ns)
		return false;
	s->sentinel_ns = values[1];
	return true;
}

int events_open_thread(struct events *e, pid_t tid, unsigned from_slot)
{
	int r = 0;

	/* The sideband last: a fork that it reports has inherited the sampling events of all CPUs.
	 */
	for (unsigned slot = from_slot; slot < e->slot_count && r == 0; slot++)
		for (unsigned i = 0; i < e->options->event_count && r == 0; i++)
			r = open_event(e, slot, tid, i);
	for (unsigned slot = from_slot; slot < e->slot_count && r == 0; slot++)
		r = open_event(e, slot, tid, SIDEBAND_EVENT);
	return r;
}

int events_start(struct events *e)
{
	int r = 0;

	for (size_t i = 0; i < e->fd_count && r == 0; i++)
		r = start(&e->fds[i]);
	return r;
}

/* A CPU that was interrupted by the disabling, after it had counted an occurrence and before it had
 * written the sample, finishes that first; with the event closed the sample would go nowhere, and
 * be missed. */
static void let_writers_finish(void)
{
	struct timespec pause = {.tv_nsec = 2000000};

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, &pause) == EINTR)
		;
}

void events_stop(struct events *e)
{
	for (size_t i = 0; i < e->fd_count; i++)
		if (e->fds[i].fd >= 0 && e->fds[i].source.event != SIDEBAND_EVENT)
			ioctl(e->fds[i].fd, PERF_EVENT_IOC_DISABLE, 0);
	let_writers_finish();
	for (size_t i = 0; i < e->fd_count; i++)
		end_event(e, i);
	for (unsigned i = 0; i < e->slot_count; i++) {
		close_fd(e, &e->slots[i].sentinel);
		close_anchors(e, &e->slots[i]);
		e->slots[i].open = false;
	}
}

const struct event_source *events_find(const struct events *e, uint64_t id)
{
	uint64_t index;

	if (!map_get(e->ids, id, &index) || e->fds[index].source.event == SIDEBAND_EVENT)
		return NULL;
	return &e->fds[index].source;
}

bool events_drop_own(struct events *e, pid_t tid, unsigned cpu, unsigned event)
{
	int slot = events_slot_of(e, cpu);
	uint64_t index;

	if (slot < 0 || !map_get(e->own, own_key(tid, (unsigned)slot, event), &index))
		return false;
	e->fds[index].source.dropped = true;
	end_event(e, index);
	return true;
}

void events_drop_thread(struct events *e, pid_t tid)
{
	uint64_t index;

	for (unsigned slot = 0; slot < e->slot_count; slot++)
		for (unsigned i = 0; i < e->options->event_count; i++)
			if (map_get(e->own, own_key(tid, slot, i), &index))
				end_event(e, index);
}

void events_read_counts(struct events *e, uint64_t counted[EVENTS_MAX], uint64_t *ret_lost)
{
	uint64_t count, lost;

	memcpy(counted, e->closed_counts, sizeof(e->closed_counts));
	*ret_lost = e->closed_lost;
	for (size_t i = 0; i < e->fd_count; i++) {
		const struct event_fd *f = &e->fds[i];

		if (f->fd < 0 || f->source.event == SIDEBAND_EVENT ||
			!read_counts(e, f->fd, &count, &lost))
			continue;
		counted[f->source.event] += count;
		*ret_lost += lost;
	}
}

unsigned events_ring_count(const struct events *e)
{
	return e->ring_count;
}

int events_sole(const struct events *e, unsigned ring)
{
	return e->sole[ring];
}

bool events_is_shared(const struct events *e, unsigned event)
{
	return is_shared(&e->options->events[event]);
}

unsigned events_slot_count(const struct events *e)
{
	return e->slot_count;
}

struct slot *events_slot(struct events *e, unsigned slot)
{
	return &e->slots[slot];
}

int events_slot_of(const struct events *e, unsigned cpu)
{
	for (unsigned i = 0; i < e->slot_count; i++)
		if (e->slots[i].cpu == cpu)
			return (int)i;
	return -1;
}

size_t events_all_bytes(const struct events *e)
{
	return wanted_bytes(e, e->slot_count);
}

size_t events_granted_bytes(const struct events *e)
{
	return e->ring_bytes;
}

unsigned events_fd_count(const struct events *e)
{
	return e->open_count;
}

void events_layout(const struct events *e, unsigned event, struct record_layout *ret_layout)
{
	ret_layout->sampling = true;
	ret_layout->stack = e->options->stack;
	ret_layout->period = attr_has_period(&e->attrs[event]);
}

unsigned events_failed(const struct events *e)
{
	return e->failed;
}
