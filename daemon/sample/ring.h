/* One mmap'd perf ring. Belongs to the sampler thread. */
#ifndef PFL_SAMPLE_RING_H
#define PFL_SAMPLE_RING_H

#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"

struct ring;

/* Maps the ring of a perf descriptor, which may be closed afterwards. data_bytes: a power of two of
 * pages. -EPERM: over RLIMIT_MEMLOCK; -EINVAL. */
int ring_new(int perf_fd, size_t data_bytes, struct ring **ret_ring);
void ring_free(struct ring *r);
AUTO_FREE_FN(struct ring, ring_free)

/* Freezes how far this round reads: takes the kernel's head. Returns the bytes there are to read.
 */
size_t ring_take_head(struct ring *r);
/* The next whole record before that head, in place; one that wraps is joined in a buffer of the
 * ring. NULL: none left. Lent until ring_advance(). A record of impossible size ends the round's
 * reading of this ring: the rest is skipped and *ret_skipped (bytes, else 0) says so. */
const void *ring_peek(struct ring *r, size_t *ret_len, size_t *ret_skipped);
void ring_advance(struct ring *r);
/* Hands what was read back to the kernel. */
void ring_commit(struct ring *r);
/* Reading begins again at what was not handed back. */
void ring_rewind(struct ring *r);
/* Read, but not handed back yet. */
size_t ring_uncommitted(const struct ring *r);
size_t ring_bytes(const struct ring *r);
/* The fullest it was found at a ring_take_head(), in bytes. */
size_t ring_peak(const struct ring *r);

#endif
