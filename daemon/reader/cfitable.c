#include "daemon/reader/cfitable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "daemon/cfi/parse.h"
#include "daemon/cfi/rows.h"
#include "daemon/cfi/table.h"
#include "daemon/reader/answer.h"
#include "daemon/reader/gopcln.h"
#include "daemon/reader/unpack.h"

#define ITEMS_MAX      4000000u
#define BLOB_BYTES_MAX (64u << 20) /* of .debug_frame, rewritten */
#define GAP_BYTES      32          /* more than lies between two functions */
#define GAP_SHARE      16          /* of the code: more than a sixteenth are many */

/* One entry: the code it is for, ascending by start, and the offset of its bytes in the view. */
struct item {
	uint64_t start, end;
	uint64_t at;
};

/* Entries of one section. */
struct source {
	struct cfi_view view;
	struct item *items;
	size_t count, room;
	/* The CIE of the last entry; safe: it may be used. */
	struct cfi_cie cie;
	struct cfi_state initial;
	bool have_cie, safe;
};

/* The table on its way. Rows are added by ascending address; a row that says what the one in front
 * does is left out. */
struct maker {
	const struct image *img, *debug_file; /* the latter: or NULL */
	uint64_t base, end;                   /* of the file's segments */
	struct source eh, debug;
	struct gopcln go;
	uint8_t *blob;
	struct buf starts, codes; /* u32 each */
	uint32_t last_code;
	uint64_t from, to; /* what the present entry's rows are clipped to */
	int error;
};

