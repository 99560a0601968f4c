/* Starts a program of ours as a child with less than the caller has. */
#ifndef PFL_BROKER_SPAWN_H
#define PFL_BROKER_SPAWN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SPAWN_FDS_MAX 8

struct spawn {
	const char *path;
	int program_fd; /* the same program, opened; -1: by path, which the child's user must reach
			 */
	int dir_fd;     /* the working directory; -1: ours */
	const char *const *argv; /* NULL at the end */
	int fds[SPAWN_FDS_MAX];  /* become 3, 4, …; -1: that number stays closed */
	size_t fd_count;
	uid_t uid; /* (uid_t)-1: stay */
	gid_t gid;
	uint64_t caps;    /* to keep through exec */
	int death_signal; /* sent to it when we end */
};

/* The child has a process group of its own, so that a terminal's ^C reaches us alone, no blocked
 * signals, and of the environment what log, locale and sanitizers read. When it cannot be started
 * it says so in the log and ends with status 127. */
int spawn(const struct spawn *s, pid_t *ret_pid);

#endif
