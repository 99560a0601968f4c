/* Compiled unwind rules: a frame is one look-up by its address and one or two words of the stack.
 * Of a module that has no table of them yet, those that are needed are compiled one by one. What no
 * compiled rule can say is left to a stepper for that frame. Of the registers pc, sp, rbp and rbx
 * alone are followed: where another one is needed, or one of these two where it was not copied, the
 * whole stack is walked again by the stepper. Beyond the copy the kernel's frame-pointer chain
 * stands in for it, for as long as the rules are those of frame pointers. */
#include "daemon/unwind/walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/io.h"
#include "base/map.h"
#include "daemon/cfi/table.h"
#include "daemon/unwind/cfi.h"
#include "daemon/unwind/code.h"

#define WAYS     4u
#define SETS     8192u /* 512 KiB of cache */
#define TAGS_MAX 0xffffu
#define ADDR_MAX (UINT64_C(1) << 48)
#define TRAIL    4u /* a power of two */

#define FOLLOWED ((1u << DWREG_RIP) | (1u << DWREG_RSP) | (1u << DWREG_RBP) | (1u << DWREG_RBX))

/* key: the address, and above it the tag of its space; 0: free. ahead: how many bytes further out
 * the word was that the walk needed TRAIL frames later, when it came this way last: a guess where
 * it will read then. 0: not known. */
struct entry {
	uint64_t key;
	uint32_t code;
	uint32_t ahead;
};

/* A line of the processor's cache. */
struct set {
	_Alignas(64) struct entry ways[WAYS];
};

/* The last frames of a walk. */
struct trail {
	struct {
		struct entry *entry;
		uint64_t sp;
	} steps[TRAIL];
	unsigned count;
};

/* Rules by address. A space has a tag for as long as its addresses lead to the same code: when they
 * may not any more it gets another one, and what was cached under the old is not found again. */
struct table_walker {
	struct set *sets;
	struct map *tags; /* space -> its code generation << 16 | tag */
	uint64_t next_tag;
	const struct space *space; /* of the present walk */
	uint64_t generation, tag;
	unsigned turn; /* which way of a set is given up next */
	void (*want)(void *arg, struct module *m);
	void *arg;
	struct entry uncached; /* what was found and not kept */
	struct table_stats stats;
};

int table_walker_new(struct table_walker **ret_walker)
{
	struct table_walker *t = calloc(1, sizeof(*t));
	int r = -ENOMEM;

	if (!t)
		return -ENOMEM;
	t->next_tag = 1;
	t->sets = aligned_alloc(sizeof(*t->sets), SETS * sizeof(*t->sets));
	if (t->sets)
		r = map_new(64, &t->tags);
	if (r < 0) {
		table_walker_free(t);
		return r;
	}
	memset(t->sets, 0, SETS * sizeof(*t->sets));
	*ret_walker = t;
	return 0;
}

void table_walker_free(struct table_walker *t)
{
	if (!t)
		return;
	map_free(t->tags);
	free(t->sets);
	free(t);
}

void table_walker_ask(struct table_walker *t, void (*want)(void *arg, struct module *m), void *arg)
{
	t->want = want;
	t->arg = arg;
}

void table_walker_forget(struct table_walker *t, const struct space *s)
{
	map_remove(t->tags, (uintptr_t)s, NULL);
	if (t->space == s)
		t->space = NULL;
}

const struct table_stats *table_walker_stats(const struct table_walker *t)
{
	return &t->stats;
}

/* All tags were given out once: starts over with nothing cached. */
static bool start_over(struct table_walker *t)
{
	struct map *fresh;

	if (map_new(64, &fresh) < 0)
		return false;
	map_free(t->tags);
	t->tags = fresh;
	memset(t->sets, 0, SETS * sizeof(*t->sets));
	t->next_tag = 1;
	return true;
}