static int by_start(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static int add_item(struct source *s, uint64_t start, uint64_t end, uint64_t at)
{
	if (s->count == ITEMS_MAX)
		return -EFBIG;
	if (s->count == s->room) {
		size_t room = s->room ? s->room * 2 : 256;
		struct item *more = realloc(s->items, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		s->items = more;
		s->room = room;
	}
	s->items[s->count++] = (struct item){start, end, at};
	return 0;
}

/* Of entries that start alike the first in the section counts. */
static void sort_items(struct source *s)
{
	size_t kept = 0;

	if (s->count > 1)
		qsort(s->items, s->count, sizeof(*s->items), by_start);
	for (size_t i = 0; i < s->count; i++)
		if (kept == 0 || s->items[i].start != s->items[kept - 1].start)
			s->items[kept++] = s->items[i];
	s->count = kept;
}

/* The code that the entry at that offset is for. False: not an entry that says so. */
static bool read_entry(struct source *s, uint64_t at, struct cfi_entry *e, struct cfi_code *ret)
{
	if (!cfi_entry_at(&s->view, at, e) || e->id == 0 || e->id > e->id_at)
		return false;
	if (!s->have_cie || s->cie.at != e->id_at - e->id) {
		s->have_cie = cfi_parse_cie(&s->view, e->id_at - e->id, &s->cie);
		s->safe = s->have_cie && cfi_rows_cie(&s->view, &s->cie, &s->initial);
	}
	return s->have_cie && cfi_parse_code(&s->view, e, &s->cie, ret);
}

/* ---- where the entries are ---- */

static void find_span(struct maker *m)
{
	size_t num = 0;
	GElf_Phdr ph;

	m->base = UINT64_MAX;
	if (elf_getphdrnum(m->img->elf, &num) != 0)
		return;
	for (size_t i = 0; i < num; i++) {
		if (!gelf_getphdr(m->img->elf, (int)i, &ph) || ph.p_type != PT_LOAD ||
			ph.p_memsz == 0 || ph.p_memsz > UINT64_MAX - ph.p_vaddr)
			continue;
		if (ph.p_vaddr < m->base)
			m->base = ph.p_vaddr;
		if (ph.p_vaddr + ph.p_memsz > m->end)
			m->end = ph.p_vaddr + ph.p_memsz;
	}
}

static bool set_view(struct maker *m, uint64_t vaddr, uint64_t len)
{
	const uint8_t *bytes = len ? image_at(m->img, vaddr, len) : NULL;

	m->eh.view = (struct cfi_view){bytes, bytes ? len : 0, vaddr};
	return bytes != NULL;
}

/* The search table that linkers put beside .eh_frame: its address, and its bytes up to len. */
static const uint8_t *find_hdr(struct maker *m, uint64_t *ret_vaddr, uint64_t *ret_len)
{
	size_t num = 0;
	GElf_Phdr ph;

	if (elf_getphdrnum(m->img->elf, &num) != 0)
		return NULL;
	for (size_t i = 0; i < num; i++) {
		if (!gelf_getphdr(m->img->elf, (int)i, &ph) || ph.p_type != PT_GNU_EH_FRAME)
			continue;
		*ret_vaddr = ph.p_vaddr;
		*ret_len = ph.p_filesz;
		return ph.p_filesz >= 12 ? image_at(m->img, ph.p_vaddr, ph.p_filesz) : NULL;
	}
	return NULL;
}

static bool find_eh_frame(struct maker *m, const uint8_t *hdr, uint64_t hdr_vaddr)
{
	uint64_t at, offset, left;
	GElf_Shdr sh;
	int32_t rel;

	if (image_section(m->img, ".eh_frame", &sh) && (sh.sh_flags & SHF_ALLOC) &&
		set_view(m, sh.sh_addr, sh.sh_size))
		return true;
	if (!hdr || hdr[0] != 1 || hdr[1] != 0x1b) /* pcrel, sdata4 */
		return false;
	memcpy(&rel, hdr + 4, sizeof(rel));
	at = hdr_vaddr + 4 + (uint64_t)(int64_t)rel;
	return image_offset(m->img, at, &offset, &left) && set_view(m, at, left);
}

/* The entries that the search table names, which is what run-time unwinders see. */
static int list_by_hdr(struct maker *m, const uint8_t *hdr, uint64_t vaddr, uint32_t count)
{
	struct cfi_entry e;
	struct cfi_code code;
	int32_t pair[2];
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < count; i++) {
		uint64_t at;

		memcpy(pair, hdr + 12 + (size_t)i * 8, sizeof(pair));
		at = vaddr + (uint64_t)(int64_t)pair[1] - m->eh.view.vaddr;
		if (read_entry(&m->eh, at, &e, &code) &&
			code.start == vaddr + (uint64_t)(int64_t)pair[0])
			r = add_item(&m->eh, code.start, code.end, at);
	}
	return r;
}

/* Nonsense ends the list. */
static int list_all(struct maker *m)
{
	struct cfi_entry e;
	struct cfi_code code;
	int r = 0;

	for (uint64_t at = 0; r == 0 && cfi_entry_at(&m->eh.view, at, &e); at = e.end)
		if (read_entry(&m->eh, at, &e, &code))
			r = add_item(&m->eh, code.start, code.end, at);
	return r;
}

static int list_eh_frame(struct maker *m)
{
	uint64_t vaddr = 0, len = 0;
	const uint8_t *hdr = find_hdr(m, &vaddr, &len);
	uint32_t count = 0;
	int r;

	if (!find_eh_frame(m, hdr, vaddr))
		return 0;
	/* pointer pcrel sdata4, count udata4, table datarel sdata4 */
	if (hdr && hdr[0] == 1 && hdr[1] == 0x1b && hdr[2] == 0x03 && hdr[3] == 0x3b)
		memcpy(&count, hdr + 8, sizeof(count));
	r = count > 0 && count <= (len - 12) / 8 ? list_by_hdr(m, hdr, vaddr, count) : list_all(m);
	sort_items(&m->eh);
	return r;
}

/* The bytes of .debug_frame, unpacked; scratch: where they may then be. */
static struct cfi_view debug_frame(const struct image *img, struct buf *scratch)
{
	static const char *const names[] = {".debug_frame", ".zdebug_frame"};
	struct cfi_view none = {0};
	GElf_Shdr sh;

	for (int old = 0; old < 2; old++) {
		Elf_Scn *scn = image_section(img, names[old], &sh);
		Elf_Data *data;

		if (!scn || sh.sh_type == SHT_NOBITS || !image_section_bytes(img, &sh))
			continue;
		if (old || (sh.sh_flags & SHF_COMPRESSED)) {
			if (!image_dwarf_is_plausible(img))
				continue;
			buf_clear(scratch);
			if (unpack_section(img, &sh, BLOB_BYTES_MAX / 2 - 64, scratch) == 0)
				return (struct cfi_view){
					(const uint8_t *)scratch->data, scratch->len, 0};
			if ((old ? elf_compress_gnu(scn, 0, 0) : elf_compress(scn, 0, 0)) < 0)
				continue;
		}
		data = elf_getdata(scn, NULL);
		if (data && data->d_buf && data->d_size <= BLOB_BYTES_MAX / 2 - 64)
			return (struct cfi_view){data->d_buf, data->d_size, 0};
	}
	return none;
}

/* Entries of .debug_frame are of another form: they are written anew in that of .eh_frame. */
static int list_debug_frame(struct maker *m)
{
	AUTO(buf_done) struct buf scratch = BUF_INIT;
	struct cfi_rewrite rw = {.from = debug_frame(m->img, &scratch)};
	uint64_t at = 0, start, end, to;
	int r = 0;

	if (rw.from.len == 0 && m->debug_file)
		rw.from = debug_frame(m->debug_file, &scratch);
	if (!rw.from.bytes || rw.from.len == 0)
		return 0;
	rw.room = rw.from.len * 2 + 64;
	rw.into = m->blob = malloc(rw.room);
	if (!m->blob)
		return -ENOMEM;
	while (r == 0 && cfi_rewrite_next(&rw, &at, &to, &start, &end))
		if (end > start)
			r = add_item(&m->debug, start, end, to);
	m->debug.view = (struct cfi_view){m->blob, rw.used, 0};
	sort_items(&m->debug);
	return r;
}

/* ---- rows ---- */

static uint32_t last_start(const struct maker *m)
{
	uint32_t offset;

	memcpy(&offset, m->starts.data + m->starts.len - sizeof(offset), sizeof(offset));
	return offset;
}

static void add_row(struct maker *m, uint64_t vaddr, uint32_t code)
{
	uint32_t offset = (uint32_t)(vaddr - m->base);

	if (m->starts.len > 0 && code == m->last_code)
		return;
	if (m->starts.len >= CFI_TABLE_ROWS_MAX * sizeof(uint32_t))
		m->error = -EFBIG;
	if (m->error < 0)
		return;
	m->last_code = code;
	/* Of two for the same place the later one says more. */
	if (m->starts.len > 0 && offset == last_start(m)) {
		memcpy(m->codes.data + m->codes.len - sizeof(code), &code, sizeof(code));
		return;
	}
	buf_append(&m->starts, &offset, sizeof(offset));
	buf_append(&m->codes, &code, sizeof(code));
}

/* Rows in front of the part that is wanted: the last of them says what holds at its start. */
struct clipped {
	struct maker *m;
	uint32_t code;
	bool open; /* the part has begun */
};

static void on_row(void *arg, uint64_t start, uint32_t code)
{
	struct clipped *c = arg;

	if (start >= c->m->to)
		return;
	if (start > c->m->from && !c->open) {
		add_row(c->m, c->m->from, c->code);
		c->open = true;
	}
	c->code = code;
	if (start >= c->m->from) {
		add_row(c->m, start, code);
		c->open = true;
	}
}

static void add_entry(
	struct maker *m, struct source *s, const struct item *item, uint64_t from, uint64_t to)
{
	struct clipped c = {m, CFI_NONE, false};
	struct cfi_entry e;
	struct cfi_code code;

	m->from = from;
	m->to = to;
	if (read_entry(s, item->at, &e, &code) && s->safe)
		cfi_rows_of(&s->view, &s->cie, &s->initial, &code, on_row, &c);
	if (!c.open)
		add_row(m, from, c.code);
}

/* Where the entry of items[i] ends for a search that takes the last one that starts below. */
static uint64_t item_end(const struct source *s, size_t i)
{
	uint64_t end = s->items[i].end;

	return i + 1 < s->count && s->items[i + 1].start < end ? s->items[i + 1].start : end;
}

/* What .eh_frame leaves open, [from, to), out of .debug_frame. *next is the first of its entries
 * that may reach in. */
static void add_gap(struct maker *m, uint64_t from, uint64_t to, size_t *next)
{
	const struct source *s = &m->debug;

	while (from < to) {
		uint64_t start, end;

		while (*next < s->count && item_end(s, *next) <= from)
			++*next;
		if (*next == s->count || s->items[*next].start >= to) {
			add_row(m, from, CFI_NONE);
			return;
		}
		start = s->items[*next].start;
		end = item_end(s, *next);
		if (start > from)
			add_row(m, from, CFI_NONE);
		start = start > from ? start : from;
		end = end < to ? end : to;
		add_entry(m, &m->debug, &s->items[*next], start, end);
		from = end;
	}
}

/* The same out of Go's table first, whose programs have no .eh_frame. */
static void add_gap_or_go(struct maker *m, uint64_t from, uint64_t to, size_t *next)
{
	uint64_t i = gopcln_above(&m->go, from);

	for (; m->error == 0 && i < m->go.count && from < to; i++) {
		struct clipped c = {m, CFI_NONE, false};
		uint64_t start, end;

		gopcln_code(&m->go, i, &start, &end);
		if (start >= to)
			break;
		start = start > from ? start : from;
		end = end < to ? end : to;
		if (start >= end)
			continue;
		add_gap(m, from, start, next);
		m->from = start;
		m->to = end;
		gopcln_rows(&m->go, i, on_row, &c);
		if (!c.open)
			add_row(m, start, c.code);
		from = end;
	}
	add_gap(m, from, to, next);
}

static int add_all(struct maker *m)
{
	uint64_t done = m->base;
	size_t next = 0;

	for (size_t i = 0; m->error == 0 && i < m->eh.count; i++) {
		uint64_t start = m->eh.items[i].start, end = item_end(&m->eh, i);

		start = start > done ? start : done;
		end = end < m->end ? end : m->end;
		if (start >= end)
			continue;
		add_gap_or_go(m, done, start, &next);
		add_entry(m, &m->eh, &m->eh.items[i], start, end);
		done = end;
	}
	add_gap_or_go(m, done, m->end, &next);
	m->last_code = ~0u;
	add_row(m, m->end, CFI_NONE); /* closes, whatever came before */
	return m->error < 0 ? m->error : m->starts.error ? m->starts.error : m->codes.error;
}

/* Of [from, to), those in code. */
static uint64_t code_bytes(const struct image *img, uint64_t from, uint64_t to)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < img->code_count; i++) {
		const struct image_code *c = &img->code[i];
		uint64_t start = c->start > from ? c->start : from;
		uint64_t end = c->end < to ? c->end : to;

		if (!c->plt && start < end)
			sum += end - start;
	}
	return sum;
}

