/* The privileged process: a fixed list of requests in, descriptors out. Parses nothing that others wrote. */
#ifndef PFL_BROKER_BROKER_H
#define PFL_BROKER_BROKER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct broker_setup {
	int sock;		   /* the engine's requests */
	pid_t engine_pid;
	const char *config_path;
	const char *reader_path;   /* the program of the reader */
	uid_t child_uid;	   /* whom a new reader runs as; (uid_t)-1: stay */
	gid_t child_gid;
	int signal_fd;		   /* SIGTERM, SIGINT, SIGHUP, SIGCHLD */
};

/* Serves until the engine has ended; a signal to end is passed on to the engine first, SIGHUP too.
 * Returns the exit status for the whole program. */
int broker_serve(const struct broker_setup *setup);

#endif
