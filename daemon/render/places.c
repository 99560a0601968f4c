/* Addresses for frames. */
#include "daemon/render/places.h"

#include <errno.h>
#include <stdlib.h>

#define ALIGN ((uint64_t)2 << 20)

static uint64_t round_down(uint64_t x, uint64_t to)
{
	return x - x % to;
}

static uint64_t offset_of(const struct profile *p, const struct profile_frame *f)
{
	return f->addr - p->modules[f->module].bias;
}

/* Offsets that would wrap are no offsets: such a frame is shown where its module ends. */
static void measure_modules(struct places *at)
{
	const struct profile *p = at->profile;

	for (uint32_t i = 0; i < p->frame_count; i++) {
		const struct profile_frame *f = &p->frames[i];
		struct place *m;
		uint64_t page;

		if (f->kind != FRAME_USER)
			continue;
		m = &at->modules[f->module];
		page = round_down(offset_of(p, f), PLACES_PAGE);
		if (page >> 40)
			continue;
		if (m->lo == m->hi || page < m->lo)
			m->lo = page;
		if (page + PLACES_PAGE > m->hi)
			m->hi = page + PLACES_PAGE;
	}
}

/* What a program has made itself stays where it was. */
static bool is_free(const struct profile *p, uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < p->frame_count; i++)
		if (p->frames[i].kind == FRAME_JIT && p->frames[i].addr + PLACES_PAGE >= start &&
			p->frames[i].addr < end)
			return false;
	return true;
}

static void place_modules(struct places *at)
{
	const struct profile *p = at->profile;
	/* Far from where the kernel puts programs, libraries and heaps. */
	uint64_t start = UINT64_C(0x100000000000), step = UINT64_C(0x100000000000);
	uint64_t bytes = (uint64_t)p->text_bytes * PLACES_PAGE + 2 * ALIGN;

	for (uint32_t i = 0; i < p->module_count; i++)
		bytes += round_down(at->modules[i].hi - at->modules[i].lo, ALIGN) + 2 * ALIGN;
	while (start < 5 * step && !is_free(p, start, start + bytes))
		start += step;
	for (uint32_t i = 0; i < p->module_count; i++) {
		struct place *m = &at->modules[i];

		m->base = start - round_down(m->lo, ALIGN);
		start += round_down(m->hi - m->lo, ALIGN) + 2 * ALIGN;
	}
	at->special_base = start;
}

uint64_t places_address(const struct places *at, const struct profile_frame *f)
{
	const struct profile *p = at->profile;

	switch (f->kind) {
	case FRAME_USER: return at->modules[f->module].base + offset_of(p, f);
	case FRAME_NAMED:
	case FRAME_SPECIAL: return at->special_base + f->addr * PLACES_PAGE;
	default: return f->addr;
	}
}

int places_make(const struct profile *p, struct places *at)
{
	*at = (struct places){.profile = p};
	at->modules = calloc(p->module_count + (size_t)1, sizeof(*at->modules));
	if (!at->modules)
		return -ENOMEM;
	measure_modules(at);
	place_modules(at);
	return 0;
}

void places_done(struct places *at)
{
	free(at->modules);
	*at = (struct places){0};
}
