/* Frames without CFI: by frame pointer, and the kernel's own frame-pointer chains. */
#include "daemon/unwind/walk.h"

#include "daemon/cfi/table.h"
#include "daemon/unwind/cfi.h"
#include "daemon/unwind/code.h"

/* Makes the caller's registers the present ones, if they look like a caller's. */
static enum step go_to(struct walk *w, uint64_t pc, uint64_t sp, uint64_t bp, bool bp_known)
{
	if (pc == 0) {
		w->end = UNWIND_ROOT;
		return STEP_END;
	}
	if (!space_find(w->space, pc - 1))
		return STEP_NO_CFI;
	regs_set(&w->regs, DWREG_RIP, pc);
	regs_set(&w->regs, DWREG_RSP, sp);
	regs_set(&w->regs, DWREG_RBP, bp);
	if (!bp_known)
		w->regs.known &= ~(1u << DWREG_RBP);
	w->exact = false;
	w->from_signal = false;
	return STEP_ON;
}

static enum step step_by_code(struct walk *w, const struct code_place *p)
{
	uint64_t sp = w->regs.value[DWREG_RSP];
	uint64_t bp = w->regs.value[DWREG_RBP];
	bool bp_known = regs_known(&w->regs, DWREG_RBP);
	uint64_t pc;

	if (!walk_read(w, sp + 8u * p->words, &pc))
		return STEP_NO_CFI;
	if (p->bp_pushed) {
		if (!walk_read(w, sp, &bp))
			return STEP_NO_CFI;
		bp_known = true;
	}
	return go_to(w, pc, sp + 8u * p->words + 8, bp, bp_known);
}

/* The frame pointer has to point into the copied stack, upwards and aligned, and the return address
 * above it into code. What the callee may have saved elsewhere is not known afterwards. */
static enum step step_by_bp(struct walk *w)
{
	uint64_t sp = w->regs.value[DWREG_RSP];
	uint64_t bp = w->regs.value[DWREG_RBP];
	uint64_t caller_bp, pc;

	if (!regs_known(&w->regs, DWREG_RBP) || bp % 8 != 0 || bp < sp)
		return STEP_NO_CFI;
	if (!walk_read(w, bp, &caller_bp) || !walk_read(w, bp + 8, &pc))
		return STEP_NO_CFI;
	w->regs.known = 0;
	return go_to(w, pc, bp + 16, caller_bp, true);
}

/* The frame of a copy that Python made of its trampoline: known by who called it, which is code of
 * a file that such copies are made from. It has no frame pointer of its own, so that the one there
 * is says nothing of this frame; one that does is not passed over. */
static enum step step_by_trampoline(struct walk *w)
{
	uint64_t sp = w->regs.value[DWREG_RSP], bp = w->regs.value[DWREG_RBP], pc, vaddr;
	bool bp_known = regs_known(&w->regs, DWREG_RBP);
	struct range *r = w->exact ? NULL : space_find(w->space, walk_lookup_pc(w));
	const struct cfi_table *table;
	struct module *m;

	if (!r || r->kind != RANGE_ANON || (bp_known && bp == sp) || !walk_read(w, sp + 8, &pc))
		return STEP_NO_CFI;
	r = space_find(w->space, pc - 1);
	m = r ? space_module(w->space, r) : NULL;
	table = m && m->error == 0 ? module_table(m) : NULL;
	if (!table || !(table->traits & CFI_TRAIT_TRAMPOLINE) || !range_vaddr(r, pc, &vaddr) ||
		!code_is_after_call(m, vaddr))
		return STEP_NO_CFI;
	return go_to(w, pc, sp + 16, bp, bp_known);
}

/* What makecontext() and its like have put at the end of a stack of their own: the start of a
 * function with rules, where the byte in front of it belongs to none. A call as the last
 * instruction of code without rules would look the same, were it not for that call. */
bool is_placed(struct walk *w)
{
	uint64_t pc = walk_pc(w), vaddr;
	struct range *r = w->exact ? NULL : space_find(w->space, pc);
	struct module *m = r ? space_module(w->space, r) : NULL;

	/* Nearly all are behind a call, which is the cheaper look. */
	return m && range_vaddr(r, pc, &vaddr) && !code_is_after_call(m, vaddr) &&
		cfi_starts_at(m, vaddr);
}

enum step step_without_cfi(struct walk *w)
{
	const struct code_place *p = w->exact ? code_place_at(w) : NULL;
	struct regs before = w->regs;
	enum unwind_end why = w->end;
	enum step step;

	if (is_placed(w)) {
		w->placed = w->outermost = true;
		w->end = UNWIND_ROOT;
		return STEP_END;
	}
	step = p ? step_by_code(w, p) : step_by_trampoline(w);
	if (step == STEP_NO_CFI && !p)
		step = step_by_bp(w);
	if (step != STEP_NO_CFI)
		return step;
	w->regs = before;
	/* A wild frame pointer says nothing about the stack; one that leads off the end of the copy
	 * does. */
	if (w->end != UNWIND_STACK_CUT)
		w->end = why;
	return STEP_NO_CFI;
}

#define ENTRY_BYTES 64 /* glibc's _start has 38, that of its ld.so with _dl_start_user some 50 */

bool is_entry(struct space *s, uint64_t addr)
{
	struct range *r = space_find(s, addr);
	struct module *m = r ? space_module(s, r) : NULL;
	uint64_t vaddr;

	return m && m->entry && range_vaddr(r, addr, &vaddr) && vaddr >= m->entry &&
		vaddr - m->entry < ENTRY_BYTES;
}

static bool is_outermost(struct space *s, uint64_t addr)
{
	struct range *r = space_find(s, addr);
	struct module *m = r ? space_module(s, r) : NULL;
	uint64_t vaddr;

	return m && range_vaddr(r, addr, &vaddr) && cfi_is_outermost(m, vaddr);
}

void unwind_from_fp(struct space *s, const struct sample *sample, unsigned max_frames,
	struct unwind_chain *chain)
{
	uint32_t count = sample->user_count;
	uint64_t last;

	max_frames = walk_frames_cap(max_frames);
	chain->count = 0;
	if (!sample->user_chain || count == 0) {
		walk_leaf_alone(sample, chain);
		return;
	}
	for (uint32_t i = 0; i < count && chain->count < max_frames; i++)
		chain_push(chain, sample->user_chain[i] - (i > 0), 0,
			i ? UNWIND_BY_FP : UNWIND_BY_REGISTERS);
	last = chain->addrs[chain->count - 1];
	if (count > max_frames || count + sample->kernel_count == LINKS_MAX)
		chain->end = UNWIND_MAX_FRAMES;
	else if (!space_find(s, last))
		chain->end = UNWIND_NO_MODULE;
	else
		chain->end =
			is_outermost(s, last) || is_entry(s, last) ? UNWIND_ROOT : UNWIND_FP_END;
}
