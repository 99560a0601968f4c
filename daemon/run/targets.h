/* What one could profile: processes, cgroups, units and containers with their CPU use. HTTP
 * threads. */
#ifndef PFL_RUN_TARGETS_H
#define PFL_RUN_TARGETS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "daemon/broker/client.h"
#include "daemon/run/run.h"

enum target_class {
	TARGET_CLASS_PROCESS,
	TARGET_CLASS_UNIT,
	TARGET_CLASS_CONTAINER,
	TARGET_CLASS_CGROUP
};

struct target_info {
	enum target_class kind;
	pid_t pid;        /* of a process */
	char name[256];   /* comm; unit; container id; cgroup path */
	char cgroup[512]; /* v2 path; of a unit or container its own, not that of one inside */
	bool hidden;      /* a unit whose name alone means another one, nearer to the root */
	uid_t uid;        /* of a process */
	unsigned processes, threads;
	double cpu_percent; /* of one core, since an earlier call (at least 200 ms ago) or over its
			       life */
	uint64_t rss_bytes;
	uint64_t started_wall_ns;
};

struct targets;
int targets_new(struct broker *b, struct targets **ret_targets);
void targets_free(struct targets *t);
/* q: part of the name, any case; NULL: all. who: others' processes are left out unless who->all.
 * Sorted by CPU, or by name. The array is the caller's. */
int targets_list(struct targets *t, const struct caller *who, const char *q, bool by_name,
	struct target_info **ret_list, unsigned *ret_count);

#endif
