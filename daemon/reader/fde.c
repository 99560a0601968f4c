#include "daemon/reader/fde.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RANGES_MAX (4u << 20)

/* Bytes of the file that are mapped at vaddr, read from their start on; at NULL: ran over the end.
 */
struct cursor {
	const uint8_t *from, *at, *end;
	uint64_t vaddr; /* of from */
	bool wide;      /* addresses have 8 bytes */
};

static bool cursor_init(struct cursor *c, const struct image *img, uint64_t vaddr)
{
	uint64_t off, left;

	if (!image_offset(img, vaddr, &off, &left))
		return false;
	*c = (struct cursor){.from = img->map + off,
		.at = img->map + off,
		.end = img->map + off + left,
		.vaddr = vaddr,
		.wide = img->ehdr.e_ident[EI_CLASS] == ELFCLASS64};
	return true;
}

static uint64_t take(struct cursor *c, unsigned bytes)
{
	uint64_t x = 0;

	if (!c->at || (size_t)(c->end - c->at) < bytes) {
		c->at = NULL;
		return 0;
	}
	for (unsigned i = 0; i < bytes; i++) /* of this machine's order: no other runs here */
		x |= (uint64_t)c->at[i] << (8 * i);
	c->at += bytes;
	return x;
}

static uint64_t take_leb(struct cursor *c, bool is_signed)
{
	uint64_t x = 0;
	unsigned shift = 0;
	uint8_t b;

	do {
		b = (uint8_t)take(c, 1);
		if (shift < 64)
			x |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
	} while (c->at && (b & 0x80));
	if (is_signed && shift < 64 && (b & 0x40))
		x |= ~0ull << shift;
	return x;
}

static uint64_t take_plain(struct cursor *c, uint8_t encoding)
{
	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr: return take(c, c->wide ? 8 : 4);
	case DW_EH_PE_uleb128: return take_leb(c, false);
	case DW_EH_PE_udata2: return take(c, 2);
	case DW_EH_PE_udata4: return take(c, 4);
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8: return take(c, 8);
	case DW_EH_PE_sleb128: return take_leb(c, true);
	case DW_EH_PE_sdata2: return (uint64_t)(int16_t)take(c, 2);
	case DW_EH_PE_sdata4: return (uint64_t)(int32_t)take(c, 4);
	default: c->at = NULL; return 0;
	}
}

static uint64_t take_address(struct cursor *c, uint8_t encoding)
{
	uint64_t here = c->at ? c->vaddr + (uint64_t)(c->at - c->from) : 0, x;

	x = take_plain(c, encoding);
	switch (encoding & 0x70) {
	case 0: break;
	case DW_EH_PE_pcrel: x += here; break;
	default: c->at = NULL;
	}
	return c->wide ? x : (uint32_t)x;
}

/* The length of an entry; *ret_wide: its offsets have 8 bytes. 0: the end of them. */
static uint64_t take_length(struct cursor *c, bool *ret_wide)
{
	uint64_t bytes = take(c, 4);

	*ret_wide = bytes == 0xffffffff;
	if (*ret_wide)
		bytes = take(c, 8);
	if (!c->at || bytes > (size_t)(c->end - c->at)) {
		c->at = NULL;
		return 0;
	}
	return bytes;
}

/* How the addresses of a CIE's entries are written. */
static bool cie_encoding(struct cursor c, uint8_t *ret)
{
	const char *what;
	bool wide;
	uint8_t version;

	*ret = DW_EH_PE_absptr;
	if (take_length(&c, &wide) == 0 || take(&c, wide ? 8 : 4) != 0)
		return false;
	version = (uint8_t)take(&c, 1);
	what = (const char *)c.at;
	while (take(&c, 1) != 0)
		;
	if (!c.at || what[0] != 'z')
		return c.at && what[0] == 0;
	take_leb(&c, false);
	take_leb(&c, true);
	if (version == 1)
		take(&c, 1);
	else
		take_leb(&c, false);
	take_leb(&c, false);
	for (what++; c.at && *what && *what != 'R'; what++) {
		uint8_t encoding;

		if (*what == 'P') {
			encoding = (uint8_t)take(&c, 1);
			(void)take_plain(&c, encoding);
		} else if (*what == 'L') {
			take(&c, 1);
		} else if (*what != 'S' && *what != 'B') {
			return false;
		}
	}
	if (*what == 'R')
		*ret = (uint8_t)take(&c, 1);
	return c.at != NULL;
}

