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
	g->count = word_at(g, 0);
	switch ((uint32_t)number_at(g, 0, 4)) {
	case MAGIC_1_2: g->table = 8 + g->pointer_bytes; return true;
	case MAGIC_1_16:
		g->names = word_at(g, 2);
		g->table = g->functions = word_at(g, 6);
		return true;
	case MAGIC_1_18:
	case MAGIC_1_20:
		g->entry_bytes = 4;
		/* Left to the loader in programs that may lie anywhere. */
		g->text = word_at(g, 2) ? word_at(g, 2) : text_start(img);
		g->names = word_at(g, 3);
		g->table = g->functions = word_at(g, 7);
		return true;
	default: return false;
	}
}

void gopcln_init(struct gopcln *g, const struct image *img)
{
	GElf_Shdr sh;

	memset(g, 0, sizeof(*g));
	if (!image_section(img, ".gopclntab", &sh) &&
		!image_section(img, ".data.rel.ro.gopclntab", &sh))
		return;
	g->at = image_section_bytes(img, &sh);
	g->len = g->at ? sh.sh_size : 0;
	if (g->len < 64 || !read_header(g, img) || g->table > g->len ||
		g->count >= (g->len - g->table) / (2 * g->entry_bytes))
		g->at = NULL;
}

/* There is one more than there are functions: the end. */
static uint64_t start_of(const struct gopcln *g, uint64_t i)
{
	return g->text + number_at(g, g->table + i * 2 * g->entry_bytes, g->entry_bytes);
}

static const char *name_of(const struct gopcln *g, uint64_t i)
{
	uint64_t function = g->functions +
		number_at(g, g->table + (i * 2 + 1) * g->entry_bytes, g->entry_bytes);
	uint64_t off = g->names + number_at(g, function + g->entry_bytes, 4);

	if (off >= g->len || !memchr(g->at + off, 0, g->len - off))
		return NULL;
	return (const char *)g->at + off;
}

bool gopcln_find(const struct gopcln *g, uint64_t addr, struct gopcln_function *ret)
{
	uint64_t lo = 0, hi = g->at ? g->count : 0;

	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (start_of(g, mid) <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0)
		return false;
	ret->start = start_of(g, lo - 1);
	ret->end = start_of(g, lo);
	ret->name = name_of(g, lo - 1);
	return addr < ret->end && ret->name && ret->name[0];
}
