/* The privileged process: a fixed list of requests in, descriptors out. Parses nothing that others
 * wrote. */
#ifndef PFL_BROKER_BROKER_H
#define PFL_BROKER_BROKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "daemon/broker/opener.h"
#include "daemon/broker/wire.h"

struct broker_setup {
	int sock;         /* the engine's requests; taken */
	pid_t engine_pid; /* a child of ours; 0: none, serve until the socket's other end closes */
	const char *config_path;      /* NULL: there is none */
	const char *reader_path;      /* the program of the reader; NULL: there is none */
	int reader_fd;                /* the same, opened; -1: by path */
	uint64_t reader_memory_bytes; /* its limits, given as --memory and --cpu-seconds */
	unsigned reader_cpu_seconds;
	uid_t child_uid; /* whom a new reader runs as; (uid_t)-1: stay */
	gid_t child_gid;
	bool engine_ipc_lock; /* the engine has CAP_IPC_LOCK */
	bool engine_ends;     /* by itself, when its work is done: how is how we end */
	int signal_fd;        /* SIGTERM, SIGINT, SIGHUP, SIGCHLD; -1: none */
};

/* Serves until the engine has ended; a signal to end is passed on to the engine first, SIGHUP too.
 * Returns the exit status for the whole program. */
int broker_serve(const struct broker_setup *setup);

/* One message to its answer, for broker_serve and for tests. *ret_fd is -1 or the caller's. */
struct broker_state {
	const struct broker_setup *setup;
	pid_t reader_pid; /* 0: none */
	uint64_t reader_started_ns;
	struct opener opener; /* zeroed: none yet */
};
void broker_answer(struct broker_state *state, const void *message, size_t len,
	struct broker_answer *ret_answer, int *ret_fd);

#endif
