/* One session: what it captures, its processes, its call tree, its ledger. Sampler thread. */
#ifndef PFL_RUN_SESSION_H
#define PFL_RUN_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/cleanup.h"
#include "daemon/config.h"
#include "daemon/run/budget.h"
#include "daemon/run/copysize.h"
#include "daemon/run/lean.h"
#include "daemon/run/process.h"
#include "daemon/run/run.h"
#include "daemon/sample/collect.h"
#include "daemon/tree/calltree.h"
#include "daemon/tree/profile.h"
#include "daemon/unwind/tails.h"

/* What sessions of one sampler share. */
struct session_env {
	const struct config *config;
	struct broker *broker;
	struct modules *modules;
	struct unwindtables *tables;
	struct unwinder *unwinders[UNWINDER_KINDS]; /* each made when first asked for */
	struct run_stats *stats;                    /* totals over all sessions */
	bool new_jit;              /* some process has run JIT code for the first time */
	struct unwind_chain chain; /* scratch */
	uint32_t frames[UNWIND_FRAMES_MAX + 256];
};

/* A request made ready: names resolved, defaults filled in, the rights checked. */
struct session_plan {
	struct session_request request;
	struct target_spec target;
	struct capture_options capture;
	char target_text[300]; /* for people */
	uid_t owner;
	enum unwinder_kind unwinder;
	uint32_t copy_most;  /* bytes of a stack that its rings leave; 0: any */
	bool adaptive;       /* copied bytes and deep samples by what is seen */
	char warnings[1024]; /* lines */
};

/* What code of a file an address was found to be, in the tree. */
struct frame_seen {
	uint64_t addr;
	uint32_t tag; /* a process's; 0: a free place */
	uint32_t frame;
};
#define FRAMES_SEEN_BITS 12

/* Frames that are no code, and come again and again. */
enum special { SPECIAL_UNKNOWN, SPECIAL_TRUNCATED, SPECIAL_INCOMPLETE, SPECIALS };

struct session {
	uint64_t id;
	uid_t owner;
	enum session_state state;
	const char *ended_by; /* static text; NULL while running */
	uint64_t started_ns, ended_ns, started_wall_ns, ended_wall_ns;
	uint64_t cpu_ns;     /* of the sampler thread for this session */
	uint64_t aside_ns;   /* of other threads: its names, its file */
	struct buf warnings; /* lines */

	/* Running only: */
	struct session_plan *plan;
	struct capture *capture;
	struct processes *processes;
	struct calltree *tree;
	struct map *thread_index;       /* tid -> index in the tree */
	struct map *module_index;       /* module id -> index in the tree */
	struct frame_seen *frames_seen; /* FRAMES_SEEN places: addresses of late */
	uint32_t frames_tag;            /* the last one given to a process */
	uint32_t specials[SPECIALS];    /* by enum special: its frame + 1; 0: not in the tree yet */
	struct unwinder *unwinder;
	struct tails *tails; /* NULL: not an adaptive session */
	bool has_learnt;     /* something from a deep sample */
	unsigned whole;      /* stacks within copies as long as those of deep samples */
	struct copysize copysize;
	struct copysize_look look;
	struct lean lean;
	struct lean_look lean_look;
	unsigned lean_steps; /* that were told */
	struct ledger ledger;
	uint64_t filtered_here; /* by owner, beside what the capture left out */
	bool ready;             /* its rings asked for a round */
	bool has_jit;           /* some frame is code without a file */
	uint64_t swept_ns;
	struct budget budget;
	struct budget_memory memory;
	struct budget_ladder ladder;
	struct budget_mean aside;        /* of aside_ns */
	uint64_t attributed_ns;          /* of cpu_ns and aside_ns, as thrift.c has seen it */
	uint64_t asked_hz, asked_period; /* what level 0 of the budget is */
	bool at_the_bottom;              /* it was said that it cannot cost less */
	bool full;                       /* nor take less memory */

	bool recorded;     /* out of a recording: has no capture */
	bool other_kernel; /* and that was not made under the kernel that runs here */

	/* Ended only: the whole profile, or NULL when it is on disk alone. head is always there
	 * then. */
	struct profile *final;
	struct profile *head; /* has the name that counts */
	bool stored;          /* as it is now */
};

/* Opens the capture and starts. An enum run_error; message on failure. Takes what plan owns. */
int session_start(struct session_env *env, uint64_t id, struct session_plan *plan, int epoll_fd,
	struct session **ret_session, struct buf *message);
void session_free(struct session *s);
AUTO_FREE_FN(struct session, session_free)

/* One that is fed out of a recording, by the one thread that env belongs to. Takes what plan owns.
 * Its times, ledger and warnings are the caller's to set, before session_end(). -ENOMEM. */
int session_new_recorded(
	struct session_env *env, struct session_plan *plan, struct session **ret_session);

/* Reads what its rings hold. */
void session_round(struct session_env *env, struct session *s);
/* Each second: later processes, the target's end. True: it is time to end, for the reason in
 * *ret_why. */
bool session_due(struct session_env *env, struct session *s, const char **ret_why);
/* After each round: other copies of the stacks, if they are called for. */
void session_adapt(struct session_env *env, struct session *s);
/* Of an ended one too, whose file is behind then. -ENOMEM. */
int session_rename(struct session *s, const char *name);
/* Drains, makes the final profile, lets go of events and tree. */
void session_end(
	struct session_env *env, struct session *s, enum session_state state, const char *why);
/* Another rate, the kernel side on or off, another budget: the events are opened anew, where the
 * budget had lowered the rate at the one that was asked for. An enum run_error: then all goes on as
 * before. */
int session_change(struct session_env *env, struct session *s, const struct session_change *change,
	struct buf *message);

/* Of memory: tree, log, rings and address spaces. Running ones alone. */
size_t session_bytes(struct session *s);
/* What is asked of the kernel for each stack, by size and by whether it is lean. */
void session_shape(
	const struct session *s, const struct copysize *size, struct capture_options *options);
/* Between two rounds: other options of the same events, as capture_change(). */
int session_recapture(struct session_env *env, struct session *s,
	const struct capture_options *options, struct buf *message);

/* Its ledger says what the last look-up found, as named's does. */
void session_note_names(struct session *s, const struct ledger *named);
/* meta and ledger as of now, no tree. */
int session_head(struct session *s, struct profile **ret_head);
/* A running session's profile without names. It has the log too when there is JIT code in it: the
 * names of memory that was used anew are a question of time. */
int session_snapshot(struct session *s, bool with_log, struct profile **ret_profile);

#endif
