/* What the ledger's numbers are called, for every writer. */
#ifndef PFL_TREE_LEDGER_H
#define PFL_TREE_LEDGER_H

#include <stddef.h>
#include <stdint.h>
#include "daemon/tree/profile.h"

/* Why a user chain ended: indexes of ledger.unwind_ends, in the order of enum unwind_end, which
 * whoever sees both headers may assert. */
enum ledger_end {
	LEDGER_ROOT,
	LEDGER_STACK_CUT,
	LEDGER_MAX_FRAMES,
	LEDGER_NO_CFI,
	LEDGER_NO_MODULE,
	LEDGER_UNREADABLE,
	LEDGER_BAD_MEMORY,
	LEDGER_NO_PROGRESS,
	LEDGER_NO_USER,
	LEDGER_ERROR,
	LEDGER_FP_END,
	LEDGER_END_COUNT
};
/* "root", "stack_cut", …; NULL from LEDGER_END_COUNT on. */
const char *ledger_end_name(unsigned end);

/* What names come from: indexes of ledger.names_from, in the order of enum name_source, which
 * whoever sees both headers may assert. */
enum ledger_source {
	LEDGER_FROM_NOTHING,
	LEDGER_FROM_SYMTAB,
	LEDGER_FROM_DYNSYM,
	LEDGER_FROM_DEBUGDATA,
	LEDGER_FROM_DEBUGLINK,
	LEDGER_FROM_BUILD_ID,
	LEDGER_FROM_DWARF,
	LEDGER_FROM_PLT,
	LEDGER_FROM_FDE,
	LEDGER_FROM_PERF_MAP,
	LEDGER_FROM_JITDUMP,
	LEDGER_FROM_KALLSYMS,
	LEDGER_FROM_GOPCLNTAB,
	LEDGER_SOURCE_COUNT
};
/* "none", "symtab", …; NULL from LEDGER_SOURCE_COUNT on. */
const char *ledger_source_name(unsigned source);

/* The plain numbers by name, unwind_ends and names_from aside, in the order of the struct. False
 * when i is past the last. */
bool ledger_field(const struct ledger *l, unsigned i, const char **ret_name, uint64_t *ret_value);

/* Whole user chains in a thousand, rounded down, so that only all of them make 1000; -1: there are
 * none. */
int ledger_whole_permille(const struct ledger *l);

#endif
