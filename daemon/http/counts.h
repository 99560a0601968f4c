/* Requests by route and status, and how long they took. Any thread. */
#ifndef PFL_HTTP_COUNTS_H
#define PFL_HTTP_COUNTS_H

#include <pthread.h>
#include <stdint.h>
#include "daemon/http/route.h"

#define COUNTS_STATUS_MAX 32
#define COUNTS_BUCKETS    12

struct counts {
	pthread_mutex_t lock;
	unsigned status[COUNTS_STATUS_MAX]; /* in order of appearance */
	unsigned status_count;
	uint64_t requests[ROUTES_MAX][COUNTS_STATUS_MAX]; /* the last used row: no route */
	uint64_t buckets[COUNTS_BUCKETS + 1]; /* each for itself; the last: slower than all */
	uint64_t sum_ns;
};

void counts_init(struct counts *c);
void counts_done(struct counts *c);
/* route NULL: none. */
void counts_add(struct counts *c, const struct route *route, unsigned status, uint64_t took_ns);
/* A copy in which all numbers belong together. */
void counts_get(struct counts *c, struct counts *ret_copy);
/* Upper bound of a bucket in seconds. */
double counts_bound(unsigned bucket);

#endif