/* The tag of the space as it is now. False: no memory for one. */
static bool use_space(struct table_walker *t, const struct space *s)
{
	uint64_t generation = space_code_generation(s), known;

	if (t->space == s && t->generation == generation)
		return true;
	t->space = NULL;
	if (map_get(t->tags, (uintptr_t)s, &known) &&
		known >> 16 == (generation & (UINT64_MAX >> 16))) {
		t->tag = known & TAGS_MAX;
	} else {
		if (t->next_tag > TAGS_MAX && !start_over(t))
			return false;
		t->tag = t->next_tag++;
		if (map_set(t->tags, (uintptr_t)s, generation << 16 | t->tag) < 0)
			return false;
	}
	t->space = s;
	t->generation = generation;
	return true;
}

static struct set *set_of(struct table_walker *t, uint64_t key)
{
	return &t->sets[(key * UINT64_C(0x9e3779b97f4a7c15)) >> 51];
}
_Static_assert(SETS == 1u << (64 - 51), "the shift above");

/* Sets end as it is to be when nothing leads on from code without rules. False: no code there. */
static bool find_slowly(
	struct table_walker *t, struct walk *w, uint64_t addr, struct entry **ret_entry)
{
	struct range *r = space_find(w->space, addr);
	struct module *m = r ? space_module(w->space, r) : NULL;
	const struct cfi_table *table;
	uint64_t key = t->tag << 48 | addr, vaddr;
	struct entry *e = &t->uncached;

	w->end = r ? UNWIND_NO_CFI : UNWIND_NO_MODULE;
	*e = (struct entry){.code = CFI_NONE};
	*ret_entry = e;
	if (!m || m->error == -ENOEXEC) {
		if (r && space_jit(w->space))
			e->code = jitrules_find(space_jit(w->space), addr, w->t_ns);
		return r != NULL;
	}
	if (m->error != 0) {
		w->end = UNWIND_UNREADABLE;
		return true;
	}
	if (!range_vaddr(r, addr, &vaddr))
		return true;
	table = module_table(m);
	if (!table && t->want)
		t->want(t->arg, m);
	e->code = table ? cfi_table_find(table, vaddr) : cfi_code_at(m, vaddr);
	/* What has no answer yet is to be asked of the table once it is there, if one is to come.
	 */
	if (addr < ADDR_MAX && (table || !t->want || e->code != CFI_ASK)) {
		*ret_entry = &set_of(t, key)->ways[t->turn++ % WAYS];
		**ret_entry = (struct entry){.key = key, .code = e->code};
	}
	return true;
}

static inline bool find(
	struct table_walker *t, struct walk *w, uint64_t addr, struct entry **ret_entry)
{
	uint64_t key = t->tag << 48 | addr;
	struct set *s = set_of(t, key);

	if (addr < ADDR_MAX)
		for (unsigned i = 0; i < WAYS; i++)
			if (s->ways[i].key == key) {
				*ret_entry = &s->ways[i];
				return true;
			}
	return find_slowly(t, w, addr, ret_entry);
}

static inline bool read_stack(struct walk *w, uint64_t addr, uint64_t *ret_word)
{
	uint64_t into = addr - w->stack_start, bytes = w->stack_end - w->stack_start;

	if (into < bytes && bytes - into >= sizeof(*ret_word)) {
		memcpy(ret_word, w->stack + into, sizeof(*ret_word));
		return true;
	}
	return walk_read(w, addr, ret_word);
}

static enum step cannot_read(const struct walk *w)
{
	/* Past the copy it is the same for everybody. Elsewhere a stepper knows more. */
	return w->end == UNWIND_STACK_CUT ? STEP_END : STEP_AGAIN;
}

static void lose(struct walk *w, unsigned reg)
{
	w->regs.known &= ~(1u << reg);
}

/* In the epilogue of the innermost function rbp or rbx may have its caller's value again, while its
 * slot is below sp, where nothing was copied. */
