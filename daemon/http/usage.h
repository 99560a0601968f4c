/* What the daemon's own processes use. */
#ifndef PFL_HTTP_USAGE_H
#define PFL_HTTP_USAGE_H

#include <stdint.h>
#include <sys/types.h>
#include "daemon/broker/client.h"

#define USAGE_PROCESSES 3

struct usage {
	const char *role; /* "engine", "broker", "reader" */
	pid_t pid;
	double cpu_seconds;
	uint64_t rss_bytes;
};

/* Those that run, each pid once. Returns how many. */
unsigned usage_read(struct broker *b, struct usage ret[USAGE_PROCESSES]);

#endif
