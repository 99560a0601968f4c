#include "daemon/cfi/parse.h"

#include <string.h>
#include "daemon/cfi/cursor.h"

#define ENTRY_BYTES_MAX 65536
#define NO_CIE_ID       0xffffffffu /* what marks a CIE in .debug_frame */

bool cfi_entry_at(const struct cfi_view *v, uint64_t at, struct cfi_entry *ret)
{
	struct reader r = {v, at, v->len, at <= v->len};
	uint32_t len = take_u32(&r);

	/* 0 closes the list; 0xffffffff announces the 64-bit form, for sections over 4 GiB. */
	if (!r.ok || len < 4 || len > ENTRY_BYTES_MAX || len > r.end - r.at)
		return false;
	ret->id_at = r.at;
	ret->end = r.at + len;
	ret->id = take_u32(&r);
	ret->body = r.at;
	return true;
}

/* The letters of a "z" augmentation say in which order its bytes follow. */
static bool read_augmentation(struct reader *r, const char *letters, struct cfi_cie *ret)
{
	uint64_t len = take_uleb(r);
	uint64_t end = r->at + len;

	if (!r->ok || len > r->end - r->at)
		return false;
	for (; *letters; letters++) {
		uint8_t encoding;

		switch (*letters) {
		case 'R': ret->encoding = take_u8(r); break;
		case 'L': take_u8(r); break;
		case 'P':
			encoding = take_u8(r);
			take_form(r, encoding);
			break;
		case 'S': ret->signal = true; break;
		default: return false;
		}
	}
	if (!r->ok || r->at > end)
		return false;
	r->at = end;
	return true;
}

bool cfi_parse_cie(const struct cfi_view *v, uint64_t at, struct cfi_cie *ret)
{
	struct cfi_entry e;
	struct reader r;
	char letters[9];
	unsigned count = 0;
	uint8_t version;
	uint64_t column;

	if (!cfi_entry_at(v, at, &e) || e.id != 0)
		return false;
	r = (struct reader){v, e.body, e.end, true};
	*ret = (struct cfi_cie){.at = at, .encoding = FORM_ABS, .program_end = e.end};
	version = take_u8(&r);
	if (version != 1 && version != 3)
		return false;
	do {
		if (count == sizeof(letters))
			return false;
		letters[count] = (char)take_u8(&r);
	} while (letters[count++] != '\0');
	ret->code_align = take_uleb(&r);
	ret->data_align = take_sleb(&r);
	column = version == 1 ? take_u8(&r) : take_uleb(&r);
	if (!r.ok || column != 16)
		return false;
	if (letters[0] == 'z') {
		ret->sized_augmentation = true;
		if (!read_augmentation(&r, letters + 1, ret))
			return false;
	} else if (letters[0] != '\0') {
		return false;
	}
	ret->program = r.at;
	return r.ok;
}

bool cfi_parse_code(const struct cfi_view *v, const struct cfi_entry *e, const struct cfi_cie *cie,
	struct cfi_code *ret)
{
	struct reader r = {v, e->body, e->end, true};

	ret->start = take_address(&r, cie->encoding);
	ret->end = ret->start + take_form(&r, cie->encoding & 0x0f);
	if (cie->sized_augmentation)
		skip(&r, take_uleb(&r));
	ret->program = r.at;
	ret->program_end = e->end;
	return r.ok && ret->end > ret->start;
}

/* What follows an opcode, a letter each: u and s are LEB128 numbers, 1 2 4 8 plain bytes, x an
 * expression with its length in front, a an address; NULL: not known, or not wanted. */
