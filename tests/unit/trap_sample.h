/* Samples of this very thread, taken where it traps: registers and a copy of the stack as the
 * kernel would hand them out, and beside them the chain by the compiler's own unwinder, to compare
 * with. */
#ifndef PFL_TESTS_TRAP_SAMPLE_H
#define PFL_TESTS_TRAP_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "daemon/sample/record.h"

#define TRAP_STACK_BYTES 16384
#define TRAP_FRAMES      256

struct trap_sample {
	struct sample sample; /* points into the fields below */
	uint64_t regs[SAMPLE_REGS];
	uint8_t stack[TRAP_STACK_BYTES];
	uint64_t expected[TRAP_FRAMES]; /* by the same rule as unwind_chain.addrs */
	unsigned expected_count;
};

/* From now on each int3 and ud2 of this thread fills the next sample, up to max of them; after a
 * ud2 the program goes on behind it. stack_bytes: how much to copy at most. */
void trap_begin(struct trap_sample *samples, size_t max, size_t stack_bytes);
/* Returns how many there are. */
size_t trap_end(void);
/* From the first to the second call, each instruction is a trap. */
void trap_steps_on(void);
void trap_steps_off(void);

static inline __attribute__((always_inline)) void trap_here(void)
{
	__asm__ volatile("int3" ::: "memory");
}

#endif
