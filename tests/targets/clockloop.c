/* clockloop [SECONDS]: clock_loop reads the clock in the vDSO. */
#include <time.h>

#include "target.h"

static volatile long sink;

NI void clock_loop(void)
{
	struct timespec t;

	for (int i = 0; i < 100000; i++) {
		clock_gettime(CLOCK_MONOTONIC, &t);
		sink += t.tv_nsec;
	}
}

int main(int argc, char **argv)
{
	target_ends_after(argc > 1 ? argv[1] : NULL);
	for (;;)
		clock_loop();
}
