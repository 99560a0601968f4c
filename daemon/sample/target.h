/* What to sample, and the perf events and rings that do it. Sampler thread. */
#ifndef PFL_SAMPLE_TARGET_H
#define PFL_SAMPLE_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "daemon/broker/client.h"
#include "daemon/sample/attr.h"

enum target_kind { TARGET_ALL, TARGET_PIDS, TARGET_COMMAND, TARGET_CGROUP };

/* Units and containers are resolved to their cgroup before. */
struct target_spec {
	enum target_kind kind;
	pid_t *pids; /* TARGET_PIDS; owned by whoever made it */
	size_t pid_count;
	char command[64]; /* TARGET_COMMAND: comm, all processes so named, later ones too */
	char cgroup[4096];
	uid_t only_uid; /* (uid_t)-1: any; else processes of others are left out */
};

enum capture_plan {
	CAPTURE_CPU,    /* one event per CPU, processes picked out by pid in collect */
	CAPTURE_TASK,   /* one event per thread and CPU, inherited by what they start */
	CAPTURE_CGROUP, /* one cgroup event per CPU */
};

struct capture_options {
	struct event_spec events[EVENTS_MAX];
	unsigned event_count;
	uint64_t freq_hz, period;
	bool kernel;
	enum stack_mode stack;
	uint32_t stack_bytes;
	bool allow_cpu_wide; /* the broker may open CPU-wide events */
	size_t ring_bytes;   /* wished, per CPU, a power of two; halved until it fits */
	unsigned fd_budget;  /* descriptors it may use; a plan that fits is chosen */
};

#endif
