/* mainexit DELAY [SECONDS]: the leader ends after DELAY seconds; orphan_work goes on in worker. */
#include <pthread.h>

#include "target.h"

NI void orphan_work(void)
{
	spin(100000);
}

static void *worker(void *unused)
{
	for (;;)
		orphan_work();
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t t;

	target_ends_after(argc > 2 ? argv[2] : NULL);
	if (pthread_create(&t, NULL, worker, NULL) != 0)
		return 1;
	sleep(argc > 1 ? (unsigned)atoi(argv[1]) : 0);
	pthread_exit(NULL);
}
