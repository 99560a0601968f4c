/* A command that waits, once it is a process, until it is told to begin. */
#ifndef PFL_CLI_LAUNCH_H
#define PFL_CLI_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

/* pid 0: none. The process ends when we end before it began. */
struct launch {
	pid_t pid;
	int go_fd, failed_fd;
	int pidfd; /* readable once it has ended */
};

/* 0 or a negative errno. */
int launch_prepare(char **argv, struct launch *l);
/* It becomes the command. 0, or the negative errno of why it cannot; it has ended then. */
int launch_begin(struct launch *l);
/* Once it has ended: its exit status as shells tell it, 128 and the signal where one ended it. */
int launch_status(struct launch *l);
/* Ends it if it has not begun, and lets go of it. */
void launch_done(struct launch *l);

#endif