static bool is_popped(struct walk *w, uint64_t slot)
{
	struct range *r;
	uint64_t vaddr;

	if (!w->exact || w->past_signal || slot >= w->stack_start)
		return false;
	r = space_find(w->space, walk_pc(w));
	return r && range_vaddr(r, walk_pc(w), &vaddr) && code_is_epilogue(r->module, vaddr);
}

static inline enum step go_to_caller(struct walk *w, uint64_t pc, uint64_t cfa, bool signal)
{
	if (pc == 0) {
		w->end = UNWIND_ROOT;
		return STEP_END;
	}
	w->regs.value[DWREG_RIP] = pc;
	w->regs.value[DWREG_RSP] = cfa;
	w->regs.known &= FOLLOWED;
	w->exact = signal;
	w->from_signal = signal;
	w->past_signal |= signal;
	return STEP_ON;
}

/* The caller's value of a register that is in a slot of the stack; one that is not known may be
 * then. */
static inline void fetch(struct walk *w, unsigned reg, uint64_t slot)
{
	uint64_t value;

	if (read_stack(w, slot, &value))
		regs_set(&w->regs, reg, value);
	else if (!is_popped(w, slot))
		lose(w, reg);
}

static inline void fetch_bx(struct walk *w, uint64_t cfa, uint32_t code)
{
	uint64_t c = cfi_code_c(code);

	if (c == CFI_C_LOST)
		lose(w, DWREG_RBX);
	else if (c != 0)
		fetch(w, DWREG_RBX, cfa - 8 * c);
}

/* The CFA is known: the rest of the usual rule. slot is where rbp is; 0: unchanged. */
static inline enum step step_to(struct walk *w, uint64_t cfa, uint64_t slot, uint32_t code)
{
	uint64_t pc;

	if (!read_stack(w, cfa - 8, &pc))
		return cannot_read(w);
	if (slot != 0)
		fetch(w, DWREG_RBP, slot);
	fetch_bx(w, cfa, code);
	return go_to_caller(w, pc, cfa, false);
}

static enum step step_by_slot(struct walk *w, uint32_t code)
{
	uint64_t bp = w->regs.value[DWREG_RBP], cfa;

	if (!read_stack(w, bp - 8 * cfi_code_a(code), &cfa))
		return cannot_read(w);
	return step_to(w, cfa, cfi_code_b(code) ? bp : 0, code);
}

/* slot of rbp for the kinds that say it by its distance from the CFA */
static inline uint64_t bp_slot(uint64_t cfa, uint32_t code)
{
	uint64_t b = cfi_code_b(code);

	return b ? cfa - 8 * b : 0;
}

static enum step step_by_reg(struct walk *w, uint32_t code)
{
	unsigned reg = cfi_code_a(code) & 15;
	uint64_t cfa = w->regs.value[reg] + 8 * (cfi_code_a(code) >> 4);

	if (!regs_known(&w->regs, reg))
		return STEP_AGAIN;
	return step_to(w, cfa, bp_slot(cfa, code), code);
}

static enum step step_by_saved(struct walk *w, uint32_t code)
{
	uint64_t a = cfi_code_a(code), cfa;
	unsigned base = a & CFI_SAVED_BY_BP ? DWREG_RBP : DWREG_RSP;

	if (!regs_known(&w->regs, base))
		return STEP_AGAIN;
	if (!read_stack(w, w->regs.value[base] + 8 * (a & CFI_SAVED_SLOT), &cfa))
		return cannot_read(w);
	cfa += 8 * (a >> 8);
	return step_to(w, cfa, bp_slot(cfa, code), code);
}

static enum step step_by_signal(struct walk *w)
{
	uint64_t frame = w->regs.value[DWREG_RSP], sp, pc;

