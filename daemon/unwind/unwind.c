#include "daemon/unwind/unwind.h"

#include <errno.h>
#include <string.h>
#include "base/io.h"
#include "daemon/unwind/walk.h"

#define SAMPLE_NS_MAX UINT64_C(100000000) /* a sample that takes longer is given up */
/* The most that may lie between the end of the copy and the rest of the same stack: what is beyond
 * was not asked for because the stack was cut, but because a rule went astray. */
#define STACK_REACH (UINT64_C(1) << 30)

struct unwinder {
	struct stepper *stepper;
	struct table_walker *table; /* beside stepper, or NULL */
	struct dwfl_walker *dwfl;   /* alone, or NULL */
};

const char *unwind_end_name(enum unwind_end end)
{
	static const char *const names[UNWIND_END_COUNT] = {
		[UNWIND_ROOT] = "root",
		[UNWIND_STACK_CUT] = "stack_cut",
		[UNWIND_MAX_FRAMES] = "max_frames",
		[UNWIND_NO_CFI] = "no_cfi",
		[UNWIND_NO_MODULE] = "no_module",
		[UNWIND_UNREADABLE] = "unreadable",
		[UNWIND_BAD_MEMORY] = "bad_memory",
		[UNWIND_NO_PROGRESS] = "no_progress",
		[UNWIND_NO_USER] = "no_user",
		[UNWIND_ERROR] = "error",
		[UNWIND_FP_END] = "fp_end",
	};

	return (unsigned)end < UNWIND_END_COUNT ? names[end] : "error";
}

const char *unwinder_name(enum unwinder_kind kind)
{
	static const char *const names[UNWINDER_KINDS] = {
		[UNWINDER_TABLE] = "table",
		[UNWINDER_LIBUNWIND] = "libunwind",
		[UNWINDER_LIBDW] = "libdw",
	};

	return names[kind];
}

bool unwinder_kind_of(const char *name, enum unwinder_kind *ret_kind)
{
	for (int kind = 0; kind < UNWINDER_KINDS; kind++)
		if (strcmp(name, unwinder_name((enum unwinder_kind)kind)) == 0) {
			*ret_kind = (enum unwinder_kind)kind;
			return true;
		}
	return false;
}

int unwinder_new(const char *name, struct unwinder **ret_unwinder)
{
	enum unwinder_kind kind;
	struct unwinder *u;
	int error;

	if (!unwinder_kind_of(name, &kind))
		return -EINVAL;
	u = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	error = kind == UNWINDER_LIBDW ? dwfl_walker_new(&u->dwfl) : stepper_new(&u->stepper);
	if (error == 0 && kind == UNWINDER_TABLE)
		error = table_walker_new(&u->table);
	if (error < 0) {
		unwinder_free(u);
		return error;
	}
	*ret_unwinder = u;
	return 0;
}

void unwinder_free(struct unwinder *u)
{
	if (!u)
		return;
	dwfl_walker_free(u->dwfl);
	table_walker_free(u->table);
	stepper_free(u->stepper);
	free(u);
}

void unwinder_forget(struct unwinder *u, struct space *s)
{
	if (u->dwfl)
		dwfl_walker_forget(u->dwfl, s);
	if (u->table)
		table_walker_forget(u->table, s);
}

void unwinder_ask_tables(struct unwinder *u, void (*want)(void *arg, struct module *m), void *arg)
{
	if (u->table)
		table_walker_ask(u->table, want, arg);
}

void unwinder_get_stats(const struct unwinder *u, struct unwinder_stats *ret_stats)
{
	const struct table_stats *t = u->table ? table_walker_stats(u->table) : NULL;

	*ret_stats = (struct unwinder_stats){0};
	if (t)
		*ret_stats = (struct unwinder_stats){t->walks, t->asked, t->again};
}

bool walk_is_late(uint64_t *begin_ns)
{
	uint64_t now = time_mono_ns();

	if (*begin_ns == 0)
		*begin_ns = now;
	return now - *begin_ns > SAMPLE_NS_MAX;
}

bool walk_begin(struct walk *w, struct space *s, const struct sample *sample)
{
	memset(w, 0, sizeof(*w));
	w->end = UNWIND_NO_USER;
	if (sample->abi != PERF_SAMPLE_REGS_ABI_64 || !sample->regs)
		return false;
	w->space = s;
	w->t_ns = sample->t_ns;
	regs_from_perf(sample->regs, &w->regs);
	w->exact = true;
	w->stack_start = w->stack_end = w->regs.value[DWREG_RSP];
	if (sample->stack && w->stack_start + sample->stack_bytes >= w->stack_start) {
		w->stack = sample->stack;
		w->stack_end += sample->stack_bytes;
	}
	w->links = sample->user_chain;
	w->link_count = sample->user_count;
	w->link_bp = w->regs.value[DWREG_RBP];
	return true;
}

bool walk_on_stack(const struct walk *w, uint64_t addr)
{
	return addr >= w->stack_start && addr < w->stack_end;
}

