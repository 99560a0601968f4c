/* What this machine and our rights allow, and which one setting would bring the rest. */
#ifndef PFL_RUN_ABILITIES_H
#define PFL_RUN_ABILITIES_H

#include <stdbool.h>
#include "daemon/broker/client.h"
#include "daemon/run/run.h"
#include "daemon/sample/attr.h"

/* What was found out about the host. Plain data. */
struct host {
	struct broker_info info;
	int paranoid;      /* kernel.perf_event_paranoid; 4 when it cannot be read */
	uint64_t max_rate; /* kernel.perf_event_max_sample_rate; 0: unknown */
	int kptr_restrict; /* -1: unknown */
	bool perfmon;      /* the broker has CAP_PERFMON or CAP_SYS_ADMIN */
	bool cpu_wide;     /* events on all processes of a CPU */
	bool kernel;       /* kernel side of samples */
	bool cycles;       /* the CPU's cycle counter */
};

void host_probe(struct broker *b, struct host *ret_host);
unsigned abilities_list(const struct host *host, struct ability ret[RUN_ABILITIES_MAX]);
/* The plain events and whether each opens here. */
unsigned abilities_events(struct broker *b, struct run_event *ret, unsigned max);

#endif
