#include "daemon/unwind/links.h"

#include <string.h>

#include "daemon/unwind/walk.h"

/* A word of the first bytes above sp. */
static bool read_word(
	const uint8_t *stack, uint64_t sp, uint64_t bytes, uint64_t addr, uint64_t *ret)
{
	if (addr < sp || bytes < sizeof(*ret) || addr - sp > bytes - sizeof(*ret))
		return false;
	memcpy(ret, stack + (addr - sp), sizeof(*ret));
	return true;
}

static bool read_copy(const struct walk *w, uint64_t addr, uint64_t *ret)
{
	return w->stack &&
		read_word(w->stack, w->stack_start, w->stack_end - w->stack_start, addr, ret);
}

/* Within the copy the chain has to be what is there. Kernels from 6.11 on put what is at the stack
 * pointer in front when they sample in a uprobe at the first instruction of a function. */
uint32_t links_at(const struct walk *w, uint64_t bp)
{
	uint64_t at = w->link_bp, word;
	uint32_t i = 1;

	if (!w->links || w->link_count < 2 || !w->stack)
		return 0;
	for (; i < w->link_count && read_copy(w, at + 8, &word); i++)
		if (word != w->links[i] || !read_copy(w, at, &at))
			return 0;
	if (read_copy(w, w->stack_start, &word) && word == w->links[1])
		return 0;
	return i < w->link_count && at == bp ? i : 0;
}

/* The first frame that a copy of so many bytes would not have led to. */
static unsigned first_beyond(const struct unwind_chain *chain, uint64_t bytes)
{
	unsigned i = 1;

	while (i < chain->count && chain->sps[i] - chain->sps[0] <= bytes)
		i++;
	return i;
}

/* Whether links_at() would tell: the kernel, on its way from the registers' frame pointer, comes to
 * this one outside of the first bytes. */
static bool comes_by(const struct sample *sample, uint64_t bytes, uint64_t bp)
{
	uint64_t sp = sample->regs[SAMPLE_REG_RSP], at = sample->regs[SAMPLE_REG_RBP], next, top;

	if (read_word(sample->stack, sp, sample->stack_bytes, sp, &top) &&
		read_word(sample->stack, sp, sample->stack_bytes, at + 8, &next) && next == top)
		return false; /* as in a uprobe */
	while (read_word(sample->stack, sp, bytes, at + 8, &next)) {
		if (!read_word(sample->stack, sp, bytes, at, &next) || next <= at)
			return false;
		at = next;
	}
	return at == bp;
}

/* How far the chain would have led from the first frame that the copy does not lead to. */
static unsigned led_to(const struct sample *sample, const struct unwind_chain *chain,
	uint64_t copy_bytes, unsigned first)
{
	unsigned i = first;

	if (i < chain->count && chain->how[i] == UNWIND_BY_CFI_BP &&
		comes_by(sample, copy_bytes, chain->sps[i] - 16))
		while (i < chain->count && chain->how[i] == UNWIND_BY_CFI_BP)
			i++;
	return i;
}

enum links_cover links_would_cover(const struct sample *sample, const struct unwind_chain *chain,
	uint32_t copy_bytes, unsigned *ret_base)
{
	unsigned first, end;

	*ret_base = 0;
	if ((chain->end != UNWIND_ROOT && chain->end != UNWIND_STACK_CUT) || chain->count == 0 ||
		!sample->stack)
		return LINKS_NOT;
	if (sample->stack_bytes <= copy_bytes)
		return chain->end == UNWIND_ROOT ? LINKS_COPY : LINKS_UNSEEN;
	first = first_beyond(chain, copy_bytes);
	end = led_to(sample, chain, copy_bytes, first);
	*ret_base = chain->count - end;
	if (chain->end == UNWIND_STACK_CUT)
		return end == chain->count ? LINKS_UNSEEN : LINKS_NOT;
	/* What says that there is no more may be beyond the copy. */
	if (!chain->outermost || *ret_base > TAILS_BASE)
		return LINKS_NOT;
	if (end > first && end + sample->kernel_count > LINKS_MAX)
		return LINKS_NOT;
	return end > first ? LINKS_CHAIN : LINKS_COPY;
}
