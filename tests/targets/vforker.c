/* vforker: its children work on its own stack while it waits, and end; then it works itself. */
#include <sys/wait.h>

#include "target.h"

NI static void child_works(void)
{
	spin(20000000);
}

NI static void parent_works(void)
{
	spin(20000000);
}

NI static void with_child(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		child_works();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	KEEP;
}

int main(void)
{
	for (;;) {
		with_child();
		parent_works();
	}
}