/* Whether more of the code has no rules than what every program has of it: what lies between its
 * functions, and the little that starts and ends it. */
static bool has_gaps(const struct maker *m)
{
	const uint32_t *starts = (const uint32_t *)(const void *)m->starts.data;
	const uint32_t *codes = (const uint32_t *)(const void *)m->codes.data;
	size_t count = m->starts.len / sizeof(*starts);
	uint64_t bare = 0;

	for (size_t i = 0; i + 1 < count; i++)
		if (codes[i] == CFI_NONE && starts[i + 1] - starts[i] > GAP_BYTES)
			bare += code_bytes(m->img, m->base + starts[i], m->base + starts[i + 1]);
	return bare > code_bytes(m->img, m->base, m->end) / GAP_SHARE;
}

/* sub $8,%rsp; call *%rcx; add $8,%rsp; ret */
static const uint8_t trampoline[] = {
	0x48, 0x83, 0xec, 0x08, 0xff, 0xd1, 0x48, 0x83, 0xc4, 0x08, 0xc3};

static uint64_t traits_of(const struct image *img)
{
	for (size_t i = 0; i < img->code_count; i++) {
		const struct image_code *c = &img->code[i];
		const uint8_t *at = image_at(img, c->start, c->end - c->start);

		if (at && memmem(at, c->end - c->start, trampoline, sizeof(trampoline)))
			return CFI_TRAIT_TRAMPOLINE;
	}
	return 0;
}

