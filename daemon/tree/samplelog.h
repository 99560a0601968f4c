/* The last samples one by one: a ring of log_entry that overwrites its oldest, and counts them.
 * Sampler thread. */
#ifndef PFL_TREE_SAMPLELOG_H
#define PFL_TREE_SAMPLELOG_H

#include <stddef.h>
#include <stdint.h>
#include "daemon/tree/profile.h"

/* All zero holds nothing and keeps nothing.
 * Invariant: count <= cap; next < cap is where the next one goes, and once count is cap, the
 * oldest. */
struct samplelog {
	struct log_entry *ring;
	uint32_t cap, count, next;
	uint64_t dropped;
	uint64_t from_ns; /* every entry from this time on is there; 0: all are */
};

/* Address space is taken at once, memory as it fills. cap may be 0. -ENOMEM. */
int samplelog_init(struct samplelog *l, uint32_t cap);
/* Room for more or fewer; the newest stay. -ENOMEM: as before. */
int samplelog_resize(struct samplelog *l, uint32_t cap);
void samplelog_done(struct samplelog *l);
/* Entries of node i are of node to[i] from now on. */
void samplelog_renumber(struct samplelog *l, const uint32_t *to);
void samplelog_add(struct samplelog *l, const struct log_entry *e);
/* In the order they came. *ret_log is not NULL unless cap is 0. */
int samplelog_copy(const struct samplelog *l, struct log_entry **ret_log, uint32_t *ret_count);
size_t samplelog_bytes(const struct samplelog *l);

#endif
