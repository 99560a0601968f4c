/* What each process has mapped. */
#include "daemon/render/perfout.h"

#include <errno.h>
#include <stdlib.h>

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
		ret_item->what = f->addr / PLACES_PAGE;
		return true;
	case FRAME_NAMED:
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

	*plan = (struct perfout_plan){.profile = p};
	r = places_make(p, &plan->places);
	if (r < 0)
		return r;
	plan->process_of = malloc((p->node_count + (size_t)1) * sizeof(*plan->process_of));
	if (!plan->process_of)
		return -ENOMEM;
	profile_find_processes(p, plan->process_of);
	return list_items(plan);
}

void perfout_plan_done(struct perfout_plan *plan)
{
	free(plan->process_of);
	places_done(&plan->places);
	free(plan->items);
}
