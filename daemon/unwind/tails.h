/* Tails: the outer ends of stacks, by thread, as other stacks showed them, for stacks whose copy
 * ended too early. A return address at the same stack address of the same thread has the same
 * callers, unless a function returned and came back there on another way meanwhile. So a caller is
 * taken over only when no other was seen there lately, and in a recursion, which comes back on many
 * ways, only when it was seen there again and again.
 *
 * Where a stack was followed by frame pointers alone it is not known where on the stack a frame is.
 * What is below the last such frame is the start of the program, or of a thread: the same for all
 * stacks of a process that came there, or else taken over by none. Sampler thread. */
#ifndef PFL_UNWIND_TAILS_H
#define PFL_UNWIND_TAILS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "daemon/unwind/unwind.h"

struct tails;
/* max_frames: as many are kept, 60 bytes each; then all are forgotten, and learned anew. */
int tails_new(uint32_t max_frames, struct tails **ret_tails);
void tails_free(struct tails *t);
AUTO_FREE_FN(struct tails, tails_free)

/* What one stack shows; it may be cut itself. thread: a number that no other thread has, nor the
 * same one after it has run another program. */
void tails_learn(struct tails *t, uint64_t thread, uint64_t t_ns, const struct unwind_chain *chain);
/* Makes a chain that ended in UNWIND_STACK_CUT whole, its end UNWIND_ROOT or UNWIND_MAX_FRAMES.
 * False: it stays as it is, for want of a tail that is beyond doubt. */
bool tails_complete(struct tails *t, uint64_t thread, uint64_t t_ns, unsigned max_frames,
	struct unwind_chain *chain);
/* The same for a process's starts: the last base + 1 frames of a stack that is whole. process: like
 * thread. */
#define TAILS_BASE 2u /* at most */
void tails_learn_base(struct tails *t, uint64_t process, uint64_t t_ns,
	const struct unwind_chain *chain, unsigned base);
/* What may have been learnt as a start has another caller in this one: the frame at that index. */
void tails_doubt_base(struct tails *t, uint64_t process, uint64_t t_ns,
	const struct unwind_chain *chain, unsigned at);
bool tails_complete_base(struct tails *t, uint64_t process, uint64_t t_ns, unsigned max_frames,
	struct unwind_chain *chain);
size_t tails_bytes(const struct tails *t);

#endif
