#include "daemon/broker/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/log.h"
#include "daemon/broker/caps.h"

#define FIRST_FD      3
#define ABOVE_OURS    64
#define FAILED        127
#define VARIABLES_MAX 32

/* Not DEBUGINFOD_URLS and the like: libraries act on them by themselves. */
static const char *const kept_variables[] = {
	"JOURNAL_STREAM=",
	"TZ=",
	"LANG=",
	"LC_ALL=",
	"LD_LIBRARY_PATH=",
	"LD_PRELOAD=",
	"ASAN_OPTIONS=",
	"LSAN_OPTIONS=",
	"TSAN_OPTIONS=",
	"UBSAN_OPTIONS=",
	"LLVM_PROFILE_FILE=",
	"GCOV_PREFIX=",
	"GCOV_PREFIX_STRIP=",
};

static void pick_environment(char *out[VARIABLES_MAX])
{
	size_t count = 0;

	for (char **e = environ; *e && count < VARIABLES_MAX - 1; e++) {
		for (size_t i = 0; i < sizeof(kept_variables) / sizeof(kept_variables[0]); i++) {
			if (strncmp(*e, kept_variables[i], strlen(kept_variables[i])) == 0)
				out[count++] = *e;
		}
	}
	out[count] = NULL;
}

/* All go up first, so that none is overwritten before it is moved. */
static int place_fds(const struct spawn *s, int *ret_program_fd)
{
	int high[SPAWN_FDS_MAX], program = -1;

	if (s->program_fd >= 0) {
		program = fcntl(s->program_fd, F_DUPFD_CLOEXEC, ABOVE_OURS);
		if (program < 0)
			return -errno;
	}

	for (size_t i = 0; i < s->fd_count; i++) {
		high[i] = s->fds[i] < 0 ? -1 : fcntl(s->fds[i], F_DUPFD_CLOEXEC, ABOVE_OURS);
		if (s->fds[i] >= 0 && high[i] < 0)
			return -errno;
	}
	for (size_t i = 0; i < s->fd_count; i++) {
		int at = FIRST_FD + (int)i;

		if (high[i] < 0)
			close(at);
		else if (dup2(high[i], at) < 0)
			return -errno;
	}
	/* For what a library or our parent left open: ours are so already. */
	(void)close_range(FIRST_FD + (unsigned)s->fd_count, ~0u, CLOSE_RANGE_CLOEXEC);
	*ret_program_fd = program;
	return 0;
}

static int prepare_child(const struct spawn *s, pid_t parent, int *ret_program_fd)
{
	sigset_t none;
	int r;

	(void)setpgid(0, 0);
	if (s->dir_fd >= 0 && fchdir(s->dir_fd) < 0)
		return -errno;
	r = place_fds(s, ret_program_fd);
	if (r < 0)
		return r;
	r = caps_become(s->uid, s->gid, s->caps, 1);
	if (r < 0)
		return r;
	/* After the change of user, which clears it. */
	if (s->death_signal && prctl(PR_SET_PDEATHSIG, s->death_signal) < 0)
		return -errno;
	if (getppid() != parent)
		return -ESRCH;
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	return sigprocmask(SIG_SETMASK, &none, NULL) < 0 ? -errno : 0;
}

static int become_program(const struct spawn *s, int program_fd)
{
	char *environment[VARIABLES_MAX];
	char *const *argv = (char *const *)s->argv;

	pick_environment(environment);
	if (program_fd >= 0)
		execveat(program_fd, "", argv, environment, AT_EMPTY_PATH);
	else
		execve(s->path, argv, environment);
	return -errno;
}

int spawn(const struct spawn *s, pid_t *ret_pid)
{
	pid_t parent = getpid(), pid;
	int r, program_fd = -1;

	if (s->fd_count > SPAWN_FDS_MAX)
		return -EINVAL;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid > 0) {
		*ret_pid = pid;
		return 0;
	}
	r = prepare_child(s, parent, &program_fd);
	if (r == 0)
		r = become_program(s, program_fd);
	log_error("cannot start %s: %s", s->path, strerror(-r));
	_exit(FAILED);
}
