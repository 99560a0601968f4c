#include "daemon/reader/gopcln.h"

#include <string.h>

/* Of the releases that changed the layout. */
#define MAGIC_1_2  0xfffffffbu
#define MAGIC_1_16 0xfffffffau
#define MAGIC_1_18 0xfffffff0u
#define MAGIC_1_20 0xfffffff1u

/* 0 beyond the end, which leads nowhere. */
static uint64_t number_at(const struct gopcln *g, uint64_t off, unsigned bytes)
{
	uint64_t x = 0;

	if (off > g->len || bytes > g->len - off)
		return 0;
	memcpy(&x, g->at + off, bytes); /* little-endian, as is whoever runs it */
	return x;
}

static uint64_t word_at(const struct gopcln *g, unsigned index)
{
	return number_at(g, 8 + (uint64_t)index * g->pointer_bytes, g->pointer_bytes);
}

static uint64_t text_start(const struct image *img)
{
	GElf_Shdr sh;

	return image_section(img, ".text", &sh) ? sh.sh_addr : 0;
}

static bool read_header(struct gopcln *g, const struct image *img)
{
	g->pointer_bytes = g->at[7];
	if (g->pointer_bytes != 4 && g->pointer_bytes != 8)
		return false;
	g->entry_bytes = g->pointer_bytes;
	g->quantum = g->at[6];
	g->count = word_at(g, 0);
	switch ((uint32_t)number_at(g, 0, 4)) {
	case MAGIC_1_2:
		g->table = 8 + g->pointer_bytes;
		return true; /* all else from the section on */
	case MAGIC_1_16:
		g->names = word_at(g, 2);
		g->stacks = word_at(g, 5);
		g->table = g->functions = word_at(g, 6);
		return true;
	case MAGIC_1_18:
	case MAGIC_1_20:
		g->entry_bytes = 4;
		/* Left to the loader in programs that may lie anywhere. */
		g->text = word_at(g, 2) ? word_at(g, 2) : text_start(img);
		g->names = word_at(g, 3);
		g->stacks = word_at(g, 6);
		g->table = g->functions = word_at(g, 7);
		return true;
	default: return false;
	}
}

void gopcln_init(struct gopcln *g, const struct image *img)
{
	GElf_Shdr sh;

	memset(g, 0, sizeof(*g));
	g->img = img;
	if (!image_section(img, ".gopclntab", &sh) &&
		!image_section(img, ".data.rel.ro.gopclntab", &sh))
		return;
	g->at = image_section_bytes(img, &sh);
	g->len = g->at ? sh.sh_size : 0;
	if (g->len < 64 || !read_header(g, img) || g->quantum == 0 || g->table > g->len ||
		g->count >= (g->len - g->table) / (2 * g->entry_bytes)) {
		g->at = NULL;
		g->count = 0;
	}
}

/* There is one more than there are functions: the end. */
static uint64_t start_of(const struct gopcln *g, uint64_t i)
{
	return g->text + number_at(g, g->table + i * 2 * g->entry_bytes, g->entry_bytes);
}

/* What else is said of function i. */
static uint64_t record_of(const struct gopcln *g, uint64_t i)
{
	return g->functions + number_at(g, g->table + (i * 2 + 1) * g->entry_bytes, g->entry_bytes);
}

/* NULL: none, or longer than max. */
static const char *name_of(const struct gopcln *g, uint64_t i, uint64_t max)
{
	uint64_t off = g->names + number_at(g, record_of(g, i) + g->entry_bytes, 4);
	uint64_t room = off < g->len ? g->len - off : 0;

	if (!memchr(g->at + (room ? off : 0), 0, room < max ? room : max))
		return NULL;
	return (const char *)g->at + off;
}

