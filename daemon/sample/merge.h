/* Records of many rings in the order of their time. Sampler thread. */
#ifndef PFL_SAMPLE_MERGE_H
#define PFL_SAMPLE_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"

struct ring;
struct merge;

/* What a round takes part in it with, one for each ring, and the record that it stands at. */
struct merge_source {
	struct ring *ring;
	bool sampling;        /* of equal times the sideband's comes first */
	unsigned slot, index; /* the caller's */
	const void *bytes;    /* lent until the next merge_next() */
	size_t len;
	uint64_t t_ns;
};

int merge_new(struct merge **ret_merge);
void merge_free(struct merge *m);
AUTO_FREE_FN(struct merge, merge_free)

/* Begins a round: what is stamped after until_ns stays in its ring for the next. */
void merge_begin(struct merge *m, uint64_t until_ns);
/* A ring whose head has been taken. */
int merge_add(struct merge *m, struct ring *ring, bool sampling, unsigned slot, unsigned index);
/* The next record of all, or NULL. Rings are committed as they are read, and at the end.
 * *skipped grows by the bytes that were no records. */
const struct merge_source *merge_next(struct merge *m, uint64_t *skipped);

#endif
