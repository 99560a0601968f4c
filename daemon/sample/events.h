/* The perf descriptors of one capture and the rings they write to. Sampler thread.
 *
 * A CPU has a ring for the sideband and one or more for samples. Each ring belongs to an anchor, a
 * dummy event on the broker's own process, so that it outlives threads, cgroups and a CPU that goes
 * away; all other events are redirected into it.
 *
 * Kernels from about 6.2 on prepare the sample of a software event once for all events of that kind
 * that are hit: the id in it is that of the first, which may be another session's. So where there
 * are several events, each of those has a ring of its own, which tells whose a sample is. Clocks
 * and hardware events are not concerned and share a ring. */
#ifndef PFL_SAMPLE_EVENTS_H
#define PFL_SAMPLE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/cleanup.h"
#include "daemon/broker/client.h"
#include "daemon/sample/attr.h"
#include "daemon/sample/record.h"
#include "daemon/sample/ring.h"
#include "daemon/sample/target.h"

/* Below this a ring is of no use; halving ends here, or at what one record needs. */
#define RING_BYTES_MIN ((size_t)64 << 10)

struct slot {
	unsigned cpu;
	int anchors[EVENTS_MAX + 1]; /* of the sample rings, then of the sideband's */
	struct ring *samples[EVENTS_MAX], *sideband;
	struct last_sample {
		uint64_t t_ns;
		pid_t tid;
	} last[EVENTS_MAX]; /* for tasks_is_double() */
	bool open;          /* CPU-wide and cgroup plans: its events are open */
	int sentinel;
	uint64_t sentinel_ns;
};

/* Where a sample comes from. */
struct event_source {
	pid_t tid;      /* the thread it was opened for; 0: CPU-wide or cgroup */
	unsigned event; /* index into options.events */
	bool dropped;   /* by events_drop_own(): counted by another's as well */
};

struct events;

/* Opens nothing yet. options and cgroup (NULL but for CAPTURE_CGROUP) are lent until events_free().
 */
int events_new(struct broker *b, const struct capture_options *options, enum capture_plan plan,
	const char *cgroup, struct events **ret_events);
void events_free(struct events *e);
AUTO_FREE_FN(struct events, events_free)

/* The size of a sample ring that is asked for first. -EINVAL: options.ring_bytes is no power of two
 * of pages; -EMSGSIZE: it is smaller than one sample. */
int events_ring_bytes(const struct capture_options *options, size_t *ret_bytes);

/* Adds CPUs: their anchors and rings, all of one size, halved together until they fit, also into
 * options.ring_bytes_all. -EPERM: not
 * even the smallest may be locked in memory. On failure none is added. */
int events_add_cpus(struct events *e, const unsigned *cpus, unsigned count);
/* CPU-wide and cgroup plans. The sideband starts at once, samples wait for events_start(). -ENODEV:
 * the CPU is offline; the slot stays for another try. */
int events_open_slot(struct events *e, unsigned slot);
/* Closes them; the rings stay, with what is in them. */
void events_close_slot(struct events *e, unsigned slot);
/* False when the CPU went offline since the last call, even if it is back. */
bool events_slot_lives(struct events *e, unsigned slot);
/* Task plan: on all slots from the given one on. -ESRCH: the thread is gone. What was opened before
 * a failure stays. */
int events_open_thread(struct events *e, pid_t tid, unsigned from_slot);
/* Starts the sampling of all that has been opened since the last call. */
int events_start(struct events *e);
/* Stops, reads the counts for the last time, closes all. The rings stay. */
void events_stop(struct events *e);

/* By the id in a sample; NULL: none of ours. */
const struct event_source *events_find(const struct events *e, uint64_t id);
/* Ends the thread's own event on that CPU, if it has one: it is counted by another's that it
 * inherited. */
bool events_drop_own(struct events *e, pid_t tid, unsigned cpu, unsigned event);
/* The same for all CPUs and events of the thread. */
void events_drop_thread(struct events *e, pid_t tid);

/* Closes the events of threads that are gone, with all that they started. To be called between
 * rounds after all rings have been read: the ids of what was closed by then are forgotten. */
void events_reap(struct events *e);

/* Reads the kernel's counts: of each event, and of what found no room in the rings. */
void events_read_counts(struct events *e, uint64_t counted[EVENTS_MAX], uint64_t *ret_lost);

/* Sample rings of each CPU. */
unsigned events_ring_count(const struct events *e);
/* The event that has the ring to itself; -1: several share it, and the id in a sample tells. */
int events_sole(const struct events *e, unsigned ring);
/* An event whose samples the kernel may prepare for several at once. */
bool events_is_shared(const struct events *e, unsigned event);
unsigned events_slot_count(const struct events *e);
struct slot *events_slot(struct events *e, unsigned slot);
/* -1: no slot has that CPU. */
int events_slot_of(const struct events *e, unsigned cpu);
size_t events_granted_bytes(const struct events *e);
/* Of all rings, as granted. */
size_t events_all_bytes(const struct events *e);
unsigned events_fd_count(const struct events *e);
void events_layout(const struct events *e, unsigned event, struct record_layout *ret_layout);
/* The index of the event whose opening failed last, for messages; EVENTS_MAX: the sideband's. */
unsigned events_failed(const struct events *e);

#endif
