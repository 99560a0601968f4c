/* A broker in the test's own process: the calls of daemon/broker/client.h made directly. Linked in
 * place of the real client. */
#ifndef PFL_TESTS_FAKE_BROKER_H
#define PFL_TESTS_FAKE_BROKER_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <sys/types.h>
#include "daemon/broker/client.h"

struct fake_broker {
	const char *proc_root;   /* NULL: /proc */
	const char *cgroup_root; /* NULL: /sys/fs/cgroup/unified, or /sys/fs/cgroup */
	const char *trace_root;  /* NULL: /sys/kernel/tracing */
	const char *cpus_online; /* texts of host files, NULL: the real ones */
	const char *max_rate;
	const char *paranoid;
	/* Asked before each event: 0 goes on, a negative errno is the answer. */
	int (*before_perf_open)(const struct perf_event_attr *attr, pid_t pid, int cpu, void *arg);
	void *arg;
	unsigned perf_opened;
	unsigned requests;
};
extern struct fake_broker fake;

/* Whatever pointer will do for the calls. */
struct broker *fake_broker(void);
/* Forgets all settings. */
void fake_broker_reset(void);
/* Open descriptors of this process. */
unsigned fake_count_fds(void);

#endif