static const char *cfa_operands(uint8_t op)
{
	static const char *const low[] = {
		[0x00] = "",
		[0x01] = "a",
		[0x02] = "1",
		[0x03] = "2",
		[0x04] = "4",
		[0x05] = "uu",
		[0x06] = "u",
		[0x07] = "u",
		[0x08] = "u",
		[0x09] = "uu",
		[0x0a] = "",
		[0x0b] = "",
		[0x0c] = "uu",
		[0x0d] = "u",
		[0x0e] = "u",
		[0x0f] = "x",
		[0x10] = "ux",
		[0x11] = "us",
		[0x12] = "us",
		[0x13] = "s",
		[0x14] = "uu",
		[0x15] = "us",
		[0x16] = "ux",
		[0x2e] = "u",
		[0x2f] = "uu",
	};

	switch (op & 0xc0) {
	case 0x40: return "";  /* advance_loc */
	case 0x80: return "u"; /* offset */
	case 0xc0: return "";  /* restore */
	default: return op < sizeof(low) / sizeof(low[0]) ? low[op] : NULL;
	}
}

/* Of DWARF expressions: stack, arithmetic and registers, but not div, mod, bra, skip and calls. */
static const char *expression_operands(uint8_t op)
{
	if (op >= 0x30 && op <= 0x6f) /* lit, reg */
		return "";
	if (op >= 0x70 && op <= 0x8f) /* breg */
		return "s";
	switch (op) {
	case 0x08: /* const1u … const8s */
	case 0x09: return "1";
	case 0x0a:
	case 0x0b: return "2";
	case 0x0c:
	case 0x0d: return "4";
	case 0x03: /* addr */
	case 0x0e:
	case 0x0f: return "8";
	case 0x10: /* constu */
	case 0x23: /* plus_uconst */
	case 0x90: /* regx */ return "u";
	case 0x11: return "s"; /* consts */
	case 0x15:             /* pick */
	case 0x94: /* deref_size */ return "1";
	case 0x92: return "us"; /* bregx */
	case 0x06:              /* deref, then dup, drop, over */
	case 0x12:
	case 0x13:
	case 0x14:
	case 0x16: /* swap, rot */
	case 0x17:
	case 0x19: /* abs, and, minus, mul, neg, not, or, plus */
	case 0x1a:
	case 0x1c:
	case 0x1e:
	case 0x1f:
	case 0x20:
	case 0x21:
	case 0x22:
	case 0x24: /* shl, shr, shra, xor */
	case 0x25:
	case 0x26:
	case 0x27:
	case 0x29: /* eq, ge, gt, le, lt, ne */
	case 0x2a:
	case 0x2b:
	case 0x2c:
	case 0x2d:
	case 0x2e:
	case 0x96: /* nop */ return "";
	default: return NULL;
	}
}

static void skip_plain_operand(struct reader *r, char kind)
{
	switch (kind) {
	case 'u': take_uleb(r); break;
	case 's': take_sleb(r); break;
	default: skip(r, (uint64_t)(kind - '0')); break;
	}
}

/* Walks over an expression of len bytes; not ok when it holds what it should not. */
static void skip_expression(struct reader *r)
{
	uint64_t len = take_uleb(r);
	struct reader x = {r->v, r->at, r->at, r->ok};

	skip(r, len);
	x.end = r->at;
	while (r->ok && x.at < x.end) {
		const char *operands = expression_operands(take_u8(&x));

		if (!operands)
			r->ok = false;
		for (; r->ok && *operands; operands++)
			skip_plain_operand(&x, *operands);
		r->ok = r->ok && x.ok;
	}
}

bool cfi_program_is_safe(const struct cfi_view *v, uint64_t at, uint64_t end, uint8_t encoding)
{
	struct reader r = {v, at, end, at <= end && end <= v->len};

	while (r.ok && r.at < r.end) {
		const char *operands = cfa_operands(take_u8(&r));

		if (!operands)
			return false;
		for (; r.ok && *operands; operands++) {
			if (*operands == 'x')
				skip_expression(&r);
			else if (*operands == 'a')
				take_address(&r, encoding);
			else
				skip_plain_operand(&r, *operands);
		}
	}
	return r.ok;
}

bool cfi_program_undefines(const struct cfi_view *v, uint64_t at, uint64_t end, uint64_t reg)
{
	struct reader r = {v, at, end, at <= end && end <= v->len};

	while (r.ok && r.at < r.end) {
		uint8_t op = take_u8(&r);
		const char *operands = cfa_operands(op);

		if (op == 0x07) { /* undefined */
			if (take_uleb(&r) == reg && r.ok)
				return true;
			continue;
		}
		if (!operands)
			return false;
		for (; r.ok && *operands; operands++) {
			if (*operands == 'x')
				skip(&r, take_uleb(&r));
			else if (*operands == 'a')
				return false;
			else
				skip_plain_operand(&r, *operands);
		}
	}
	return false;
}

