/* A stream of bytes as a gzip file, for what goes out while somebody waits: the fastest level.
 * Belongs to one thread. */
#ifndef PFL_BASE_GZIP_H
#define PFL_BASE_GZIP_H

#include <stddef.h>
#include "base/buf.h"
#include "base/cleanup.h"

struct gzip;
int gzip_new(struct gzip **ret_gzip);
void gzip_free(struct gzip *z);
AUTO_FREE_FN(struct gzip, gzip_free)
/* Appends to into what is ready, which may be nothing yet. 0, or into's error. */
int gzip_add(struct gzip *z, const void *data, size_t len, struct buf *into);
/* All that was held back, and the end of the file. */
int gzip_end(struct gzip *z, struct buf *into);

#endif
