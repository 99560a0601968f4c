/* Helpers of what people read. */
#ifndef PFL_RENDER_TEXT_H
#define PFL_RENDER_TEXT_H

#include <stdint.h>
#include "base/buf.h"

/* "1,234,567" */
void text_number(struct buf *into, uint64_t x);
/* "2023-11-14T22:13:20.000Z" */
void text_time(struct buf *into, uint64_t wall_ns);

#endif
