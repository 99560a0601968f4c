/* What the starter hands the engine, or profiled-report in its place: descriptors of fixed numbers,
 * the first of them a memfd with this struct. Its working directory is the folder of the store,
 * which it may not be able to reach by path. */
#ifndef PFL_ENGINE_H
#define PFL_ENGINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "daemon/config.h"

enum engine_fd {
	ENGINE_FD_SETUP = 3,
	ENGINE_FD_BROKER,
	ENGINE_FD_UNIX,
	ENGINE_FD_TCP,
	ENGINE_FD_NOTIFY,
	ENGINE_FD_ATTACHER,
	ENGINE_FD_LOCK, /* of the store's folder: held for as long as the engine lives */
	ENGINE_FDS = ENGINE_FD_LOCK - ENGINE_FD_SETUP + 1,
	/* Of profiled-report, which serves nobody: */
	ENGINE_FD_RECORDING = ENGINE_FD_UNIX,
	ENGINE_FD_PROFILE = ENGINE_FD_TCP,
	ENGINE_FD_SESSION = ENGINE_FD_NOTIFY,
	ENGINE_FD_KERNEL = ENGINE_FD_LOCK, /* keeps its symbols */
};

#define ENGINE_OVERRIDES_MAX 16384u
#define ENGINE_TOKEN_BYTES   65u
#define ENGINE_QUERY_MAX     4096u

struct engine_setup {
	uint64_t bytes;        /* of this struct: starter and engine are of one build */
	struct config config;  /* in force */
	struct config builtin; /* where to begin when the file is read again */
	uint32_t overrides_bytes;
	char overrides[ENGINE_OVERRIDES_MAX]; /* "section.key=value", each closed by a zero */
	char config_path[4096];               /* for messages */
	char token[ENGINE_TOKEN_BYTES];
	bool config_named; /* on the command line: then it has to be there */
	bool has_unix, has_tcp, has_notify, has_attacher;
	bool own_socket; /* not handed down by a service manager: its file is ours to remove */
	uid_t self_uid;  /* whoever started the daemon */
	gid_t group;
	uint64_t watchdog_ns;         /* 0: nobody waits for a sign of life */
	char query[ENGINE_QUERY_MAX]; /* of a report */
};

/* What was handed over, by the program that it was handed to; -errno: it was not started so. */
int engine_read_setup(struct engine_setup *setup);

#endif
