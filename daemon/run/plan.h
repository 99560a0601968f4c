/* A request made ready to start: events looked up, targets resolved, rights and limits checked. Any
 * thread but the sampler's. */
#ifndef PFL_RUN_PLAN_H
#define PFL_RUN_PLAN_H

#include "daemon/run/abilities.h"
#include "daemon/run/session.h"

/* An enum run_error. On success plan->target.pids is the caller's. */
int plan_make(struct broker *b, const struct config *config, const struct host *host,
	const struct caller *who, const struct session_request *request,
	struct session_plan *ret_plan, struct buf *message);

/* -EINVAL and a sentence: more than the configuration allows. */
int plan_check_budget(
	const struct config *config, double cpu_percent, uint32_t memory_mib, struct buf *message);

#endif
