#include "daemon/unwind/regs.h"

/* By position in a sample: ax bx cx dx si di bp sp ip r8 … r15. */
static const uint8_t dwarf_of_perf[DWREG_COUNT] = {
	0, 3, 2, 1, 4, 5, 6, 7, 16, 8, 9, 10, 11, 12, 13, 14, 15};

void regs_from_perf(const uint64_t *perf, struct regs *ret)
{
	for (unsigned i = 0; i < DWREG_COUNT; i++)
		ret->value[dwarf_of_perf[i]] = perf[i];
	ret->known = (1u << DWREG_COUNT) - 1;
}