static void put(struct cfi_rewrite *rw, const void *data, size_t len)
{
	if (len > rw->room - rw->used) {
		rw->used = rw->room; /* the caller sees that there is no room left */
		return;
	}
	memcpy(rw->into + rw->used, data, len);
	rw->used += len;
}

static void put_u32(struct cfi_rewrite *rw, uint32_t x)
{
	put(rw, &x, sizeof(x));
}

/* Fills in the length of the entry that began at start. */
static void put_length(struct cfi_rewrite *rw, size_t start)
{
	uint32_t len = (uint32_t)(rw->used - start - 4);

	if (rw->used < rw->room)
		memcpy(rw->into + start, &len, sizeof(len));
}

/* The CIE of .debug_frame at that offset, as version 1 without augmentation: addresses are then
 * plain. */
static bool rewrite_cie(struct cfi_rewrite *rw, uint64_t at)
{
	struct reader r;
	struct cfi_entry e;
	uint64_t aligns, column;
	size_t start = rw->used;
	uint8_t version;

	if (!cfi_entry_at(&rw->from, at, &e) || e.id != NO_CIE_ID)
		return false;
	r = (struct reader){&rw->from, e.body, e.end, true};
	version = take_u8(&r);
	if (take_u8(&r) != 0 || (version != 1 && version != 3 && version != 4))
		return false;
	if (version == 4 && (take_u8(&r) != 8 || take_u8(&r) != 0)) /* address and segment bytes */
		return false;
	aligns = r.at;
	take_uleb(&r);
	take_sleb(&r);
	put_u32(rw, 0);
	put_u32(rw, 0);
	put(rw, "\1", 2);
	put(rw, rw->from.bytes + aligns, r.at - aligns);
	column = version == 1 ? take_u8(&r) : take_uleb(&r);
	if (!r.ok || column != 16)
		return false;
	put(rw, "\20", 1);
	put(rw, rw->from.bytes + r.at, r.end - r.at);
	put_length(rw, start);
	rw->have_cie = true;
	rw->last_cie_from = at;
	rw->last_cie_to = start;
	return rw->used < rw->room;
}

static bool rewrite_fde(struct cfi_rewrite *rw, const struct cfi_entry *e, uint64_t *ret_to,
	uint64_t *ret_start, uint64_t *ret_end)
{
	struct reader r = {&rw->from, e->body, e->end, true};
	size_t start;
	uint64_t bytes;

	if (!rw->have_cie || rw->last_cie_from != e->id) {
		size_t before = rw->used;

		if (!rewrite_cie(rw, e->id)) {
			rw->have_cie = false;
			if (rw->used < rw->room)
				rw->used = before;
			return false;
		}
	}
	*ret_start = take_form(&r, FORM_U8);
	bytes = take_form(&r, FORM_U8);
	*ret_end = *ret_start + bytes;
	if (!r.ok || *ret_end < *ret_start)
		return false;
	start = rw->used;
	put_u32(rw, 0);
	put_u32(rw, (uint32_t)(start + 4 - rw->last_cie_to));
	put(rw, ret_start, 8);
	put(rw, &bytes, 8);
	put(rw, rw->from.bytes + r.at, r.end - r.at);
	put_length(rw, start);
	*ret_to = start;
	return rw->used < rw->room;
}

bool cfi_rewrite_next(struct cfi_rewrite *rw, uint64_t *at_in_out, uint64_t *ret_to,
	uint64_t *ret_start, uint64_t *ret_end)
{
	struct cfi_entry e;

	while (rw->used < rw->room && cfi_entry_at(&rw->from, *at_in_out, &e)) {
		*at_in_out = e.end;
		if (e.id != NO_CIE_ID && rewrite_fde(rw, &e, ret_to, ret_start, ret_end))
			return true;
	}
	return false;
}
