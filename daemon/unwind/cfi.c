#include "daemon/unwind/cfi.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include "base/cleanup.h"
#include "daemon/cfi/parse.h"
#include "daemon/cfi/rows.h"

#define IN_BLOB        (UINT64_C(1) << 39) /* the place is an offset in the blob */
#define ENTRIES_MAX    4000000u
#define BLOB_BYTES_MAX (64u << 20)

/* The return address column of the outermost frame, as the CFI of x86-64 numbers it. */
#define RA_REG 16

struct item {
	uint64_t start, end; /* vaddrs */
	uint64_t at;         /* offset in the view */
};

struct items {
	struct item *all;
	size_t count, room;
};

struct cfi {
	uint64_t base;               /* lowest vaddr of the module */
	uint64_t table, table_count; /* the search table of .eh_frame_hdr: vaddr; 0: none */
	uint64_t table_hdr;          /* what its offsets are relative to */
	struct items eh;             /* without a search table */
	struct items debug;          /* of .debug_frame, into blob */
	uint8_t *blob;               /* .debug_frame rewritten as .eh_frame */
	size_t blob_bytes;
};

void cfi_free(struct cfi *c)
{
	if (!c)
		return;
	free(c->eh.all);
	free(c->debug.all);
	free(c->blob);
	free(c);
}

size_t cfi_bytes(const struct cfi *c)
{
	return sizeof(*c) + (c->eh.room + c->debug.room) * sizeof(struct item) + c->blob_bytes;
}

static bool eh_view(const struct module *m, struct cfi_view *ret)
{
	ret->bytes = m->eh_frame_bytes ? module_bytes(m, m->eh_frame, m->eh_frame_bytes) : NULL;
	ret->len = m->eh_frame_bytes;
	ret->vaddr = m->eh_frame;
	return ret->bytes != NULL;
}

static struct cfi_view blob_view(const struct cfi *c)
{
	return (struct cfi_view){c->blob, c->blob_bytes, 0};
}

/* Binary search works on entries of two 4-byte numbers, which is what all linkers write. */
static bool use_search_table(struct cfi *c, const struct module *m)
{
	const uint8_t *hdr = module_bytes(m, m->eh_frame_hdr, m->eh_frame_hdr_bytes);
	uint32_t count;

	if (!hdr || m->eh_frame_hdr_bytes < 12 || hdr[0] != 1)
		return false;
	/* pointer pcrel sdata4, count udata4, table datarel sdata4 */
	if (hdr[1] != 0x1b || hdr[2] != 0x03 || hdr[3] != 0x3b)
		return false;
	memcpy(&count, hdr + 8, sizeof(count));
	if (count == 0 || count > (m->eh_frame_hdr_bytes - 12) / 8)
		return false;
	c->table = m->eh_frame_hdr + 12;
	c->table_hdr = m->eh_frame_hdr;
	c->table_count = count;
	return true;
}

