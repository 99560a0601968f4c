/* User registers: from the order in which perf reports them to DWARF numbers. x86-64. */
#ifndef PFL_UNWIND_REGS_H
#define PFL_UNWIND_REGS_H

#include <stdbool.h>
#include <stdint.h>

/* The registers of a sample, as bits of perf_event_attr.sample_regs_user: all general ones and the
 * instruction pointer, without flags and segments. Their values come in the order of the bits. */
#define REGS_PERF_MASK UINT64_C(0xff01ff)

enum {
	DWREG_RBX = 3,
	DWREG_RBP = 6,
	DWREG_RSP = 7,
	DWREG_RIP = 16, /* DWARF: the return address column */
	DWREG_COUNT = 17
};

/* value[i] holds only where bit i of known is set. */
struct regs {
	uint64_t value[DWREG_COUNT]; /* by DWARF number */
	uint32_t known;
};

void regs_from_perf(const uint64_t *perf, struct regs *ret);

static inline bool regs_known(const struct regs *r, unsigned reg)
{
	return reg < DWREG_COUNT && ((r->known >> reg) & 1);
}

static inline void regs_set(struct regs *r, unsigned reg, uint64_t value)
{
	r->value[reg] = value;
	r->known |= 1u << reg;
}

#endif
