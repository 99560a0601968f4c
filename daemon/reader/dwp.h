/* A package of split DWARF (.dwp): the parts of one unit, put together as the .dwo file that they
 * once were. */
#ifndef PFL_READER_DWP_H
#define PFL_READER_DWP_H

#include <stdint.h>
#include "base/buf.h"
#include "daemon/reader/image.h"

/* The unit's file into into, which is empty. -ENOENT: it is not in the package; -EBADMSG; -ENOMEM.
 */
int dwp_extract(const struct image *package, uint64_t id, struct buf *into);

#endif
