/* What the daemon's own processes use. */
#ifndef PFL_HTTP_USAGE_H
#define PFL_HTTP_USAGE_H

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>
#include "daemon/broker/client.h"

#define USAGE_PROCESSES 3

struct usage {
	const char *role;   /* "engine", "broker", "reader" */
	pid_t pid;          /* 0: none runs now */
	double cpu_seconds; /* of all that had the role, so that it never falls */
	uint64_t rss_bytes;
};

/* What is known of each role. Any thread. */
struct usages {
	pthread_mutex_t lock;
	struct usage of[USAGE_PROCESSES];
	double before[USAGE_PROCESSES]; /* CPU of those before the one that runs */
	double last[USAGE_PROCESSES];   /* CPU of that one when last seen */
	pid_t last_pid[USAGE_PROCESSES];
};

void usages_init(struct usages *u);
void usages_done(struct usages *u);
/* Those that run or have run; broker and engine may be one process, and are one entry then. Returns
 * how many. */
unsigned usages_read(struct usages *u, struct broker *b, struct usage ret[USAGE_PROCESSES]);

#endif
