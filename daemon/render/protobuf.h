/* Fields of protobuf messages: key (number and wire type) and value. What has its default, 0 or
 * "", is left out as proto3 does. https://protobuf.dev/programming-guides/encoding/ */
#ifndef PFL_RENDER_PROTOBUF_H
#define PFL_RENDER_PROTOBUF_H

#include "base/varint.h"

#define PROTOBUF_VARINT 0u
#define PROTOBUF_BYTES  2u

static inline void protobuf_number(struct buf *into, unsigned field, uint64_t value)
{
	if (value == 0)
		return;
	put_number(into, field << 3 | PROTOBUF_VARINT);
	put_number(into, value);
}

/* A string, an inner message or packed numbers; an empty one is written too, for repeated fields.
 */
static inline void protobuf_bytes(struct buf *into, unsigned field, const void *data, size_t len)
{
	put_number(into, field << 3 | PROTOBUF_BYTES);
	put_number(into, len);
	buf_append(into, data, len);
}

/* The same of a message in a buffer, which is empty afterwards. */
static inline void protobuf_message(struct buf *into, unsigned field, struct buf *message)
{
	if (message->error && !into->error)
		into->error = message->error;
	protobuf_bytes(into, field, message->data, message->len);
	buf_clear(message);
}

#endif
