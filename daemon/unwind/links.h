/* The kernel's frame-pointer chain as knowledge of the stack. It began with the registers' frame
 * pointer and read two words at each one: where the next points, and a return address, which it
 * tells. That holds for any code; what it means is a question of the rules: only where a frame's
 * say that its return address is above what its frame pointer points at, and its caller's frame
 * pointer there, has the chain what unwinding would have found. Sampler thread. */
#ifndef PFL_UNWIND_LINKS_H
#define PFL_UNWIND_LINKS_H

#include <stdbool.h>
#include <stdint.h>
#include "daemon/unwind/tails.h"
#include "daemon/unwind/unwind.h"

/* How a stack would have been found out of a short copy and the kernel's chain. */
enum links_cover {
	LINKS_NOT,    /* not as a whole, or not with certainty */
	LINKS_UNSEEN, /* as far as it is known itself */
	LINKS_COPY,   /* the copy would have done */
	LINKS_CHAIN,
};
/* chain: what a "table" made of the sample, whose copy has more than copy_bytes. *ret_base: how
 * many of its frames would have been missing at the root end: no more than TAILS_BASE, or it is
 * LINKS_NOT. */
enum links_cover links_would_cover(const struct sample *sample, const struct unwind_chain *chain,
	uint32_t copy_bytes, unsigned *ret_base);

#endif
