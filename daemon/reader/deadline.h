/* When to stop of one's own accord, well before the timers of a request end the process. */
#ifndef PFL_READER_DEADLINE_H
#define PFL_READER_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct deadline {
	uint64_t cpu_ns, wall_ns; /* by CLOCK_PROCESS_CPUTIME_ID and CLOCK_MONOTONIC; 0: none */
};

static inline uint64_t deadline_clock_ns(clockid_t clock)
{
	struct timespec t = {0};

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline struct deadline deadline_in(uint64_t cpu_ns, uint64_t wall_ns)
{
	return (struct deadline){
		.cpu_ns = deadline_clock_ns(CLOCK_PROCESS_CPUTIME_ID) + cpu_ns,
		.wall_ns = deadline_clock_ns(CLOCK_MONOTONIC) + wall_ns,
	};
}

static inline bool deadline_over(const struct deadline *d)
{
	return (d->cpu_ns && deadline_clock_ns(CLOCK_PROCESS_CPUTIME_ID) > d->cpu_ns) ||
		(d->wall_ns && deadline_clock_ns(CLOCK_MONOTONIC) > d->wall_ns);
}

#endif
