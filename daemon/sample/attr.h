/* Names of events to perf_event_attr. perf_event.h has its home in sample/. */
#ifndef PFL_SAMPLE_ATTR_H
#define PFL_SAMPLE_ATTR_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "daemon/broker/client.h"

#define EVENT_NAME_BYTES    96
#define EVENTS_MAX          8
#define STACK_BYTES_MAX     65528u /* a record's size is 16 bits */
#define STACK_BYTES_DEFAULT 16384u

struct event_spec {
	char name[EVENT_NAME_BYTES]; /* as asked for: "cpu-clock", "sched:sched_switch", "r1a8" */
	uint32_t type;
	uint64_t config;
	bool is_clock; /* counts nanoseconds; else occurrences */
	bool hardware;
	bool in_kernel; /* happens in the kernel alone: context switches, tracepoints. There,
			   leaving the kernel out means its frames, as nothing would be left
			   otherwise */
	bool deep;      /* one in DEEP_EVERY samples, with copies of STACK_BYTES_MAX */
};
#define DEEP_EVERY 10

/* cycles, instructions, cache-references, cache-misses, branches, branch-misses, cpu-clock,
 * task-clock, page-faults, minor-faults, major-faults, context-switches, cpu-migrations, rHEX,
 * group:tracepoint. -EINVAL: no such name; -ENOENT: no such tracepoint; -ENODEV: tracefs not
 * mounted. */
int event_parse(struct broker *b, const char *name, struct event_spec *ret_event);
/* All plain names, NULL at the end, for messages. */
const char *const *event_names(void);
/* Tries to open it on the broker's own process: 0, or why not (-ENOENT, -EOPNOTSUPP: no PMU). */
int event_probe(struct broker *b, const struct event_spec *event);

enum stack_mode { STACK_DWARF, STACK_FP };

struct attr_options {
	uint64_t freq_hz; /* one of the two is not 0 */
	uint64_t period;
	bool kernel; /* kernel side too */
	enum stack_mode stack;
	uint32_t stack_bytes; /* STACK_DWARF: a multiple of 8, at most STACK_BYTES_MAX */
	bool chain;           /* STACK_DWARF: the kernel's frame-pointer chain beside */
	uint16_t max_stack;   /* of the kernel's chain; 0: the kernel's default */
	bool cpu_wide;
	bool inherit;
	uint32_t wakeup_bytes; /* watermark */
};

/* Samples: IP, TID, TIME, ID, CPU, PERIOD (see attr_has_period()), CALLCHAIN, and for DWARF user
 * registers and stack. Clock is CLOCK_MONOTONIC. Starts disabled. */
void attr_for_sampling(struct perf_event_attr *attr, const struct event_spec *event,
	const struct attr_options *options);
/* False for software events and tracepoints by a fixed period above 1: asked for PERIOD, the kernel
 * samples each occurrence of those, whatever the period. The weight of such a sample is the period.
 */
bool attr_has_period(const struct perf_event_attr *attr);
/* A dummy event that reports mmap (with device and inode), comm, exec, fork and exit, stamped with
 * TID, TIME, ID, CPU (sample_id_all). Starts disabled. */
void attr_for_sideband(struct perf_event_attr *attr, bool inherit, uint32_t wakeup_bytes);
/* A dummy event that reports nothing, for a task: it owns a ring that others write to. */
void attr_for_anchor(struct perf_event_attr *attr, uint32_t wakeup_bytes);

#endif
