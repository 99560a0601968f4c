/* A sample's way into the tree of its session: whose it is, its chain, its frames, its count.
 * Sampler thread, or the one that a recording is read by. */
#ifndef PFL_RUN_FEED_H
#define PFL_RUN_FEED_H

#include "daemon/run/session.h"

/* event: index into the options of its capture. A deep one teaches tails and is counted nowhere. */
void feed_sample(
	struct session_env *env, struct session *s, const struct sample *sample, unsigned event);
void feed_sideband(struct session *s, const struct sideband *sb);

#endif
