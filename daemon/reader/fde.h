/* Where functions begin by the tables for unwinding, which also a stripped file has. */
#ifndef PFL_READER_FDE_H
#define PFL_READER_FDE_H

#include <stdbool.h>
#include <stdint.h>
#include "daemon/reader/image.h"

struct fde_range {
	uint64_t start, end;
};

struct fde_table {
	const struct image *img;
	const uint8_t *sorted; /* of .eh_frame_hdr: pairs of 32-bit offsets from hdr; NULL: none */
	uint64_t hdr, sorted_count;
	struct fde_range *ranges; /* read from .eh_frame instead, where there is no such table */
	uint32_t range_count;
};

/* A file without tables gives an empty one. -ENOMEM. */
int fde_init(struct fde_table *t, const struct image *img);
void fde_done(struct fde_table *t);
/* The function that holds addr. */
bool fde_find(const struct fde_table *t, uint64_t addr, struct fde_range *ret_range);

#endif
