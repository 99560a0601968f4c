/* What the instructions at an interrupted pc tell about the stack. Only for code that comes from a
 * file. */
#ifndef PFL_UNWIND_CODE_H
#define PFL_UNWIND_CODE_H

#include <stdbool.h>
#include "daemon/unwind/walk.h"

/* A place where the frame pointer is not the function's own yet, or no more. */
struct code_place {
	unsigned words; /* above the return address, from sp on */
	bool bp_pushed; /* the word at sp is the caller's frame pointer */
};

/* NULL: not such a place. */
const struct code_place *code_place_at(struct walk *w);

/* Whether nothing but the rest of an epilogue lies before the return: a register that was popped
 * already has the caller's value again, though the rules still look for it in its slot, below sp.
 */
bool code_is_epilogue(const struct module *m, uint64_t vaddr);

/* Whether the bytes in front of vaddr can be those of a call, so that it is where that returns to.
 */
bool code_is_after_call(const struct module *m, uint64_t vaddr);

#endif
