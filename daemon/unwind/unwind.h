/* User call chains out of a sample's registers and copied stack. Sampler thread; a back end's handles stay
 * on it. A third back end may be added behind the same three calls. */
#ifndef PFL_UNWIND_UNWIND_H
#define PFL_UNWIND_UNWIND_H

#include <stddef.h>
#include <stdint.h>
#include "daemon/sample/record.h"
#include "daemon/symbol/space.h"

#define UNWIND_FRAMES_MAX 4096

/* Why a chain ended where it did. UNWIND_ROOT is the only whole one. */
enum unwind_end {
	UNWIND_ROOT,	   /* the outermost frame: its return address is undefined or 0 */
	UNWIND_STACK_CUT,  /* the copied part of the stack ended */
	UNWIND_MAX_FRAMES, /* more frames than asked for */
	UNWIND_NO_CFI,	   /* no unwind information, and no frame pointer that leads on */
	UNWIND_NO_MODULE,  /* a return address in no executable mapping */
	UNWIND_UNREADABLE, /* the module's file cannot be read */
	UNWIND_BAD_MEMORY, /* a rule asked for memory that was not copied (not the stack's end) */
	UNWIND_NO_PROGRESS,/* the stack pointer did not grow */
	UNWIND_NO_USER,	   /* a kernel thread, or a 32-bit process: no registers that we can use */
	UNWIND_ERROR,	   /* the back end gave up otherwise */
	UNWIND_END_COUNT
};
const char *unwind_end_name(enum unwind_end end); /* "root", "stack_cut", … for the ledger and metrics */

enum unwind_how { UNWIND_BY_REGISTERS, UNWIND_BY_CFI, UNWIND_BY_FP };

struct unwind_chain {
	uint64_t addrs[UNWIND_FRAMES_MAX]; /* innermost first. The first is the instruction pointer, others
					      are return addresses less 1, except above a signal frame: ready
					      to look names up with */
	uint8_t how[UNWIND_FRAMES_MAX];
	unsigned count;
	enum unwind_end end;
};

struct unwinder;
/* name: "libunwind", "libdw"; -EINVAL otherwise. */
int unwinder_new(const char *name, struct unwinder **ret_unwinder);
void unwinder_free(struct unwinder *u);
/* Fills *chain, always: a failure is its end. max_frames at most UNWIND_FRAMES_MAX. */
void unwinder_run(struct unwinder *u, struct space *s, const struct sample *sample, unsigned max_frames,
	struct unwind_chain *chain);
/* The same from the kernel's own frame-pointer chain (STACK_FP). */
void unwind_from_fp(struct space *s, const struct sample *sample, unsigned max_frames,
	struct unwind_chain *chain);
/* The space is about to be freed: what is cached for it goes. */
void unwinder_forget(struct unwinder *u, struct space *s);

#endif
