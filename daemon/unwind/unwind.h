/* User call chains out of a sample's registers and copied stack. Sampler thread; a back end's
 * handles stay on it. */
#ifndef PFL_UNWIND_UNWIND_H
#define PFL_UNWIND_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "daemon/sample/record.h"
#include "daemon/symbol/space.h"

#define UNWIND_FRAMES_MAX 4096

/* Why a chain ended where it did. UNWIND_ROOT is the only whole one. */
enum unwind_end {
	UNWIND_ROOT,       /* the outermost frame: its return address is undefined or 0 */
	UNWIND_STACK_CUT,  /* the copied part of the stack ended, or a signal handler ran on another
			      stack than the one that it interrupted, which was not copied */
	UNWIND_MAX_FRAMES, /* more frames than asked for */
	UNWIND_NO_CFI,     /* no unwind information, and no frame pointer that leads on */
	UNWIND_NO_MODULE,  /* a return address in no executable mapping */
	UNWIND_UNREADABLE, /* the module's file cannot be read */
	UNWIND_BAD_MEMORY, /* a rule asked for memory that was not copied (not the stack's end) */
	UNWIND_NO_PROGRESS, /* the stack pointer did not grow */
	UNWIND_NO_USER,     /* a kernel thread, or a 32-bit process: no registers that we can use */
	UNWIND_ERROR,       /* the back end gave up otherwise */
	UNWIND_FP_END, /* the kernel's frame-pointer walk ended by itself: whether at the outermost
			  frame cannot be known (unwind_from_fp alone) */
	UNWIND_END_COUNT
};
/* "root", "stack_cut", … for the ledger and metrics */
const char *unwind_end_name(enum unwind_end end);

/* BY_CFI_BP: by CFI, whose rule is that of a frame pointer. BY_CHAIN: the same, with the kernel's
 * frame-pointer chain for the stack, see links.h. BY_FP: by the frame pointer where there is no
 * CFI; also by the code itself at the very entry or exit of such a function. BY_TAIL: not in this
 * sample, see tails.h. */
enum unwind_how {
	UNWIND_BY_REGISTERS,
	UNWIND_BY_CFI,
	UNWIND_BY_CFI_BP,
	UNWIND_BY_CHAIN,
	UNWIND_BY_FP,
	UNWIND_BY_TAIL
};

struct unwind_chain {
	/* Innermost first. The first is the instruction pointer; others are return addresses less
	 * 1, except for the frame that a signal interrupted and for the trampoline the handler
	 * returns to: ready to look names up with. */
	uint64_t addrs[UNWIND_FRAMES_MAX];
	uint64_t sps[UNWIND_FRAMES_MAX]; /* the stack pointer in that frame; 0: not known */
	uint8_t how[UNWIND_FRAMES_MAX];
	unsigned count;
	enum unwind_end end;
	bool outermost; /* UNWIND_ROOT: as the code of the last frame says, and no return address */
};

struct unwinder;
enum unwinder_kind { UNWINDER_TABLE, UNWINDER_LIBUNWIND, UNWINDER_LIBDW, UNWINDER_KINDS };
/* "table", "libunwind", "libdw" */
const char *unwinder_name(enum unwinder_kind kind);
/* False: no such name. */
bool unwinder_kind_of(const char *name, enum unwinder_kind *ret_kind);
/* name: "table" (compiled rules where there are any, libunwind for the rest), "libunwind", "libdw";
 * -EINVAL otherwise. */
int unwinder_new(const char *name, struct unwinder **ret_unwinder);
void unwinder_free(struct unwinder *u);
/* Whom a "table" tells of modules whose rules are not compiled yet: unwindtables_want(), as a rule.
 * Without it only those that are there already are used. Nothing for the others. */
void unwinder_ask_tables(struct unwinder *u, void (*want)(void *arg, struct module *m), void *arg);
/* Fills *chain, always: a failure is its end. max_frames at most UNWIND_FRAMES_MAX. A "table" goes
 * on beyond the copy by the kernel's frame-pointer chain, where the sample has one and as far as
 * the rules say that it must be right. */
void unwinder_run(struct unwinder *u, struct space *s, const struct sample *sample,
	unsigned max_frames, struct unwind_chain *chain);
/* The same from the kernel's own frame-pointer chain (STACK_FP). UNWIND_ROOT when the last address
 * is in code whose CFI says that it is the outermost; UNWIND_MAX_FRAMES when there are more than
 * max_frames, or the chain is just as long as the kernel makes them by default; else UNWIND_FP_END.
 */
void unwind_from_fp(struct space *s, const struct sample *sample, unsigned max_frames,
	struct unwind_chain *chain);
/* Of a "table": stacks walked, frames that libunwind did among them, and stacks that it did as a
 * whole.
 */
struct unwinder_stats {
	uint64_t stacks, asked_frames, asked_stacks;
};
void unwinder_get_stats(const struct unwinder *u, struct unwinder_stats *ret_stats);
/* The space is about to be freed: what is cached for it goes. */
void unwinder_forget(struct unwinder *u, struct space *s);

#endif
