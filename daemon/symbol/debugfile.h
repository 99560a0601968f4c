/* Where separate debug files may lie: the build-id folders of the host and of the target, and the
 * places that a .gnu_debuglink stands for. */
#ifndef PFL_SYMBOL_DEBUGFILE_H
#define PFL_SYMBOL_DEBUGFILE_H

#include <stdbool.h>
#include "daemon/broker/client.h"
#include "daemon/reader/wire.h"
#include "daemon/symbol/module.h"

/* Takes fd. True: that is it, look no further. */
typedef bool (*debugfile_fn)(int fd, const char *path, void *arg);

/* Hands each file that is there to found, likeliest first, never the module's own. True: one was
 * taken. */
bool debugfile_search(struct broker *b, const struct module *m, const struct reader_debuglink *link,
	debugfile_fn found, void *arg);

/* One of the paths that are made of build ids. */
bool debugfile_is_by_id(const char *path);

/* The paths alone, for number 0, 1, …: *ret_pid is 0 for the host's files. False: no more. Pure. */
#define DEBUGFILE_PATH_MAX 4096
bool debugfile_candidate(const struct module *m, const struct reader_debuglink *link,
	unsigned number, char path[DEBUGFILE_PATH_MAX], pid_t *ret_pid);

#endif
