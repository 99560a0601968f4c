/* forkexec [SECONDS]: again and again a child is made, works in child_pre, becomes ./three and is
 * killed a little later; the parent works in parent_fn meanwhile. All children are gone at the end.
 */
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "target.h"

NI void parent_fn(void)
{
	spin(60000000);
	KEEP;
}

NI void child_pre(void)
{
	spin(120000000);
	KEEP;
}

int main(int argc, char **argv)
{
	char self[4096], path[4200];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (len < 0)
		return 1;
	self[len] = 0;
	snprintf(path, sizeof(path), "%s/three", dirname(self));
	target_ends_after(argc > 1 ? argv[1] : NULL);
	for (;;) {
		pid_t pid = fork();

		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			child_pre();
			execl(path, "three", (char *)NULL);
			_exit(1);
		}
		parent_fn();
		usleep(200000);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
}