	if (!read_stack(w, frame + 160, &sp) || !read_stack(w, frame + 168, &pc))
		return cannot_read(w);
	if (pc == walk_pc(w) && sp == frame) {
		w->end = UNWIND_NO_PROGRESS;
		return STEP_END;
	}
	fetch(w, DWREG_RBP, frame + 120);
	fetch(w, DWREG_RBX, frame + 128);
	return go_to_caller(w, pc, sp, true);
}

static bool has_all(const struct walk *w)
{
	return w->regs.known == (1u << DWREG_COUNT) - 1;
}

static enum step step_without_rules(struct walk *w, enum unwind_how *ret_how)
{
	*ret_how = UNWIND_BY_FP;
	if (!regs_known(&w->regs, DWREG_RBP))
		return STEP_AGAIN;
	return step_without_cfi(w);
}

static enum step step_by_stepper(
	struct table_walker *t, struct stepper *st, struct walk *w, enum unwind_how *ret_how)
{
	bool all = has_all(w);
	enum step step;

	t->stats.asked++;
	stepper_begin(st, w);
	step = stepper_step(st);
	if (step == STEP_NO_CFI)
		return step_without_rules(w, ret_how);
	if (step == STEP_ON)
		stepper_fetch_bp(st);
	else if (w->end != UNWIND_ROOT && !all)
		return STEP_AGAIN;
	return step;
}

/* Whether the rule is that of a function with a frame pointer, whose stack the kernel's chain has
 * the two words of that are needed. */
static inline bool is_link(uint32_t code)
{
	return cfi_code_kind(code) == CFI_BY_BP && cfi_code_a(code) == 2 && cfi_code_b(code) == 2;
}

static enum step end_outermost(struct walk *w)
{
	w->outermost = true;
	w->end = UNWIND_ROOT;
	return STEP_END;
}

static inline enum step step_by_code(struct table_walker *t, struct stepper *st, struct walk *w,
	uint32_t code, enum unwind_how *ret_how)
{
	enum cfi_kind kind = cfi_code_kind(code);
	uint64_t a = 8 * cfi_code_a(code), cfa;

	*ret_how = UNWIND_BY_CFI;
	if (__builtin_expect(kind == CFI_BY_SP, 1)) {
		cfa = w->regs.value[DWREG_RSP] + a;
		return step_to(w, cfa, bp_slot(cfa, code), code);
	}
	if ((kind == CFI_BY_BP || kind == CFI_BY_SLOT) && !regs_known(&w->regs, DWREG_RBP))
		return STEP_AGAIN;
	switch (kind) {
	case CFI_BY_BP:
		if (is_link(code))
			*ret_how = UNWIND_BY_CFI_BP;
		cfa = w->regs.value[DWREG_RBP] + a;
		return step_to(w, cfa, bp_slot(cfa, code), code);
	case CFI_BY_SLOT: return step_by_slot(w, code);
	case CFI_BY_REG: return step_by_reg(w, code);
	case CFI_BY_SAVED: return step_by_saved(w, code);
	case CFI_IN_STUB:
		cfa = w->regs.value[DWREG_RSP] + a + ((walk_pc(w) & 15) >= cfi_code_b(code)) * 8u;
		return step_to(w, cfa, 0, code);
	case CFI_SIGNAL: return step_by_signal(w);
	case CFI_PLACED: w->placed = true; /* fall through */
	case CFI_ROOT: return end_outermost(w);
	case CFI_SWITCHED: return w->exact ? step_without_rules(w, ret_how) : end_outermost(w);
	case CFI_NONE: return step_without_rules(w, ret_how);
	default: return step_by_stepper(t, st, w, ret_how);
	}
}

/* Each frame waits for the one before it, and most stacks lie in memory that the processor has not
 * looked at: what will be needed some frames later is fetched while these are found. */
