/* The parts of a capture, for the files that make it up: capture.c opens and looks after it,
 * tasks.c knows its threads, collect.c reads it. Sampler thread. */
#ifndef PFL_SAMPLE_CAPTURE_H
#define PFL_SAMPLE_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/buf.h"
#include "daemon/sample/collect.h"
#include "daemon/sample/events.h"
#include "daemon/sample/members.h"
#include "daemon/sample/merge.h"
#include "daemon/sample/target.h"

struct capture {
	struct broker *b;
	struct target_spec target; /* without its pids: processes has them */
	struct capture_options options;
	struct record_layout layouts[EVENTS_MAX];
	enum capture_plan plan;
	struct events *events;
	struct events *previous; /* stopped, for others: the next round reads the last of them */
	struct record_layout previous_layouts[EVENTS_MAX];
	uint64_t previous_period; /* as options.period was */
	struct merge *merge;
	struct members *members; /* NULL: whatever the events see belongs to the target */
	struct members *covered; /* task plan: the processes whose threads have events */
	struct target_processes processes;
	struct target_processes
		candidates; /* task plan: found by the last refresh; opened by the next round */
	bool late_threads;  /* some threads may have events both of their own and inherited */
	uint64_t cgroup_inode;
	int epoll_fd;
	void *epoll_data;
	unsigned watched_slots;
	bool stopped, gone;
	unsigned births;       /* threads and processes born since the last refresh; task plan */
	uint64_t replanned_ns; /* when previous was */
	bool stays;            /* another plan could not be had */
	uint64_t counted_before[EVENTS_MAX], lost_before; /* by events that others replaced */
	double peak_before;
	bool read_since_reap;      /* a round has taken place since */
	uint64_t rescanned_at;     /* sideband_lost when the members were looked at afresh */
	uint64_t lost_records;     /* by the LOST records in the rings */
	uint64_t lost_by_hardware; /* by LOST_SAMPLES */
	uint64_t lost_counted;     /* by the events' own counts */
	struct capture_stats stats;
};

/* Opens events on all threads of the processes, not started yet. */
int tasks_open(struct capture *c, const struct target_processes *processes);
/* Opens events on the threads of all covered processes on the slots from the given one on. */
int tasks_open_slots(struct capture *c, unsigned from_slot);
/* The same on all slots of new events, none of which are open yet. */
int tasks_open_again(struct capture *c);
/* The candidates that are not covered by now. */
void tasks_adopt(struct capture *c);
/* Looks for the sign that a thread has both an event of its own and one that it inherited; then its
 * own one is closed. True: the sample is the second of the same occurrence. source may be NULL. */
bool tasks_is_double(struct capture *c, struct events *e, unsigned slot, unsigned event,
	const struct sample_head *head, const struct event_source *source);

/* Descriptors of slots that were added since go into the epoll set. */
int capture_watch_slots(struct capture *c);
/* The CPUs that are online, now. */
#define CPUS_MAX 4096
struct cpus {
	unsigned list[CPUS_MAX];
	unsigned count;
};
int capture_read_online(struct broker *b, struct cpus *cpus);
/* CPU-wide and cgroup plans: opens the events of all slots of c->events. -ENODEV: of none. A CPU
 * that went offline just now is left for capture_refresh(). */
int capture_open_slots(struct capture *c);
/* Asks the events for the counts that are in the statistics. */
void capture_read_counts(struct capture *c);
double capture_peak(struct events *e);

/* Stops old, whose place c->events has taken, and leaves it for the next round to read. */
void capture_retire(struct capture *c, struct events *old);
/* Goes over to CPU-wide events when the target gives birth so often that events on its tasks are
 * unfair. */
int replan(struct capture *c);

#endif
