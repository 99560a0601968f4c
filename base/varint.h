/* Numbers as bytes: 7 bits to each, lowest first; all but the last have the high bit set. */
#ifndef PFL_BASE_VARINT_H
#define PFL_BASE_VARINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"

#define VARINT_BYTES 10 /* of the longest */

static inline void put_number(struct buf *into, uint64_t x)
{
	char *at;

	/* One look at the room for all of its bytes: profiles have millions of these. */
	if (into->error || buf_reserve(into, VARINT_BYTES, &at) < 0)
		return;
	while (x >= 0x80) {
		*at++ = (char)(x | 0x80);
		x >>= 7;
	}
	*at++ = (char)x;
	*at = 0;
	into->len = (size_t)(at - into->data);
}

/* Small ones stay short, whatever their sign. */
static inline void put_signed(struct buf *into, int64_t x)
{
	put_number(into, (uint64_t)x << 1 ^ -(uint64_t)(x < 0));
}

/* Invariant: at <= end. Once bad is set, all that is read is 0. */
struct reading {
	const uint8_t *at, *end;
	bool bad;
};

static inline uint64_t get_number(struct reading *r)
{
	uint64_t x = 0;

	for (unsigned shift = 0; r->at < r->end && shift < 70; shift += 7) {
		uint64_t bits = *r->at & 0x7f;

		/* The tenth byte has room for one bit. */
		if (shift == 63 && bits > 1)
			break;
		x |= bits << shift;
		if (*r->at++ < 0x80)
			return x;
	}
	r->bad = true;
	r->at = r->end;
	return 0;
}

static inline int64_t get_signed(struct reading *r)
{
	uint64_t x = get_number(r);

	return (int64_t)(x >> 1 ^ -(x & 1));
}

static inline uint32_t get_u32(struct reading *r)
{
	uint64_t x = get_number(r);

	if (x > UINT32_MAX) {
		r->bad = true;
		return 0;
	}
	return (uint32_t)x;
}

/* A number of elements that take at least each bytes: no more than what is left can hold. */
static inline uint32_t get_count(struct reading *r, size_t each)
{
	uint32_t n = get_u32(r);

	if ((uint64_t)n * each > (size_t)(r->end - r->at)) {
		r->bad = true;
		return 0;
	}
	return n;
}

/* len bytes where they lie; NULL when there are fewer. */
static inline const void *get_bytes(struct reading *r, uint64_t len)
{
	const void *at = r->at;

	if (len > (size_t)(r->end - r->at)) {
		r->bad = true;
		return NULL;
	}
	r->at += len;
	return at;
}

#endif
