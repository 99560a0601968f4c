/* Gives the frames of a profile their names. Any thread but the sampler's. */
#ifndef PFL_RUN_NAMING_H
#define PFL_RUN_NAMING_H

#include "daemon/symbol/names.h"
#include "daemon/tree/profile.h"

/* raw with names (and inline frames and lines when asked for): itself where nobody else holds it,
 * else a copy. A module that cannot be read leaves its frames unnamed, counted in
 * ledger.frames_unnamed. -ENOMEM. */
int naming_apply_take(
	struct names *names, struct profile *raw, enum names_want want, struct profile **ret_named);
/* Reads the names of the JIT code in raw, so that they outlive its processes. */
void naming_keep_jit(struct names *names, const struct profile *raw);

#endif
