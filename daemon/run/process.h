/* The processes of one session: who they are and what they have mapped. Sampler thread. */
#ifndef PFL_RUN_PROCESS_H
#define PFL_RUN_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/cleanup.h"
#include "daemon/broker/client.h"
#include "daemon/proc/procinfo.h"
#include "daemon/sample/record.h"
#include "daemon/symbol/space.h"
#include "daemon/unwind/unwind.h"

/* Of a recording, which may tell of any number: processes known at once, and bytes that forks copy.
 * Those that are over go first. */
#define RECORDED_PROCESSES_MAX 262144
#define RECORDED_FORKED_MAX    ((size_t)256 << 20)

/* Over this many the tree books further ones on one entry, so that a fork storm cannot fill it. */
#define PROCESSES_IN_TREE_MAX 65536

struct session_process {
	pid_t pid;
	uint64_t start_ticks; /* 0: it was gone before we could ask */
	uid_t uid;            /* (uid_t)-1: not known */
	char comm[sizeof(((struct procinfo *)0)->comm)];
	struct space *space;
	int threads;        /* as far as records tell; 0: the process is over */
	int64_t tree_index; /* of its entry in the call tree; -1: none yet */
	bool asked;         /* /proc was read for start_ticks and uid */
	/* NULL: not known, or none; owned. command: what it was started with; see command.h. */
	char *command, *cgroup;
	unsigned looks;  /* at its stack for the command, in vain */
	bool origin_new; /* either has changed since the tree was told */
	unsigned images; /* programs it has run since it was first seen */
	/* Stands for it in the session's frames_seen for as long as code_generation is the space's;
	 * 0: none yet. */
	uint32_t frames_tag;
	uint64_t code_generation;
	bool has_jit;
	bool leader_exited; /* its other threads may go on */
	bool over;          /* of a recording: all its threads have exited, as far as it tells */
};

struct processes;
int processes_new(struct broker *b, struct modules *ms, struct unwinder *u, struct processes **ret);
/* Those of a recording, of which its records alone tell: nothing is read from /proc, and a process
 * lasts until another one takes its pid. */
int processes_new_recorded(struct modules *ms, struct unwinder *u, struct processes **ret);
void processes_free(struct processes *ps);
AUTO_FREE_FN(struct processes, processes_free)

/* The process of a sample: known, or read from /proc now. Never fails for want of the process: one
 * that is gone has an empty space. NULL: no memory. Lent until the next sideband record. */
struct session_process *processes_get(struct processes *ps, pid_t pid, pid_t tid);
/* One of the target's, before its first sample: it may be gone before that is read. */
void processes_expect(struct processes *ps, pid_t pid);
/* NULL: never sampled. */
struct session_process *processes_find(const struct processes *ps, pid_t pid);
/* Of commands the program alone is kept, not its arguments. */
void processes_hide_arguments(struct processes *ps);
/* Makes sure start_ticks, uid, command and cgroup were asked for. */
void processes_identify(struct processes *ps, struct session_process *p);
/* A process that was gone before it could be asked has its command on its stack, where the copy of
 * that reaches its end. */
void processes_look_at_stack(
	struct processes *ps, struct session_process *p, const struct sample *sample);
void processes_sideband(struct processes *ps, const struct sideband *s);
/* Every few seconds: forgets those that ended without our having counted all their threads out. */
void processes_sweep(struct processes *ps);
/* Walks all; *cursor starts at 0. */
struct session_process *processes_next(struct processes *ps, size_t *cursor);
size_t processes_count(const struct processes *ps);
/* Of memory, modules aside. */
size_t processes_bytes(const struct processes *ps);
/* Of a recording: how often a process or its mappings were left out, since there was no room. */
uint64_t processes_left_out(const struct processes *ps);
/* Of a recording: the name of a thread as of now; NULL: not told. */
const char *processes_thread_comm(const struct processes *ps, pid_t tid);

#endif
