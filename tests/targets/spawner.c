/* spawner RATE LOOPS COUNT [SECONDS]: starts ./brief LOOPS, beside itself, COUNT times (0: for
 * ever) and at most RATE times a second (0: one after the other), then waits. The parent's own work
 * is spawner_fn, as much each time as a child has. */
#include <libgen.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>

#include "target.h"

extern char **environ;

NI void spawner_fn(unsigned long n)
{
	spin(n);
	KEEP;
}

static void pause_until(struct timespec *next, long step_ns)
{
	next->tv_nsec += step_ns;
	if (next->tv_nsec >= 1000000000) {
		next->tv_nsec -= 1000000000;
		next->tv_sec++;
	}
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, next, NULL);
}

int main(int argc, char **argv)
{
	long rate = argc > 1 ? atol(argv[1]) : 0, left = argc > 3 ? atol(argv[3]) : 0;
	char *loops = argc > 2 ? argv[2] : "40000000";
	char self[4096], path[4200];
	char *child[] = {"brief", loops, NULL};
	struct timespec next;
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	pid_t pid;

	if (len < 0)
		return 1;
	self[len] = 0;
	snprintf(path, sizeof(path), "%s/brief", dirname(self));
	target_ends_after(argc > 4 ? argv[4] : NULL);
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (long n = 0; left == 0 || n < left; n++) {
		if (posix_spawn(&pid, path, NULL, NULL, child, environ) != 0)
			return 1;
		if (rate > 0) {
			pause_until(&next, 1000000000 / rate);
			while (waitpid(-1, NULL, WNOHANG) > 0)
				;
		} else {
			spawner_fn(strtoul(loops, NULL, 10));
			waitpid(pid, NULL, 0);
		}
	}
	while (wait(NULL) > 0)
		;
	for (;;)
		pause();
}
