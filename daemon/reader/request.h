/* One request of the engine to one answer. */
#ifndef PFL_READER_REQUEST_H
#define PFL_READER_REQUEST_H

#include <stddef.h>
#include <stdint.h>
#include "daemon/reader/wire.h"

#define READER_FDS_MAX 5

struct reader_reply {
	struct reader_answer head;
	int fd; /* the answer's memfd, the caller's to close; -1: none */
};

/* fds stay the caller's. cpu_ns: what the request may spend of this process' time: DWARF is left
 * when a part of it is gone; 0: no end. A refusal is a reply too: with a negative status. */
void reader_handle(const struct reader_request *req, const int *fds, size_t fd_count,
	uint64_t cpu_ns, struct reader_reply *reply);

/* Serves sock until the other end closes it. A request may use cpu_seconds of processor time and
 * READER_WALL_SECONDS of any: more ends this process. Returns 0, or a negative errno. */
int reader_serve(int sock, unsigned cpu_seconds);

#endif