static inline void look_ahead(struct trail *trail, const struct walk *w, struct entry *entry)
{
	uint64_t sp = w->regs.value[DWREG_RSP];
	unsigned place = trail->count++ % TRAIL;

	if (entry->ahead)
		__builtin_prefetch(
			(const void *)((uintptr_t)w->stack + (sp - w->stack_start) + entry->ahead));
	if (trail->count > TRAIL) {
		/* The return address that led here is one word below. */
		uint32_t ahead = (uint32_t)(sp - 8 - trail->steps[place].sp);

		if (trail->steps[place].entry->ahead != ahead)
			trail->steps[place].entry->ahead = ahead;
	}
	trail->steps[place].entry = entry;
	trail->steps[place].sp = sp;
}

/* What was found last in the way of code set end; a rule from the cache did not. */
static inline bool find_next(
	struct table_walker *t, struct walk *w, uint64_t callee_sp, struct entry **ret_entry)
{
	if (!w->from_signal && w->regs.value[DWREG_RSP] <= callee_sp) {
		w->end = UNWIND_NO_PROGRESS;
		return false;
	}
	w->end = UNWIND_NO_CFI;
	return find(t, w, walk_lookup_pc(w), ret_entry);
}

/* At a frame that a link led to, whose rule needs more of the stack than links. */
static void end_links(struct walk *w, uint32_t code)
{
	enum cfi_kind kind = cfi_code_kind(code);

	w->placed = kind == CFI_PLACED || (kind == CFI_NONE && is_placed(w));
	w->end = UNWIND_STACK_CUT;
	if (w->placed || kind == CFI_ROOT || kind == CFI_SWITCHED ||
		is_entry(w->space, walk_lookup_pc(w)))
		end_outermost(w);
}

/* The copy has ended at a frame whose rule reads the two words that its frame pointer points at,
 * and the kernel has followed the same pointer: its next address is the one of these words, and
 * what it followed then the other. So it goes from frame to frame, as long as the rules do. Where
 * on the stack a frame is is known for the first one alone. */
static void go_on_by_links(struct table_walker *t, struct walk *w, struct entry *entry,
	unsigned max_frames, struct unwind_chain *chain)
{
	uint64_t bp = w->regs.value[DWREG_RBP], sp = bp + 16, begin_ns = 0, pc;
	uint32_t at = links_at(w, bp);

	if (at == 0)
		return;
	for (; is_link(entry->code) && at < w->link_count; at++, sp = 0) {
		pc = walk_pc(w);
		if (go_to_caller(w, w->links[at], sp, false) != STEP_ON)
			return;
		w->end = UNWIND_NO_MODULE;
		if (!find(t, w, walk_lookup_pc(w), &entry) ||
			!walk_take(w, pc, UNWIND_BY_CHAIN, max_frames, &begin_ns, chain))
			return;
	}
	end_links(w, entry->code);
}

bool table_walker_run(struct table_walker *t, struct stepper *st, struct walk *w,
	unsigned max_frames, struct unwind_chain *chain)
{
	uint64_t begin_ns = 0;
	enum unwind_how how;
	enum step step;
	struct entry *entry;
	struct trail trail;

	t->stats.walks++;
	if (!use_space(t, w->space))
		return false;
	w->end = UNWIND_NO_CFI;
	trail.count = 0;
	if (!find(t, w, walk_lookup_pc(w), &entry)) {
		chain->end = w->end;
		return true;
	}
	for (;;) {
		uint64_t sp = w->regs.value[DWREG_RSP];
		uint64_t pc = walk_pc(w);

		look_ahead(&trail, w, entry);
		step = step_by_code(t, st, w, entry->code, &how);
		if (step == STEP_AGAIN) {
			t->stats.again++;
			return false;
		}
		if (step != STEP_ON || !find_next(t, w, sp, &entry))
			break;
		if (!walk_take(w, pc, how, max_frames, &begin_ns, chain))
			break;
	}
	if (w->links && step == STEP_END && w->end == UNWIND_STACK_CUT && is_link(entry->code))
		go_on_by_links(t, w, entry, max_frames, chain);
	walk_over(w, chain);
	return true;
}
