/* latethread DELAY [SECONDS]: old_fn works from the start; after DELAY seconds a thread that is not
 * the leader makes another one, which works in new_fn. */
#include <pthread.h>

#include "target.h"

static int delay;

NI void old_fn(void)
{
	spin(100000);
}

NI void new_fn(void)
{
	spin(100000);
}

static void *old_thread(void *unused)
{
	for (;;)
		old_fn();
	return unused;
}

static void *new_thread(void *unused)
{
	for (;;)
		new_fn();
	return unused;
}

static void *maker(void *unused)
{
	pthread_t t;

	sleep((unsigned)delay);
	pthread_create(&t, NULL, new_thread, NULL);
	for (;;)
		pause();
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t t;

	delay = argc > 1 ? atoi(argv[1]) : 3;
	target_ends_after(argc > 2 ? argv[2] : NULL);
	if (pthread_create(&t, NULL, old_thread, NULL) || pthread_create(&t, NULL, maker, NULL))
		return 1;
	for (;;)
		pause();
}
