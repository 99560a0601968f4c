/* A fixed amount of work eight calls deep, for measuring what a profiler costs its target: prints
 * the seconds that it took, each round. Arguments: rounds, threads. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline))

static volatile unsigned long sink;

static NOINLINE unsigned long work(unsigned depth, unsigned long n)
{
	unsigned long sum = 0;

	if (depth) {
		sum = work(depth - 1, n);
		__asm__ volatile("" : "+r"(sum));
		return sum + 1;
	}
	for (unsigned long i = 0; i < n; i++)
		sum += i * 2654435761u ^ (sum >> 3);
	return sum;
}

static void *run(void *arg)
{
	for (int i = 0; i < 200; i++)
		sink += work(8, 20000000);
	return NULL;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1, threads = argc > 2 ? atoi(argv[2]) : 1;
	pthread_t t[64];

	for (int r = 0; r < rounds; r++) {
		struct timespec from, to;

		clock_gettime(CLOCK_MONOTONIC, &from);
		for (int i = 1; i < threads && i < 64; i++)
			pthread_create(&t[i], NULL, run, NULL);
		run(NULL);
		for (int i = 1; i < threads && i < 64; i++)
			pthread_join(t[i], NULL);
		clock_gettime(CLOCK_MONOTONIC, &to);
		printf("%.6f\n",
			(double)(to.tv_sec - from.tv_sec) +
				(double)(to.tv_nsec - from.tv_nsec) / 1e9);
		fflush(stdout);
	}
	return 0;
}
