/* The sessions of the engine and the thread that samples for them. Requests come from any thread as
 * messages; answers are copies or immutable profiles. */
#ifndef PFL_RUN_RUN_H
#define PFL_RUN_RUN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/buf.h"
#include "daemon/broker/client.h"
#include "daemon/config.h"
#include "daemon/store/store.h"
#include "daemon/symbol/names.h"
#include "daemon/tree/profile.h"

struct run;

/* Whoever asks: sees all, or only what belongs to uid. */
struct caller {
	uid_t uid;
	bool all;
};

enum run_target {
	RUN_PID,
	RUN_PIDS,
	RUN_COMMAND,
	RUN_CGROUP,
	RUN_UNIT,
	RUN_CONTAINER,
	RUN_ALL,
	RUN_RECORDING
};

#define RUN_PIDS_MAX 1024
struct session_request {
	enum run_target target;
	pid_t pids[RUN_PIDS_MAX];
	unsigned pid_count;
	char text[4096];          /* command, cgroup, unit, container; a recording's name */
	char events[8][96];       /* EVENTS_MAX, EVENT_NAME_BYTES */
	unsigned event_count;     /* 0: the default */
	uint64_t freq_hz, period; /* 0, 0: the default */
	uint64_t duration_ns;     /* 0: until stopped */
	bool kernel;              /* default true */
	char unwind[8];           /* auto, dwarf, fp */
	char unwinder[16];        /* "": as configured */
	uint32_t stack_bytes;     /* 0: as configured */
	uint32_t max_frames;      /* 0: as configured */
	double cpu_percent;       /* of the machine; 0: as configured, and never more */
	uint32_t memory_mib;      /* the same; of tree, log, rings and address spaces */
	char name[128];           /* UTF-8 */
};
void session_request_defaults(struct session_request *r);

struct session_change {
	uint64_t freq_hz;    /* 0: as it is */
	int kernel;          /* -1: as it is */
	double cpu_percent;  /* 0: as it is */
	uint32_t memory_mib; /* 0: as it is */
	char name[128];      /* UTF-8; "": as it is. The rest is for sessions that run */
};

enum session_state {
	SESSION_RUNNING,
	SESSION_STOPPED /* by somebody */,
	SESSION_ENDED /* by itself */
};

/* Failures carry a kind, so that HTTP has a status for it, and a sentence in message. */
enum run_error {
	RUN_OK = 0,
	RUN_BAD_REQUEST, /* 400: the sentence says what to change */
	RUN_FORBIDDEN,   /* 403 */
	RUN_NOT_FOUND,   /* 404: no such process, cgroup, unit, session … */
	RUN_CONFLICT,    /* 409: e.g. PATCH of a session that has ended */
	RUN_UNSUPPORTED, /* 422: an event that is not there; the sentence names what is */
	RUN_TOO_MANY,    /* 429 */
	RUN_UNAVAILABLE, /* 503: descriptors, memory, shutting down */
	RUN_FAILED,      /* 500 */
};

int run_new(const struct config *config, struct broker *broker, struct names *names,
	struct store *store, struct run **ret_run);
/* Ends all sessions (their profiles are saved) and the thread. Blocks. */
void run_free(struct run *r);
/* Settings that may change while running (SIGHUP). */
void run_reload(struct run *r, const struct config *config);

/* Each answers an enum run_error; message gets a sentence on failure. profiles come with meta and
 * ledger (no tree) in *ret_head, to be unref'd. */
int run_start(struct run *r, const struct caller *who, const struct session_request *request,
	struct profile **ret_head, struct buf *message);
int run_stop(struct run *r, const struct caller *who, uint64_t id, struct profile **ret_head,
	struct buf *message);
/* A perf.data file as a session that has ended. fd: the file, which nobody changes meanwhile; name:
 * what it is called, UTF-8. stop: when it becomes true, the import ends early (RUN_UNAVAILABLE).
 * Its modules are opened with the broker's rights, so that it is for those alone who see all.
 * Blocks for as long as it takes, and not the sampling. */
int run_import(struct run *r, const struct caller *who, int fd, const char *name,
	const atomic_bool *stop, struct profile **ret_head, struct buf *message);
int run_change(struct run *r, const struct caller *who, uint64_t id,
	const struct session_change *change, struct profile **ret_head, struct buf *message);
int run_delete(struct run *r, const struct caller *who, uint64_t id, struct buf *message);
int run_head(struct run *r, const struct caller *who, uint64_t id, struct profile **ret_head,
	struct buf *message);
/* All that who may see, running ones first, then newest first. The array and its profiles are the
 * caller's. */
int run_list(
	struct run *r, const struct caller *who, struct profile ***ret_heads, unsigned *ret_count);

/* The profile now, with names (and inline frames, lines when wanted), immutable. Never stops the
 * sampling. */
int run_profile(struct run *r, const struct caller *who, uint64_t id, bool with_log, bool inlines,
	struct profile **ret_profile, struct buf *message);

/* Abilities: what works here, and for what does not, which one setting brings it. */
struct ability {
	const char *name; /* "cpu_wide", "other_users", "kernel_samples", "kernel_names",
			     "hardware_events", "tracepoints", "ring_memory", "mapped_files",
			     "cgroups" */
	bool there;
	char reason[256]; /* why not; "" when there */
	char remedy[256]; /* the one setting */
};
#define RUN_ABILITIES_MAX 16
unsigned run_abilities(struct run *r, struct ability ret[RUN_ABILITIES_MAX]);

struct run_event {
	char name[96];
	bool there;
};
/* The events by name and whether they work here. Returns how many were written. */
unsigned run_events(struct run *r, struct run_event *ret, unsigned max);

/* For /metrics and /v1/status; totals never fall while the engine lives. */
struct run_stats {
	uint64_t samples, lost, throttled, filtered, truncated, dropped, unknown_records,
		sideband_lost;
	uint64_t unwind_ends[LEDGER_ENDS];
	uint64_t sessions_started, budget_steps;
	unsigned sessions_running, sessions_kept, sessions_max;
	double ring_fill_max; /* the fullest ring of the running sessions, at its peak in the last
				 round */
	uint64_t sampler_cpu_ns, rounds;
	uint64_t last_round_ns; /* monotonic: when the sampler last finished one; for /healthz */
	uint64_t tree_nodes, tree_bytes;
	/* What the budget for all is held against, as of the last look while sessions run; 0: none
	 * runs. Memory of all processes (see footprint.h) and of rings; CPU time a second, in ns,
	 * of what no session can be blamed for, over five minutes. */
	uint64_t budget_bytes, ring_bytes, shared_cpu_ns;
	unsigned modules;
	uint64_t module_bytes, modules_unreadable, sigbus;
	uint64_t tables_made, tables_loaded, tables_failed, tables_bytes;
	uint64_t unwind_asked_frames, unwind_asked_stacks;
};
void run_get_stats(struct run *r, struct run_stats *ret_stats);

#endif
