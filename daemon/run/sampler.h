/* The thread that samples: it owns all sessions, and runs what others ask of it between two rounds.
 */
#ifndef PFL_RUN_SAMPLER_H
#define PFL_RUN_SAMPLER_H

#include <stdint.h>
#include "base/cleanup.h"
#include "daemon/run/session.h"

struct sampler;

struct sampler_setup {
	const struct config *config; /* copied */
	struct broker *broker;
	struct unwindtables *tables; /* lent */
	uint64_t last_id;            /* ids go on from here */
	/* A session has ended, its final profile is there: called on the sampler thread, must only
	 * pass the word on. */
	void (*wake_keeper)(void *arg);
	void *arg;
};

int sampler_new(const struct sampler_setup *setup, struct sampler **ret_sampler);
/* Ends all running sessions ("shutdown") and the thread. */
void sampler_stop(struct sampler *s);
void sampler_free(struct sampler *s);
AUTO_FREE_FN(struct sampler, sampler_free)

/* Runs fn on the sampler thread and waits for it. After sampler_stop() it runs on the caller's. */
typedef void (*sampler_fn)(struct sampler *s, void *arg);
void sampler_call(struct sampler *s, sampler_fn fn, void *arg);

/* For use inside such an fn alone: */
struct session_env *sampler_env(struct sampler *s);
/* NULL: no such one. */
struct session *sampler_session(struct sampler *s, uint64_t id);
/* All, oldest first; lent until the next change. */
struct session **sampler_sessions(struct sampler *s, unsigned *ret_count);
unsigned sampler_running(const struct sampler *s);
/* An enum run_error. */
int sampler_start_session(struct sampler *s, struct session_plan *plan,
	struct session **ret_session, struct buf *message);
int sampler_change_session(struct sampler *s, struct session *session,
	const struct session_change *change, struct buf *message);
/* -ENOMEM. */
int sampler_rename_session(struct sampler *s, struct session *session, const char *name);
void sampler_end_session(struct sampler *s, struct session *session, const char *why);
void sampler_remove_session(struct sampler *s, struct session *session);
/* Takes one that has ended long ago (from disk). */
int sampler_adopt_session(struct sampler *s, struct session *session);
/* Takes one that has ended just now, somewhere else: it gets the next id, and is saved. */
int sampler_take_ended(struct sampler *s, struct session *session);
void sampler_set_config(struct sampler *s, const struct config *config);

/* Any thread: a copy, as of the last round. */
void sampler_get_stats(struct sampler *s, struct run_stats *ret_stats);

#endif
