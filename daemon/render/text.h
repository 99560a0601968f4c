/* Helpers of what people read. */
#ifndef PFL_RENDER_TEXT_H
#define PFL_RENDER_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"

/* "1,234,567" */
void text_number(struct buf *into, uint64_t x);
/* As plain text, at most max bytes of it, by whole characters. Returns how many. */
size_t text_plain(struct buf *into, const char *text, size_t max);
/* "2023-11-14T22:13:20.000Z" */
void text_time(struct buf *into, uint64_t wall_ns);

#endif
