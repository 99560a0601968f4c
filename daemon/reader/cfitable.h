/* A file's unwind rules as one table: .eh_frame, and .debug_frame where that has nothing. */
#ifndef PFL_READER_CFITABLE_H
#define PFL_READER_CFITABLE_H

#include <stdint.h>
#include "daemon/reader/image.h"

/* The table (daemon/cfi/table.h) as a sealed memfd, the caller's. -ENODATA: the file has no rules
 * for x86-64. -EFBIG: more rows, or more address space, than a table can have. -ENOMEM. */
int cfitable_make(const struct image *img, int *ret_fd, uint64_t *ret_bytes);

#endif
