/* One user stack on its way from frame to frame: what the back ends share. Sampler thread. */
#ifndef PFL_UNWIND_WALK_H
#define PFL_UNWIND_WALK_H

#include <stdbool.h>
#include <stdint.h>
#include "daemon/unwind/regs.h"
#include "daemon/unwind/unwind.h"

#define WALK_POPPED_MAX 6 /* registers that a callee saves */
/* kernel.perf_event_max_stack as it is set by default; both sides of a chain count. */
#define LINKS_MAX 127

/* What a step came to. */
enum step {
	STEP_ON,     /* the registers are the caller's now */
	STEP_NO_CFI, /* there are no rules here; registers as before; walk.end says why */
	STEP_END,    /* no further: walk.end says why */
	STEP_AGAIN,  /* by compiled rules alone: the stack is to be walked without them */
};

struct walk {
	struct space *space;
	const uint8_t *stack; /* copied bytes, at stack_start in the target */
	uint64_t stack_start, stack_end;
	uint64_t t_ns; /* of the sample */
	/* Words right below the copy that are known all the same: what was popped from there last.
	 */
	struct {
		uint64_t addr, value;
	} popped[WALK_POPPED_MAX];
	unsigned popped_count;
	const uint64_t *links; /* the kernel's frame-pointer chain, or NULL; see links.h */
	uint32_t link_count;
	uint64_t link_bp; /* the frame pointer that it begins with */
	struct regs regs; /* of the present frame; pc, sp and bp alone after a step by CFI */
	bool exact;       /* pc is the next instruction to run, not a return address */
	bool past_signal; /* a signal frame was crossed: the stack may be another one, not copied */
	bool from_signal; /* the last step led out of a signal frame */
	bool outermost;   /* the code at pc has no caller, whatever the stack says */
	bool placed;      /* the pc is the first of a function that nobody calls from where it is:
			     whoever made the stack put it there, so this is the outermost frame */
	uint64_t last_word; /* what the last read of the stack gave */
	bool read_failed;   /* some read of the last step did; end says how */
	enum unwind_end end;
};

/* False when the sample has no registers of 64 bits. */
bool walk_begin(struct walk *w, struct space *s, const struct sample *sample);

static inline uint64_t walk_pc(const struct walk *w)
{
	return w->regs.value[DWREG_RIP];
}

/* The address of the call for a return address: its rules and its name are the caller's, even where
 * the call was the last instruction of a function. */
static inline uint64_t walk_lookup_pc(const struct walk *w)
{
	return walk_pc(w) - (w->exact ? 0 : 1);
}

/* Without registers of 64 bits there is one frame at most: where the CPU was. */
void walk_leaf_alone(const struct sample *sample, struct unwind_chain *chain);
/* What is asked for, brought into the bounds of a chain. */
unsigned walk_frames_cap(unsigned max_frames);

static inline void chain_push(
	struct unwind_chain *chain, uint64_t addr, uint64_t sp, enum unwind_how how)
{
	chain->sps[chain->count] = sp;
	chain->addrs[chain->count] = addr;
	chain->how[chain->count] = (uint8_t)how;
	chain->count++;
}

/* A word of the copied stack. False: not there; end is set to the reason. */
bool walk_read(struct walk *w, uint64_t addr, uint64_t *ret_word);
bool walk_on_stack(const struct walk *w, uint64_t addr);

/* One frame without rules: by what the code at an interrupted pc says, else by the frame pointer.
 * Leaves walk.end as it was when neither leads on. */
enum step step_without_cfi(struct walk *w);

/* Whether nobody called the code at pc from where that is: whoever made the stack has put it there.
 */
bool is_placed(struct walk *w);

/* Where a program starts: _start and the little around it. Nothing called it, and not every _start
 * says so in its rules (those of ld.so and of musl do not). */
bool is_entry(struct space *s, uint64_t addr);

/* Which of w->links is the return address at bp + 8, a place beyond the copy. 0: it cannot be told,
 * or the kernel never came there. See links.h. */
uint32_t links_at(const struct walk *w, uint64_t bp);

/* A back end that takes single steps by CFI. */
struct stepper;
int stepper_new(struct stepper **ret_stepper);
void stepper_free(struct stepper *st);
void stepper_begin(struct stepper *st, struct walk *w); /* w is lent until the next begin */
enum step stepper_step(struct stepper *st);
/* The registers were changed by somebody else. */
void stepper_resume(struct stepper *st);
/* Fills walk.regs.value[DWREG_RBP] in, which a step leaves out; unknown if it cannot be read. */
void stepper_fetch_bp(struct stepper *st);

/* A sample that takes too long is given up: to be asked every so many frames. *begin_ns is 0 at the
 * first time, from which on it counts. */
#define WALK_FRAMES_A_CHECK 64
bool walk_is_late(uint64_t *begin_ns);

/* The frame that a step led to, whose callee stood at pc, goes on the chain. False: no further, and
 * walk.end says why. */
static inline bool walk_take(struct walk *w, uint64_t pc, enum unwind_how how, unsigned max_frames,
	uint64_t *begin_ns, struct unwind_chain *chain)
{
	if (w->from_signal) /* the handler returns to its trampoline's first instruction */
		chain->addrs[chain->count - 1] = pc;
	if (chain->count >= max_frames) {
		w->end = UNWIND_MAX_FRAMES;
		return false;
	}
	chain_push(chain, walk_lookup_pc(w), w->regs.value[DWREG_RSP], how);
	if ((chain->count - 1) % WALK_FRAMES_A_CHECK == 0 && walk_is_late(begin_ns)) {
		w->end = UNWIND_ERROR;
		return false;
	}
	return true;
}

static inline void walk_over(const struct walk *w, struct unwind_chain *chain)
{
	if (w->placed)
		chain->addrs[chain->count - 1] = walk_pc(w);
	chain->end = w->end;
	chain->outermost = w->outermost;
}

/* A back end that goes by compiled rules, and asks a stepper about the rest. */
struct table_walker;
int table_walker_new(struct table_walker **ret_walker);
void table_walker_free(struct table_walker *t);
void table_walker_forget(struct table_walker *t, const struct space *s);
void table_walker_ask(struct table_walker *t, void (*want)(void *arg, struct module *m), void *arg);
struct table_stats {
	uint64_t walks;
	uint64_t asked; /* frames that the stepper did */
	uint64_t again; /* walks that were given up */
};
const struct table_stats *table_walker_stats(const struct table_walker *t);
/* Appends to chain, which has the first frame, and sets its end. False: the stack is to be walked
 * from its beginning by the stepper; chain holds something then. */
bool table_walker_run(struct table_walker *t, struct stepper *st, struct walk *w,
	unsigned max_frames, struct unwind_chain *chain);

/* A back end that walks whole stacks: libdw, for comparison. */
struct dwfl_walker;
int dwfl_walker_new(struct dwfl_walker **ret_walker);
void dwfl_walker_free(struct dwfl_walker *d);
void dwfl_walker_forget(struct dwfl_walker *d, const struct space *s);
/* Appends to chain, which has the first frame, and sets its end. */
void dwfl_walker_run(
	struct dwfl_walker *d, struct walk *w, unsigned max_frames, struct unwind_chain *chain);

#endif
