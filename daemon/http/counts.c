#include "daemon/http/counts.h"

static const double bounds[COUNTS_BUCKETS] = {
	0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30};

double counts_bound(unsigned bucket)
{
	return bounds[bucket];
}

void counts_init(struct counts *c)
{
	*c = (struct counts){0};
	pthread_mutex_init(&c->lock, NULL);
}

void counts_done(struct counts *c)
{
	pthread_mutex_destroy(&c->lock);
}

/* The column of a status. When there is no room for another, the last one stands for the rest. */
static unsigned column(struct counts *c, unsigned status)
{
	for (unsigned i = 0; i < c->status_count; i++)
		if (c->status[i] == status)
			return i;
	if (c->status_count == COUNTS_STATUS_MAX)
		return COUNTS_STATUS_MAX - 1;
	c->status[c->status_count] = status;
	return c->status_count++;
}

void counts_add(struct counts *c, const struct route *route, unsigned status, uint64_t took_ns)
{
	unsigned row = route ? route_index(route) : route_count(), bucket = 0;

	while (bucket < COUNTS_BUCKETS && (double)took_ns / 1e9 > bounds[bucket])
		bucket++;
	pthread_mutex_lock(&c->lock);
	c->requests[row][column(c, status)]++;
	c->buckets[bucket]++;
	c->sum_ns += took_ns;
	pthread_mutex_unlock(&c->lock);
}

void counts_get(struct counts *c, struct counts *ret_copy)
{
	pthread_mutex_lock(&c->lock);
	*ret_copy = *c;
	pthread_mutex_unlock(&c->lock);
}
