/* The names of a batch as they go out: frames per address, and each string once. */
#ifndef PFL_READER_ANSWER_H
#define PFL_READER_ANSWER_H

#include <stdint.h>
#include "base/buf.h"
#include "base/map.h"
#include "daemon/reader/wire.h"

struct answer {
	struct buf starts, frames, strings;
	struct map *known; /* hash of a string -> its offset */
	struct map *names; /* address of a mangled name in the file -> offset of what is shown */
	char *demangled;   /* DEMANGLE_OUT_MAX bytes */
	int raw;           /* no demangling */
};

int answer_init(struct answer *a, int raw);
void answer_done(struct answer *a);
/* The offset of a string; 0 when memory or the cap is reached, which the closing call reports. */
uint32_t answer_string(struct answer *a, const char *text, size_t len);
/* The same for a symbol of a file that stays mapped: without its @VERSION, demangled, with suffix.
 */
uint32_t answer_symbol(struct answer *a, const char *name, const char *suffix);
/* Before the frames of each address. */
void answer_next_address(struct answer *a);
void answer_frame(struct answer *a, const struct reader_frame *f);
/* Everything as one memfd, sealed. */
int answer_to_memfd(struct answer *a, int *ret_fd, uint64_t *ret_bytes);
/* Seals an answer of other kinds. */
int answer_seal(const void *data, size_t bytes, int *ret_fd);

#endif
