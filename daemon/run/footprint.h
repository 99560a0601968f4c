/* What the daemon costs as a whole: CPU time and memory of all its processes. Sampler thread. */
#ifndef PFL_RUN_FOOTPRINT_H
#define PFL_RUN_FOOTPRINT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/cleanup.h"
#include "daemon/broker/client.h"

struct footprint;

int footprint_new(struct broker *b, struct footprint **ret_footprint);
void footprint_free(struct footprint *f);
AUTO_FREE_FN(struct footprint, footprint_free)

struct footprint_now {
	uint64_t cpu_ns; /* of engine, broker, its opener and reader, since they are looked at; one
			    that has ended keeps what it was last seen to have used */
	/* Their memory, each page divided by how many processes have it: own pages, memory files,
	 * and what is mapped of files. Not what the kernel has for us: rings. The median of the
	 * last three measurements, ten seconds apart, so that what is there for a moment does not
	 * count. Where the kernel lets nobody look into a process, all that it has resident. */
	size_t bytes;
};
/* To be called each second or so; most calls cost some system calls. */
void footprint_look(struct footprint *f, uint64_t now_ns, struct footprint_now *ret_now);

/* The sum that /proc/PID/smaps_rollup gives of a process. -EINVAL: not that text. */
int footprint_parse_pss(const char *text, size_t len, size_t *ret_bytes);

#endif
