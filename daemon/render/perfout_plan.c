/* Addresses for frames. */
#include "daemon/render/perfout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ALIGN ((uint64_t)2 << 20)

static uint64_t round_down(uint64_t x, uint64_t to)
{
	return x - x % to;
}

static uint64_t offset_of(const struct profile *p, const struct profile_frame *f)
{
	return f->addr - p->modules[f->module].bias;
}

static int find_processes(struct perfout_plan *plan)
{
	const struct profile *p = plan->profile;

	plan->process_of = malloc((p->node_count + (size_t)1) * sizeof(*plan->process_of));
	if (!plan->process_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->node_count; i++) {
		const struct profile_frame *f = &p->frames[p->nodes[i].frame];

		if (f->kind == FRAME_PROCESS)
			plan->process_of[i] = (uint32_t)f->addr;
		else
			plan->process_of[i] =
				i ? plan->process_of[p->nodes[i].parent] : PERFOUT_NO_PROCESS;
	}
	return 0;
}

/* Offsets that would wrap are no offsets: such a frame is shown where its module ends. */
static void measure_modules(struct perfout_plan *plan)
{
	const struct profile *p = plan->profile;

	for (uint32_t i = 0; i < p->frame_count; i++) {
		const struct profile_frame *f = &p->frames[i];
		struct perfout_module *m;
		uint64_t page;

		if (f->kind != FRAME_USER)
			continue;
		m = &plan->modules[f->module];
		page = round_down(offset_of(p, f), PERFOUT_PAGE);
		if (page >> 40)
			continue;
		if (m->lo == m->hi || page < m->lo)
			m->lo = page;
		if (page + PERFOUT_PAGE > m->hi)
			m->hi = page + PERFOUT_PAGE;
	}
}

/* What a program has made itself stays where it was. */
static bool is_free(const struct profile *p, uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < p->frame_count; i++)
		if (p->frames[i].kind == FRAME_JIT && p->frames[i].addr + PERFOUT_PAGE >= start &&
			p->frames[i].addr < end)
			return false;
	return true;
}

static void place_modules(struct perfout_plan *plan)
{
	const struct profile *p = plan->profile;
	/* Far from where the kernel puts programs, libraries and heaps. */
	uint64_t start = UINT64_C(0x100000000000), step = UINT64_C(0x100000000000);
	uint64_t bytes = (uint64_t)p->text_bytes * PERFOUT_PAGE + 2 * ALIGN;

	for (uint32_t i = 0; i < p->module_count; i++)
		bytes += round_down(plan->modules[i].hi - plan->modules[i].lo, ALIGN) + 2 * ALIGN;
	while (start < 5 * step && !is_free(p, start, start + bytes))
		start += step;
	for (uint32_t i = 0; i < p->module_count; i++) {
		struct perfout_module *m = &plan->modules[i];

		m->base = start - round_down(m->lo, ALIGN);
		start += round_down(m->hi - m->lo, ALIGN) + 2 * ALIGN;
	}
	plan->special_base = start;
}

uint64_t perfout_address(const struct perfout_plan *plan, const struct profile_frame *f)
{
	const struct profile *p = plan->profile;

	switch (f->kind) {
	case FRAME_USER: return plan->modules[f->module].base + offset_of(p, f);
	case FRAME_SPECIAL: return plan->special_base + f->addr * PERFOUT_PAGE;
	default: return f->addr;
	}
}

static bool item_of(const struct profile_frame *f, uint32_t process, struct perfout_item *ret_item)
{
	ret_item->process = process;
	switch (f->kind) {
	case FRAME_USER:
		ret_item->kind = PERFOUT_MODULE;
		ret_item->what = f->module;
		return true;
	case FRAME_JIT:
		ret_item->kind = PERFOUT_JIT;
		ret_item->what = f->addr / PERFOUT_PAGE;
		return true;
	case FRAME_SPECIAL:
		ret_item->kind = PERFOUT_SPECIAL;
		ret_item->what = f->addr;
		return true;
	default: return false;
	}
}

static int compare_items(const void *a, const void *b)
{
	const struct perfout_item *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->what < y->what ? -1 : x->what > y->what;
}

static int list_items(struct perfout_plan *plan)
{
	const struct profile *p = plan->profile;
	size_t n = 0, kept = 0;
	struct perfout_item *items;

	items = plan->items = malloc((p->node_count + (size_t)1) * sizeof(*items));
	if (!items)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->node_count; i++)
		n += item_of(&p->frames[p->nodes[i].frame], plan->process_of[i], &items[n]);
	if (n)
		qsort(items, n, sizeof(*items), compare_items);
	for (size_t i = 0; i < n; i++)
		if (!kept || compare_items(&items[kept - 1], &items[i]) != 0)
			items[kept++] = items[i];
	plan->item_count = kept;
	return 0;
}

size_t perfout_first_item(const struct perfout_plan *plan, uint32_t process)
{
	size_t low = 0, high = plan->item_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (plan->items[mid].process < process)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

int perfout_plan_make(const struct profile *p, struct perfout_plan *plan)
{
	int r;

	memset(plan, 0, sizeof(*plan));
	plan->profile = p;
	plan->modules = calloc(p->module_count + (size_t)1, sizeof(*plan->modules));
	if (!plan->modules)
		return -ENOMEM;
	r = find_processes(plan);
	if (r < 0)
		return r;
	measure_modules(plan);
	place_modules(plan);
	return list_items(plan);
}

void perfout_plan_done(struct perfout_plan *plan)
{
	free(plan->process_of);
	free(plan->modules);
	free(plan->items);
}
