/* Memory of JIT code that was used anew: a frame of such an address means another function at
 * another time. */
#ifndef PFL_RUN_JITSPLIT_H
#define PFL_RUN_JITSPLIT_H

#include <stdint.h>
#include "daemon/tree/profile.h"

struct jitsplit {
	uint32_t frame;    /* index; each once */
	uint32_t count;    /* of functions, 2 at least; the last is the one that frame keeps */
	uint32_t since_at; /* their times: since_ns[since_at + i], ascending; the first is 0 */
	uint32_t extra;    /* answered: index of the first of the count - 1 frames for the others */
};

/* Gives each function a frame of its own, and to its samples, as far as the log has them, a path in
 * the tree; samples older than the log go with its beginning. p has a log, is nobody else's yet,
 * and has no names. -ENOMEM, when it is only good to be freed. */
int jitsplit_apply(
	struct profile *p, struct jitsplit *splits, uint32_t count, const uint64_t *since_ns);

#endif
