#include "daemon/reader/dwp.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include "base/cleanup.h"
#include "daemon/reader/memelf.h"

#define COLUMNS_MAX    16
#define UNIT_MAX_BYTES ((size_t)128 << 20)

/* .debug_cu_index: which bytes of each section are whose. Of two versions, whose columns differ. */
struct cu_index {
	const uint8_t *ids, *rows, *columns, *offsets, *sizes;
	uint32_t version, column_count, unit_count, slot_count;
};

struct bytes {
	const uint8_t *at;
	uint64_t len;
};

static uint32_t u32_at(const uint8_t *from, uint64_t i)
{
	uint32_t x;

	memcpy(&x, from + i * sizeof(x), sizeof(x));
	return x;
}

static struct bytes section(const struct image *package, const char *name)
{
	struct bytes b = {0};
	GElf_Shdr sh;

	if (!image_section(package, name, &sh) || (sh.sh_flags & SHF_COMPRESSED))
		return b;
	b.at = image_section_bytes(package, &sh);
	b.len = b.at ? sh.sh_size : 0;
	return b;
}

static int read_index(const struct image *package, struct cu_index *x)
{
	struct bytes b = section(package, ".debug_cu_index");
	uint64_t cells, need;

	if (b.len < 16)
		return -ENOENT;
	x->version = u32_at(b.at, 0) & 0xffff;
	x->column_count = u32_at(b.at, 1);
	x->unit_count = u32_at(b.at, 2);
	x->slot_count = u32_at(b.at, 3);
	if ((x->version != 2 && x->version != 5) || x->column_count > COLUMNS_MAX ||
		x->slot_count == 0 || (x->slot_count & (x->slot_count - 1)) != 0)
		return -EBADMSG;
	cells = (uint64_t)x->unit_count * x->column_count;
	need = 16 + (uint64_t)x->slot_count * 12 + x->column_count * 4ull + cells * 8;
	if (cells > UINT32_MAX || need > b.len)
		return -EBADMSG;
	x->ids = b.at + 16;
	x->rows = x->ids + (uint64_t)x->slot_count * 8;
	x->columns = x->rows + (uint64_t)x->slot_count * 4;
	x->offsets = x->columns + x->column_count * 4ull;
	x->sizes = x->offsets + cells * 4;
	return 0;
}

/* The row of the unit, from 0 on. */
static int find_row(const struct cu_index *x, uint64_t id, uint32_t *ret_row)
{
	uint64_t mask = x->slot_count - 1, at = id & mask, step = ((id >> 32) & mask) | 1, found;

	for (uint32_t i = 0; i < x->slot_count; i++, at = (at + step) & mask) {
		uint32_t row = u32_at(x->rows, at);

		memcpy(&found, x->ids + at * 8, sizeof(found));
		if (row == 0)
			return -ENOENT;
		if (found != id)
			continue;
		if (row > x->unit_count)
			return -EBADMSG;
		*ret_row = row - 1;
		return 0;
	}
	return -ENOENT;
}

/* The section that a column is of; NULL: of no use here. */
static const char *column_name(const struct cu_index *x, uint32_t column)
{
	switch (u32_at(x->columns, column)) {
	case 1: return ".debug_info.dwo";
	case 3: return ".debug_abbrev.dwo";
	case 4: return ".debug_line.dwo";
	case 6: return ".debug_str_offsets.dwo";
	case 8: return x->version == 5 ? ".debug_rnglists.dwo" : NULL;
	default: return NULL;
	}
}

static struct bytes part_of(
	const struct image *package, const struct cu_index *x, uint32_t row, uint32_t column)
{
	struct bytes b = section(package, column_name(x, column));
	uint64_t cell = (uint64_t)row * x->column_count + column;
	uint64_t off = u32_at(x->offsets, cell), len = u32_at(x->sizes, cell);

	if (!b.at || off > b.len || len > b.len - off)
		return (struct bytes){0};
	return (struct bytes){.at = b.at + off, .len = len};
}

/* The strings of all units are one section: those of this one alone, and where they are now. */
static void add_strings(struct memelf *m, const struct image *package, const struct cu_index *x,
	struct bytes offsets)
{
	struct bytes all = section(package, ".debug_str.dwo");
	AUTO(buf_done) struct buf strings = {.max_bytes = UNIT_MAX_BYTES};
	uint64_t from = x->version == 5 ? 8 : 0;
	uint8_t *to = memelf_room(m, ".debug_str_offsets.dwo", offsets.len);

	if (!to)
		return;
	memcpy(to, offsets.at, offsets.len);
	for (uint64_t i = from; i + 4 <= offsets.len; i += 4) {
		uint32_t off = u32_at(offsets.at + i, 0), now = (uint32_t)strings.len;
		const uint8_t *end = off < all.len ? memchr(all.at + off, 0, all.len - off) : NULL;

		if (end)
			buf_append(&strings, all.at + off, (size_t)(end - (all.at + off)) + 1);
		else
			buf_append_char(&strings, 0);
		memcpy(to + i, &now, sizeof(now));
	}
	memelf_add(m, ".debug_str.dwo", strings.data ? strings.data : "", strings.len, 0);
}

int dwp_extract(const struct image *package, uint64_t id, struct buf *into)
{
	struct memelf m;
	struct cu_index x;
	uint32_t row;
	int r = read_index(package, &x);

	if (r == 0)
		r = find_row(&x, id, &row);
	if (r < 0)
		return r;
	memelf_init(&m, ET_REL, package->ehdr.e_machine, UNIT_MAX_BYTES);
	for (uint32_t c = 0; c < x.column_count; c++) {
		const char *name = column_name(&x, c);
		struct bytes part;

		if (!name)
			continue;
		part = part_of(package, &x, row, c);
		if (!part.at)
			continue;
		if (strcmp(name, ".debug_str_offsets.dwo") == 0)
			add_strings(&m, package, &x, part);
		else
			memelf_add(&m, name, part.at, part.len, 0);
	}
	r = memelf_finish(&m);
	if (r == 0) {
		*into = m.file;
		memset(&m.file, 0, sizeof(m.file));
	}
	memelf_done(&m);
	return r;
}