bool walk_read(struct walk *w, uint64_t addr, uint64_t *ret_word)
{
	if (walk_on_stack(w, addr) && w->stack_end - addr >= sizeof(*ret_word)) {
		memcpy(ret_word, w->stack + (addr - w->stack_start), sizeof(*ret_word));
		w->last_word = *ret_word;
		return true;
	}
	for (unsigned i = 0; i < w->popped_count; i++) {
		if (w->popped[i].addr == addr) {
			*ret_word = w->popped[i].value;
			return true;
		}
	}
	w->read_failed = true;
	w->end = w->past_signal || (addr >= w->stack_start && addr - w->stack_start < STACK_REACH)
		? UNWIND_STACK_CUT
		: UNWIND_BAD_MEMORY;
	return false;
}

/* One frame, by whichever way leads on; sets *ret_how. */
static enum step step_once(struct stepper *st, struct walk *w, enum unwind_how *ret_how)
{
	enum step step = stepper_step(st);

	*ret_how = UNWIND_BY_CFI;
	if (step != STEP_NO_CFI)
		return step;
	*ret_how = UNWIND_BY_FP;
	stepper_fetch_bp(st);
	step = step_without_cfi(w);
	stepper_resume(st);
	return step;
}

/* Whether the caller's registers can be those of a caller: the stack has shrunk, except where a
 * signal handler may have run on a stack of its own, and the address is one of code. */
static bool is_plausible(struct walk *w, uint64_t callee_sp)
{
	if (!w->from_signal && w->regs.value[DWREG_RSP] <= callee_sp) {
		w->end = UNWIND_NO_PROGRESS;
		return false;
	}
	if (!space_find(w->space, walk_lookup_pc(w))) {
		w->end = UNWIND_NO_MODULE;
		return false;
	}
	return true;
}

static void walk_all(
	struct stepper *st, struct walk *w, unsigned max_frames, struct unwind_chain *chain)
{
	uint64_t begin_ns = time_mono_ns();
	enum unwind_how how;

	stepper_begin(st, w);
	for (;;) {
		uint64_t sp = w->regs.value[DWREG_RSP];
		uint64_t pc = walk_pc(w);

		if (step_once(st, w, &how) != STEP_ON || !is_plausible(w, sp))
			break;
		if (!walk_take(w, pc, how, max_frames, &begin_ns, chain))
			break;
	}
	walk_over(w, chain);
}

/* From the beginning, whatever was tried before. */
static void walk_by_stepper(struct stepper *st, struct space *s, const struct sample *sample,
	unsigned max_frames, struct unwind_chain *chain)
{
	struct walk w;

	(void)walk_begin(&w, s, sample);
	chain->count = 0;
	chain_push(chain, walk_pc(&w), w.regs.value[DWREG_RSP], UNWIND_BY_REGISTERS);
	walk_all(st, &w, max_frames, chain);
}

/* Without registers of 64 bits there is one frame at most: where the CPU was. */
void walk_leaf_alone(const struct sample *sample, struct unwind_chain *chain)
{
	uint64_t ip = sample->kernel_ip ? 0 : sample->ip;

	if (sample->abi == PERF_SAMPLE_REGS_ABI_32 && sample->regs)
		ip = (uint32_t)sample->regs[8]; /* after ax bx cx dx si di bp sp */
	if (ip != 0)
		chain_push(chain, ip, 0, UNWIND_BY_REGISTERS);
	chain->end = UNWIND_NO_USER;
}

unsigned walk_frames_cap(unsigned max_frames)
{
	if (max_frames == 0)
		return 1;
	return max_frames < UNWIND_FRAMES_MAX ? max_frames : UNWIND_FRAMES_MAX;
}

/* The kernel jumps there, so what rules or frame pointers find below it is no caller. */
static void end_at_entry(struct space *s, struct unwind_chain *chain)
{
	switch (chain->end) {
	case UNWIND_ROOT:
	case UNWIND_STACK_CUT:
	case UNWIND_MAX_FRAMES:
	case UNWIND_NO_USER: return;
	default:
		if (chain->count > 0 && is_entry(s, chain->addrs[chain->count - 1])) {
			chain->end = UNWIND_ROOT;
			chain->outermost = true;
		}
	}
}

void unwinder_run(struct unwinder *u, struct space *s, const struct sample *sample,
	unsigned max_frames, struct unwind_chain *chain)
{
	struct walk w;

	max_frames = walk_frames_cap(max_frames);
	chain->count = 0;
	chain->outermost = false;
	if (!walk_begin(&w, s, sample)) {
		walk_leaf_alone(sample, chain);
		return;
	}
	chain_push(chain, walk_pc(&w), w.regs.value[DWREG_RSP], UNWIND_BY_REGISTERS);
	if (u->dwfl)
		dwfl_walker_run(u->dwfl, &w, max_frames, chain);
	else if (!u->table || !table_walker_run(u->table, u->stepper, &w, max_frames, chain))
		walk_by_stepper(u->stepper, s, sample, max_frames, chain);
	end_at_entry(s, chain);
}