/* The entry at c, which moves behind it. False: it is no FDE, or the last; then c->at is NULL. */
static bool take_fde(struct cursor *c, struct fde_range *ret)
{
	const uint8_t *field, *end;
	struct cursor cie = *c;
	uint64_t back, bytes;
	uint8_t encoding;
	bool wide;

	bytes = take_length(c, &wide);
	if (bytes == 0) {
		c->at = NULL;
		return false;
	}
	field = c->at;
	end = field + bytes;
	back = take(c, wide ? 8 : 4);
	if (!c->at || back == 0 || back > (size_t)(field - c->from)) {
		c->at = end;
		return false;
	}
	cie.at = field - back;
	if (cie_encoding(cie, &encoding)) {
		ret->start = take_address(c, encoding);
		bytes = take_plain(c, encoding & 0x0f);
	} else {
		c->at = NULL;
	}
	back = c->at && bytes > 0 && !__builtin_add_overflow(ret->start, bytes, &ret->end);
	c->at = end;
	return back;
}

static bool find_hdr(const struct image *img, uint64_t *ret_vaddr)
{
	size_t num = 0;
	GElf_Phdr ph;

	if (elf_getphdrnum(img->elf, &num) != 0)
		return false;
	for (size_t i = 0; i < num; i++)
		if (gelf_getphdr(img->elf, (int)i, &ph) && ph.p_type == PT_GNU_EH_FRAME) {
			*ret_vaddr = ph.p_vaddr;
			return true;
		}
	return false;
}

/* The sorted table, in the one form that linkers write. */
static void use_hdr(struct fde_table *t)
{
	uint8_t version, frame, count, table;
	struct cursor c;
	uint64_t n;

	if (!find_hdr(t->img, &t->hdr) || !cursor_init(&c, t->img, t->hdr))
		return;
	version = (uint8_t)take(&c, 1);
	frame = (uint8_t)take(&c, 1);
	count = (uint8_t)take(&c, 1);
	table = (uint8_t)take(&c, 1);
	(void)take_plain(&c, frame);
	n = take_plain(&c, count);
	if (!c.at || version != 1 || table != (DW_EH_PE_datarel | DW_EH_PE_sdata4) ||
		n > (size_t)(c.end - c.at) / 8)
		return;
	t->sorted = c.at;
	t->sorted_count = n;
}

static int by_start(const void *a, const void *b)
{
	const struct fde_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int add_range(struct fde_table *t, const struct fde_range *r)
{
	uint32_t n = t->range_count;

	if (n == RANGES_MAX)
		return -ENOSPC;
	if ((n & (n - 1)) == 0) {
		struct fde_range *more =
			realloc(t->ranges, (n ? 2 * (size_t)n : 1) * sizeof(*more));

		if (!more)
			return -ENOMEM;
		t->ranges = more;
	}
	t->ranges[t->range_count++] = *r;
	return 0;
}

static int read_all(struct fde_table *t)
{
	struct fde_range r;
	struct cursor c;
	GElf_Shdr sh;
	int error = 0;

	if (!image_section(t->img, ".eh_frame", &sh) || sh.sh_type == SHT_NOBITS ||
		!cursor_init(&c, t->img, sh.sh_addr))
		return 0;
	if (sh.sh_size < (size_t)(c.end - c.at))
		c.end = c.at + sh.sh_size;
	while (error == 0 && c.at && c.at < c.end)
		if (take_fde(&c, &r))
			error = add_range(t, &r);
	if (t->range_count > 1)
		qsort(t->ranges, t->range_count, sizeof(*t->ranges), by_start);
	return error == -ENOSPC ? 0 : error;
}

int fde_init(struct fde_table *t, const struct image *img)
{
	memset(t, 0, sizeof(*t));
	t->img = img;
	use_hdr(t);
	return t->sorted ? 0 : read_all(t);
}

void fde_done(struct fde_table *t)
{
	free(t->ranges);
	memset(t, 0, sizeof(*t));
}

static uint64_t sorted_at(const struct fde_table *t, uint64_t i, unsigned which)
{
	int32_t off;

	memcpy(&off, t->sorted + i * 8 + which * 4, sizeof(off));
	return t->hdr + (uint64_t)off;
}

static uint64_t start_at(const struct fde_table *t, uint64_t i)
{
	return t->sorted ? sorted_at(t, i, 0) : t->ranges[i].start;
}

bool fde_find(const struct fde_table *t, uint64_t addr, struct fde_range *ret_range)
{
	uint64_t lo = 0, hi = t->sorted ? t->sorted_count : t->range_count;
	struct cursor c, whole;

	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (start_at(t, mid) <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0)
		return false;
	if (!t->sorted) {
		*ret_range = t->ranges[lo - 1];
	} else {
		/* Its CIE lies before it, somewhere in the same segment. */
		if (!cursor_init(&c, t->img, sorted_at(t, lo - 1, 1)))
			return false;
		whole = c;
		whole.vaddr -= (uint64_t)(c.from - t->img->map);
		whole.from = t->img->map;
		if (!take_fde(&whole, ret_range))
			return false;
	}
	return addr >= ret_range->start && addr < ret_range->end;
}
