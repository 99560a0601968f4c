/* What the reader may still do, once and for all: use memory, read the files it is handed, answer.
 */
#ifndef PFL_READER_SANDBOX_H
#define PFL_READER_SANDBOX_H

#include <stdint.h>

struct sandbox_limits {
	uint64_t memory_bytes; /* of its own; files that are mapped for reading do not count */
	uint64_t answer_bytes; /* of one answer */
};

/* Limits, capabilities, system calls. keep_fd: the one descriptor above 2 that stays open. */
int sandbox_enter(const struct sandbox_limits *limits, int keep_fd);

#endif
