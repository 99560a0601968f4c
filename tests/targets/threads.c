/* threads IDLE [SECONDS]: IDLE threads that wait and one that works in one_busy. */
#include <pthread.h>

#include "target.h"

NI void one_busy(void)
{
	spin(100000);
}

static void *idle(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void *busy(void *unused)
{
	for (;;)
		one_busy();
	return unused;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 50;
	pthread_attr_t small;
	pthread_t t;

	target_ends_after(argc > 2 ? argv[2] : NULL);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (int i = 0; i < count; i++)
		if (pthread_create(&t, &small, idle, NULL) != 0)
			return 1;
	if (pthread_create(&t, &small, busy, NULL) != 0)
		return 1;
	for (;;)
		pause();
}