static int make(struct maker *m, int *ret_fd, uint64_t *ret_bytes, bool *ret_gaps)
{
	struct cfi_table_head head = {.magic = CFI_TABLE_MAGIC};
	AUTO(buf_done) struct buf whole = BUF_INIT;
	int r;

	if (m->img->ehdr.e_machine != EM_X86_64 || m->img->ehdr.e_ident[EI_CLASS] != ELFCLASS64)
		return -ENODATA;
	find_span(m);
	r = list_eh_frame(m);
	if (r == 0)
		r = list_debug_frame(m);
	if (r < 0)
		return r;
	gopcln_init(&m->go, m->img);
	*ret_gaps = true;
	if (m->eh.count + m->debug.count + m->go.count == 0 || m->base >= m->end)
		return -ENODATA;
	if (m->end - m->base > UINT32_MAX)
		return -EFBIG;
	r = add_all(m);
	if (r < 0)
		return r;
	*ret_gaps = has_gaps(m);
	head.row_count = (uint32_t)(m->starts.len / sizeof(uint32_t));
	head.base = m->base;
	head.traits = traits_of(m->img);
	head.bytes = sizeof(head) + m->starts.len + m->codes.len;
	buf_append(&whole, &head, sizeof(head));
	buf_append(&whole, m->starts.data, m->starts.len);
	buf_append(&whole, m->codes.data, m->codes.len);
	if (whole.error < 0)
		return whole.error;
	head.sum = hash_bytes(
		whole.data + sizeof(head), whole.len - sizeof(head), head.base ^ head.traits);
	memcpy(whole.data, &head, sizeof(head));
	*ret_bytes = whole.len;
	return answer_seal(whole.data, whole.len, ret_fd);
}

int cfitable_make(const struct image *img, const struct image *debug, int *ret_fd,
	uint64_t *ret_bytes, bool *ret_gaps)
{
	struct maker m = {.img = img, .debug_file = debug};
	int r;

	*ret_gaps = false;
	r = make(&m, ret_fd, ret_bytes, ret_gaps);

	buf_done(&m.starts);
	buf_done(&m.codes);
	free(m.eh.items);
	free(m.debug.items);
	free(m.blob);
	return r;
}
