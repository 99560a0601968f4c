/* What to sample, and how: which processes those are, and the plan that costs least. Sampler
 * thread. */
#ifndef PFL_SAMPLE_TARGET_H
#define PFL_SAMPLE_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/buf.h"
#include "base/cleanup.h"
#include "daemon/broker/client.h"
#include "daemon/sample/attr.h"

enum target_kind { TARGET_ALL, TARGET_PIDS, TARGET_COMMAND, TARGET_CGROUP };

/* Units and containers are resolved to their cgroup before. */
struct target_spec {
	enum target_kind kind;
	pid_t *pids; /* TARGET_PIDS; owned by whoever made it */
	size_t pid_count;
	char command[64]; /* TARGET_COMMAND: comm, all processes so named, later ones too; what the
			     kernel keeps of it, 15 bytes, counts */
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
	bool chain;          /* with them the kernel's frame-pointer chain, but for deep samples */
	bool allow_cpu_wide; /* the broker may open CPU-wide events */
	size_t ring_bytes;   /* wished, per CPU, a power of two; halved until it fits; 0: by rate */
	size_t ring_bytes_all; /* of all rings together, where those that make sense fit; 0: any */
	unsigned fd_budget;    /* descriptors it may use; a plan that fits is chosen */
};

/* The processes of a target as of one look. Invariant: pids differ. */
struct target_process {
	pid_t pid;
	uint64_t start_ticks;
	unsigned threads;
	int pidfd; /* -1: none could be had */
	bool gone;
};

struct target_processes {
	struct target_process *list;
	size_t count, cap;
};

void target_processes_done(struct target_processes *p);

/* TARGET_PIDS: each of the pids, or -ESRCH (no such process, a zombie, a thread's number), -EACCES
 * (another user's), with a sentence. TARGET_COMMAND, TARGET_CGROUP: those there are, perhaps none;
 * -ENOENT: no such cgroup. TARGET_ALL: none. Without pidfds. */
int target_resolve(struct broker *b, const struct target_spec *target,
	struct target_processes *into, struct buf *message);
/* -EACCES, -EMFILE: no plan will do, with a sentence. */
int target_plan(const struct target_spec *target, const struct capture_options *options,
	const struct target_processes *processes, unsigned cpus, enum capture_plan *ret_plan,
	struct buf *message);
/* Pins them, so that their end is seen and another of the same pid is not taken for them. -ESRCH:
 * one was gone already, with a sentence. */
int target_processes_pin(struct broker *b, struct target_processes *p, struct buf *message);
/* True when all are gone. Of one without a pidfd /proc is asked. */
bool target_processes_are_gone(struct broker *b, struct target_processes *p);

#endif
