/* Keeps running sessions within their budgets: looks each second what they cost, and lowers their
 * rate, log or tree, as budget.h decides. Every step is one of the session's warnings. Sampler
 * thread. */
#ifndef PFL_RUN_THRIFT_H
#define PFL_RUN_THRIFT_H

#include "daemon/run/session.h"

void thrift_look(struct session_env *env, struct session **sessions, unsigned count);

#endif
