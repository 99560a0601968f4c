/* A file's unwind rules as one table: .eh_frame, and where that has nothing Go's table, and
 * .debug_frame, its own or that of its debug file. */
#ifndef PFL_READER_CFITABLE_H
#define PFL_READER_CFITABLE_H

#include <stdbool.h>
#include <stdint.h>
#include "daemon/reader/image.h"

/* The table (daemon/cfi/table.h) as a sealed memfd, the caller's. debug: or NULL. *ret_gaps, also
 * with -ENODATA: a good part of the file's code has no rules. -ENODATA: there are none for x86-64.
 * -EFBIG: more rows, or more address space, than a table can have. -ENOMEM. */
int cfitable_make(const struct image *img, const struct image *debug, int *ret_fd,
	uint64_t *ret_bytes, bool *ret_gaps);

#endif
