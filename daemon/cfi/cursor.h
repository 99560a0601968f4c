/* Reads one number after another out of a view, never beyond an end. For the files of this folder.
 */
#ifndef PFL_CFI_CURSOR_H
#define PFL_CFI_CURSOR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "daemon/cfi/parse.h"

/* How an address is written: the low half of a DW_EH_PE byte is the form, the high half what it is
 * relative to. */
enum {
	FORM_ABS = 0x00,
	FORM_ULEB = 0x01,
	FORM_U2 = 0x02,
	FORM_U4 = 0x03,
	FORM_U8 = 0x04,
	FORM_SLEB = 0x09,
	FORM_S2 = 0x0a,
	FORM_S4 = 0x0b,
	FORM_S8 = 0x0c
};
enum { REL_NONE = 0x00, REL_PC = 0x10 };

/* A cursor over [at, end) of a view; ok goes false with the first read beyond and stays so. */
struct reader {
	const struct cfi_view *v;
	uint64_t at, end;
	bool ok;
};

static inline void take(struct reader *r, void *into, size_t len)
{
	if (!r->ok || len > r->end - r->at) {
		r->ok = false;
		memset(into, 0, len);
		return;
	}
	memcpy(into, r->v->bytes + r->at, len);
	r->at += len;
}

static inline uint8_t take_u8(struct reader *r)
{
	uint8_t x;

	take(r, &x, sizeof(x));
	return x;
}

static inline uint32_t take_u32(struct reader *r)
{
	uint32_t x;

	take(r, &x, sizeof(x));
	return x;
}

static inline void skip(struct reader *r, uint64_t len)
{
	if (!r->ok || len > r->end - r->at)
		r->ok = false;
	else
		r->at += len;
}

/* The bits of a LEB128 number, how many they are, and its last byte. */
static inline uint64_t take_leb(struct reader *r, unsigned *ret_bits, uint8_t *ret_last)
{
	uint64_t x = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = take_u8(r);
		if (shift < 64)
			x |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (r->ok && (byte & 0x80));
	*ret_bits = shift;
	*ret_last = byte;
	return x;
}

static inline uint64_t take_uleb(struct reader *r)
{
	unsigned bits;
	uint8_t last;

	return take_leb(r, &bits, &last);
}

static inline int64_t take_sleb(struct reader *r)
{
	unsigned bits;
	uint8_t last;
	uint64_t x = take_leb(r, &bits, &last);

	if (bits < 64 && (last & 0x40))
		x |= UINT64_MAX << bits;
	return (int64_t)x;
}

/* A number of that form, not yet made relative to anything. */
static inline uint64_t take_form(struct reader *r, uint8_t encoding)
{
	uint64_t u8 = 0;
	uint32_t u4 = 0;
	uint16_t u2 = 0;

	switch (encoding & 0x0f) {
	case FORM_ABS:
	case FORM_U8:
	case FORM_S8: take(r, &u8, 8); return u8;
	case FORM_U4: take(r, &u4, 4); return u4;
	case FORM_S4: take(r, &u4, 4); return (uint64_t)(int64_t)(int32_t)u4;
	case FORM_U2: take(r, &u2, 2); return u2;
	case FORM_S2: take(r, &u2, 2); return (uint64_t)(int64_t)(int16_t)u2;
	case FORM_ULEB: return take_uleb(r);
	case FORM_SLEB: return (uint64_t)take_sleb(r);
	default: r->ok = false; return 0;
	}
}

static inline uint64_t take_address(struct reader *r, uint8_t encoding)
{
	uint64_t vaddr = r->v->vaddr + r->at;
	uint64_t x = take_form(r, encoding);

	switch (encoding & 0xf0) {
	case REL_NONE: return x;
	case REL_PC: return vaddr + x;
	default: r->ok = false; return 0;
	}
}

#endif
