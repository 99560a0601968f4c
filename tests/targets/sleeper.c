/* sleeper [SECONDS]: a thread in awake, which works a tenth of the time, and one in asleep, which
 * waits all the time but for what waiting costs. */
#include <pthread.h>
#include <time.h>

#include "target.h"

NI void awake(void)
{
	spin(20000000);
	KEEP;
}

NI void asleep(void)
{
	usleep(50000);
	KEEP;
}

static void *sleeping(void *unused)
{
	for (;;)
		asleep();
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t t;

	target_ends_after(argc > 1 ? argv[1] : NULL);
	if (pthread_create(&t, NULL, sleeping, NULL) != 0)
		return 1;
	for (;;) {
		awake();
		usleep(90000);
	}
}
