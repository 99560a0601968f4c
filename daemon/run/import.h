/* A perf.data file through the same pipeline as a living process: one unwinder, address spaces,
 * modules and call tree for each import, all on the thread that calls. Folded stacks are told by
 * their content: see import_folded.h. */
#ifndef PFL_RUN_IMPORT_H
#define PFL_RUN_IMPORT_H

#include <stdatomic.h>
#include "daemon/run/session.h"
#include "daemon/symbol/names.h"

struct import_setup {
	const struct config *config;
	struct broker *broker;
	struct names *names;
	uid_t owner;
	const char *name;        /* UTF-8 */
	const atomic_bool *stop; /* becomes true: the import is to end */
};

/* An enum run_error; message on failure. The session has ended; its id is still to be given. */
int import_file(const struct import_setup *setup, int fd, struct session **ret_session,
	struct buf *message);

#endif