static int add_item(struct items *items, uint64_t start, uint64_t end, uint64_t at)
{
	if (items->count == items->room) {
		size_t room = items->room ? items->room * 2 : 64;
		struct item *all = realloc(items->all, room * sizeof(*all));

		if (!all)
			return -ENOMEM;
		items->all = all;
		items->room = room;
	}
	items->all[items->count++] = (struct item){start, end, at};
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void sort_items(struct items *items)
{
	if (items->count)
		qsort(items->all, items->count, sizeof(*items->all), by_start);
}

/* Lists all entries of .eh_frame. Nonsense in it ends the list: what came before stays good. */
static int list_eh_frame(struct cfi *c, const struct module *m)
{
	struct cfi_cie cie = {.at = UINT64_MAX};
	struct cfi_view view;
	struct cfi_entry e;
	uint64_t at = 0;
	int error;

	if (!eh_view(m, &view))
		return 0;
	for (; c->eh.count < ENTRIES_MAX && cfi_entry_at(&view, at, &e); at = e.end) {
		struct cfi_code code;

		if (e.id == 0)
			continue;
		if (e.id > e.id_at)
			continue;
		if (cie.at != e.id_at - e.id && !cfi_parse_cie(&view, e.id_at - e.id, &cie)) {
			cie.at = UINT64_MAX;
			continue;
		}
		if (!cfi_parse_code(&view, &e, &cie, &code))
			continue;
		error = add_item(&c->eh, code.start, code.end, at);
		if (error < 0)
			return error;
	}
	sort_items(&c->eh);
	return 0;
}

/* Rewrites .debug_frame into the form of .eh_frame, so that one reader serves both. */
static int take_debug_frame(struct cfi *c, const struct module *m)
{
	struct cfi_view from = {m->image + m->debug_frame_offset, m->debug_frame_bytes, 0};
	struct cfi_rewrite rw = {.from = from, .room = m->debug_frame_bytes * 2 + 64};
	uint64_t at = 0, start, end, to;
	int error = 0;

	if (m->debug_frame_bytes == 0 || rw.room > BLOB_BYTES_MAX)
		return 0;
	rw.into = malloc(rw.room);
	if (!rw.into)
		return -ENOMEM;
	while (error == 0 && c->debug.count < ENTRIES_MAX &&
		cfi_rewrite_next(&rw, &at, &to, &start, &end))
		if (end > start)
			error = add_item(&c->debug, start, end, to);
	c->blob = rw.into;
	c->blob_bytes = rw.used;
	sort_items(&c->debug);
	return error;
}

int cfi_new(const struct module *m, struct cfi **ret_cfi)
{
	struct cfi *c = calloc(1, sizeof(*c));
	int error = 0;

	if (!c)
		return -ENOMEM;
	c->base = UINT64_MAX;
	for (unsigned i = 0; i < m->segment_count; i++)
		if (m->segments[i].vaddr < c->base)
			c->base = m->segments[i].vaddr;
	/* The rules of other machines speak of other registers. */
	if (m->error == 0 && m->is_64 && m->machine == EM_X86_64) {
		if (!use_search_table(c, m))
			error = list_eh_frame(c, m);
		if (error == 0)
			error = take_debug_frame(c, m);
	}
	if (error < 0) {
		cfi_free(c);
		return error;
	}
	*ret_cfi = c;
	return 0;
}

bool cfi_place_of_vaddr(const struct cfi *c, uint64_t vaddr, uint64_t *ret_place)
{
	*ret_place = vaddr - c->base;
	return vaddr >= c->base && *ret_place < IN_BLOB;
}

/* Bytes at a place that are there and that a process cannot have changed: up to 8, fewer at an end.
 */
static const uint8_t *bytes_at(
	const struct cfi *c, const struct module *m, uint64_t place, size_t *ret_len)
{
	uint64_t vaddr = place + c->base;

	if (place & IN_BLOB) {
		place &= ~IN_BLOB;
		if (place >= c->blob_bytes)
			return NULL;
		*ret_len = c->blob_bytes - place;
		return c->blob + place;
	}
	/* Old linkers put .eh_frame among the data; nobody writes to it even so. */
	if (m->eh_frame_bytes && vaddr >= m->eh_frame && vaddr - m->eh_frame < m->eh_frame_bytes) {
		*ret_len = m->eh_frame_bytes - (vaddr - m->eh_frame);
		return module_bytes(m, vaddr, 1);
	}
	for (unsigned i = 0; i < m->segment_count; i++) {
		const struct module_segment *s = &m->segments[i];

		if (s->write || vaddr < s->vaddr || vaddr - s->vaddr >= s->file_bytes)
			continue;
		*ret_len = s->file_bytes - (vaddr - s->vaddr);
		return m->image + s->offset + (vaddr - s->vaddr);
	}
	return NULL;
}

bool cfi_read(const struct cfi *c, const struct module *m, uint64_t place, uint64_t *ret_word)
{
	size_t len = 0;
	const uint8_t *bytes = place < CFI_PLACES && m->image ? bytes_at(c, m, place, &len) : NULL;

	if (!bytes)
		return false;
	*ret_word = 0;
	memcpy(ret_word, bytes, len < sizeof(*ret_word) ? len : sizeof(*ret_word));
	return true;
}

/* The offset in .eh_frame of the entry that may hold vaddr, by the search table. */
static bool search_table(
	const struct cfi *c, const struct module *m, uint64_t vaddr, uint64_t *ret_at)
{
	const uint8_t *table = module_bytes(m, c->table, c->table_count * 8);
	uint64_t low = 0, high = c->table_count;
	int64_t want = (int64_t)(vaddr - c->table_hdr);
	int32_t pair[2];

	if (!table)
		return false;
	while (low < high) { /* the first that starts above */
		uint64_t mid = low + (high - low) / 2;

		memcpy(pair, table + mid * 8, sizeof(pair));
		if (pair[0] <= want)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0)
		return false;
	memcpy(pair, table + (low - 1) * 8, sizeof(pair));
	*ret_at = c->table_hdr + (uint64_t)(int64_t)pair[1] - m->eh_frame;
	return true;
}

static bool search_items(const struct items *items, uint64_t vaddr, uint64_t *ret_at)
{
	size_t low = 0, high = items->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (items->all[mid].start <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0 || vaddr >= items->all[low - 1].end)
		return false;
	*ret_at = items->all[low - 1].at;
	return true;
}

/* Reads and vets the entry at that offset; all but the place of it. */
static bool entry_for(const struct cfi_view *view, uint64_t at, uint64_t vaddr, struct cfi_fde *ret,
	struct cfi_code *ret_code, struct cfi_cie *ret_cie)
{
	struct cfi_entry e;

	if (!cfi_entry_at(view, at, &e) || e.id == 0 || e.id > e.id_at ||
		!cfi_parse_cie(view, e.id_at - e.id, ret_cie) ||
		!cfi_parse_code(view, &e, ret_cie, ret_code))
		return false;
	if (vaddr < ret_code->start || vaddr >= ret_code->end)
		return false;
	ret->start = ret_code->start;
	ret->end = ret_code->end;
	ret->absolute = (ret_cie->encoding & 0x70) == 0;
	ret->signal = ret_cie->signal;
	return true;
}

/* Which section has the entry, and where. */
static bool locate(const struct cfi *c, const struct module *m, uint64_t vaddr,
	struct cfi_view *ret_view, struct cfi_fde *ret, struct cfi_code *code, struct cfi_cie *cie)
{
	uint64_t at;

	if (eh_view(m, ret_view) &&
		(c->table ? search_table(c, m, vaddr, &at) : search_items(&c->eh, vaddr, &at)) &&
		entry_for(ret_view, at, vaddr, ret, code, cie))
		return cfi_place_of_vaddr(c, m->eh_frame + at, &ret->at);
	*ret_view = blob_view(c);
	if (search_items(&c->debug, vaddr, &at) && entry_for(ret_view, at, vaddr, ret, code, cie)) {
		ret->at = at | IN_BLOB;
		return true;
	}
	return false;
}

bool cfi_find(const struct cfi *c, const struct module *m, uint64_t vaddr, struct cfi_fde *ret_fde)
{
	struct cfi_view view;
	struct cfi_code code;
	struct cfi_cie cie;

	return m->image && locate(c, m, vaddr, &view, ret_fde, &code, &cie) &&
		cfi_program_is_safe(&view, cie.program, cie.program_end, cie.encoding) &&
		cfi_program_is_safe(&view, code.program, code.program_end, cie.encoding);
}

/* The same without anything that has to be kept: by a search table alone. */
static bool locate_at_once(const struct module *m, uint64_t vaddr, struct cfi_view *ret_view,
	struct cfi_code *code, struct cfi_cie *cie)
{
	struct cfi c = {0};
	struct cfi_fde fde;

	return m->error == 0 && m->is_64 && m->machine == EM_X86_64 && use_search_table(&c, m) &&
		locate(&c, m, vaddr, ret_view, &fde, code, cie);
}

bool cfi_starts_at(const struct module *m, uint64_t vaddr)
{
	struct cfi_view view;
	struct cfi_code code;
	struct cfi_cie cie;

	return locate_at_once(m, vaddr, &view, &code, &cie) && code.start == vaddr;
}

bool cfi_is_outermost(const struct module *m, uint64_t vaddr)
{
	struct cfi_view view;
	struct cfi_code code;
	struct cfi_cie cie;

	return locate_at_once(m, vaddr, &view, &code, &cie) &&
		(cfi_program_undefines(&view, cie.program, cie.program_end, RA_REG) ||
			cfi_program_undefines(&view, code.program, code.program_end, RA_REG));
}

/* The row that holds an address, of an entry's rows as they come. */
struct wanted {
	uint64_t vaddr;
	uint32_t code;
};

static void on_row(void *arg, uint64_t start, uint32_t code)
{
	struct wanted *w = arg;

	if (start <= w->vaddr)
		w->code = code;
}

uint32_t cfi_code_at(const struct module *m, uint64_t vaddr)
{
	struct wanted w = {.vaddr = vaddr, .code = CFI_ASK};
	struct cfi_state initial;
	struct cfi_view view;
	struct cfi_code code;
	struct cfi_cie cie;

	if (locate_at_once(m, vaddr, &view, &code, &cie) && cfi_rows_cie(&view, &cie, &initial))
		cfi_rows_of(&view, &cie, &initial, &code, on_row, &w);
	return w.code;
}
