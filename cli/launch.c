#include "cli/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child. Its name is that of the command already, for who looks at it now. */
static void wait_and_become(char **argv, int go, int failed)
{
	const char *slash = strrchr(argv[0], '/');
	ssize_t n;
	char byte;
	int error;

	/* What is meant for the command ends it, and is not taken here. */
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	(void)prctl(PR_SET_NAME, slash ? slash + 1 : argv[0]);
	while ((n = read(go, &byte, 1)) != 1)
		if (n == 0 || errno != EINTR)
			_exit(0); /* whoever started us is gone */
	execvp(argv[0], argv);
	error = errno;
	if (write(failed, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

int launch_prepare(char **argv, struct launch *l)
{
	int go[2], failed[2], r;

	*l = (struct launch){.go_fd = -1, .failed_fd = -1, .pidfd = -1};
	if (pipe2(go, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(failed, O_CLOEXEC) < 0) {
		r = -errno;
		close(go[0]);
		close(go[1]);
		return r;
	}
	l->pid = fork();
	if (l->pid == 0) {
		close(go[1]);
		wait_and_become(argv, go[0], failed[1]);
	}
	r = l->pid < 0 ? -errno : 0;
	close(go[0]);
	close(failed[1]);
	l->go_fd = go[1];
	l->failed_fd = failed[0];
	if (r == 0) {
		l->pidfd = (int)syscall(SYS_pidfd_open, l->pid, 0);
		r = l->pidfd < 0 ? -errno : 0;
	} else {
		l->pid = 0;
	}
	if (r < 0)
		launch_done(l);
	return r;
}

int launch_begin(struct launch *l)
{
	int error = 0;
	ssize_t n = write(l->go_fd, "", 1);

	close(l->go_fd);
	l->go_fd = -1;
	if (n != 1)
		return -EPIPE;
	do
		n = read(l->failed_fd, &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	if (n != sizeof(error))
		return 0;
	(void)launch_status(l);
	return error > 0 ? -error : -EINVAL;
}

int launch_status(struct launch *l)
{
	int status = 0;

	if (l->pid <= 0)
		return 0;
	while (waitpid(l->pid, &status, 0) < 0)
		if (errno != EINTR)
			break;
	l->pid = 0;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void launch_done(struct launch *l)
{
	bool waits = l->go_fd >= 0;

	if (l->go_fd >= 0)
		close(l->go_fd);
	if (l->failed_fd >= 0)
		close(l->failed_fd);
	if (l->pidfd >= 0)
		close(l->pidfd);
	l->go_fd = l->failed_fd = l->pidfd = -1;
	if (waits)
		(void)launch_status(l);
	l->pid = 0;
}
