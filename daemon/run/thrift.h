/* Keeps running sessions within their budgets: looks each second what they cost, and what the
 * daemon costs beside, and makes their copies, rate, log or tree smaller, as budget.h decides.
 * Every step is one of the session's warnings. Sampler thread. */
#ifndef PFL_RUN_THRIFT_H
#define PFL_RUN_THRIFT_H

#include "base/cleanup.h"
#include "daemon/run/session.h"

struct thrift;

int thrift_new(struct broker *b, struct thrift **ret_thrift);
void thrift_free(struct thrift *t);
AUTO_FREE_FN(struct thrift, thrift_free)

/* Each second. Also fills in what env->stats says of budgets. */
void thrift_look(
	struct thrift *t, struct session_env *env, struct session **sessions, unsigned count);

#endif