uint64_t gopcln_above(const struct gopcln *g, uint64_t addr)
{
	uint64_t lo = 0, hi = g->count;

	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (start_of(g, mid + 1) <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

void gopcln_code(const struct gopcln *g, uint64_t i, uint64_t *ret_start, uint64_t *ret_end)
{
	*ret_start = start_of(g, i);
	*ret_end = start_of(g, i + 1);
}

bool gopcln_find(const struct gopcln *g, uint64_t addr, struct gopcln_function *ret)
{
	uint64_t i = gopcln_above(g, addr);

	if (i == g->count || start_of(g, i) > addr)
		return false;
	gopcln_code(g, i, &ret->start, &ret->end);
	ret->name = name_of(g, i, UINT64_MAX);
	return ret->name && ret->name[0];
}

/* ---- the stack ---- */

#define PART_NAME_MAX 64

enum part { PART_PLAIN, PART_ROOT, PART_PLACED, PART_SWITCHED, PART_SIGNAL };

/* What a function of the run time is to a stack. */
static enum part part_of(const struct gopcln *g, uint64_t i)
{
	static const struct {
		const char *name;
		enum part part;
	} parts[] = {
		/* A goroutine is made as if this had called its first function. */
		{"runtime.goexit", PART_ROOT},
		{"runtime.rt0_go", PART_ROOT},
		{"_rt0_amd64", PART_ROOT},
		{"_rt0_amd64_linux", PART_ROOT},
		/* Stands as the caller on a thread's own stack, with its first byte. */
		{"runtime.mstart", PART_PLACED},
		{"runtime.asmcgocall", PART_SWITCHED},
		{"runtime.mcall", PART_SWITCHED},
		{"runtime.morestack", PART_SWITCHED},
		{"runtime.systemstack", PART_SWITCHED},
		/* Where the kernel has signal handlers return to. */
		{"runtime.sigreturn", PART_SIGNAL},
		{"runtime.sigreturn__sigaction", PART_SIGNAL},
	};
	const char *name = i < g->count ? name_of(g, i, PART_NAME_MAX) : NULL;
	size_t len = name ? strlen(name) : 0;

	if (len > 5 && memcmp(name + len - 5, ".abi0", 5) == 0)
		len -= 5;
	for (size_t k = 0; k < sizeof(parts) / sizeof(parts[0]); k++)
		if (strlen(parts[k].name) == len && memcmp(parts[k].name, name, len) == 0)
			return parts[k].part;
	return PART_PLAIN;
}

/* A number of up to 32 bits, seven at a time; moves *off on. */
static uint32_t varint(const struct gopcln *g, uint64_t *off)
{
	uint32_t x = 0;

	for (unsigned shift = 0; shift < 35; shift += 7) {
		uint8_t byte = (uint8_t)number_at(g, (*off)++, 1);

		x |= shift < 32 ? (uint32_t)(byte & 0x7f) << shift : 0;
		if (!(byte & 0x80))
			break;
	}
	return x;
}

/* depth: bytes between rsp and the return address. The first thing that a function with a frame
 * does is to keep rbp next to that; rbx it need not keep. */
static uint32_t code_of_depth(int32_t depth)
{
	uint32_t words = (uint32_t)depth / 8;

	if (depth < 0 || depth % 8 != 0 || words + 1 > CFI_A_MAX)
		return CFI_NONE;
	return cfi_code_with_bx(cfi_code(CFI_BY_SP, words + 1, words > 0 ? 2 : 0), CFI_C_LOST);
}

static void plain_rows(const struct gopcln *g, uint64_t i, cfi_row_fn row, void *arg)
{
	uint64_t off = number_at(g, record_of(g, i) + g->entry_bytes + 12, 4);
	uint64_t start, end, pc;
	int32_t depth = -1;

	gopcln_code(g, i, &start, &end);
	pc = start;
	if (off == 0) {
		row(arg, start, CFI_NONE);
		return;
	}
	/* Pairs: how much deeper, and for how far. They end with a first one of 0. */
	for (off += g->stacks; pc < end && off < g->len;) {
		uint32_t delta = varint(g, &off), far;

		if (delta == 0 && pc != start)
			break;
		depth = (int32_t)((uint32_t)depth + ((delta >> 1) ^ (0 - (delta & 1))));
		far = varint(g, &off);
		row(arg, pc, code_of_depth(depth));
		if (far == 0)
			return;
		pc += (uint64_t)far * g->quantum;
	}
	if (pc < end)
		row(arg, pc, CFI_NONE);
}

/* What lies in front of a function that nothing calls: padding, to which its first byte belongs as
 * the place after a call. */
static void last_byte(const struct gopcln *g, uint64_t i, uint64_t end, cfi_row_fn row, void *arg)
{
	enum part next = part_of(g, i + 1);
	const uint8_t *at =
		next == PART_PLACED || next == PART_SIGNAL ? image_at(g->img, end - 1, 1) : NULL;

	if (at && *at == 0xcc)
		row(arg, end - 1, next == PART_SIGNAL ? CFI_SIGNAL : CFI_PLACED);
}

void gopcln_rows(const struct gopcln *g, uint64_t i, cfi_row_fn row, void *arg)
{
	uint64_t start, end;

	gopcln_code(g, i, &start, &end);
	switch (part_of(g, i)) {
	case PART_PLAIN: plain_rows(g, i, row, arg); break;
	case PART_ROOT:
	case PART_PLACED: row(arg, start, CFI_ROOT); break;
	case PART_SWITCHED: row(arg, start, CFI_SWITCHED); break;
	case PART_SIGNAL: row(arg, start, CFI_SIGNAL); break;
	}
	if (end > start)
		last_byte(g, i, end, row, arg);
}
