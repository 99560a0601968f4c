/* Runs the instructions of an entry and says, stretch by stretch, what rule they come to. All
 * bounds are checked; what is not understood becomes CFI_ASK. */
#ifndef PFL_CFI_ROWS_H
#define PFL_CFI_ROWS_H

#include <stdbool.h>
#include <stdint.h>
#include "daemon/cfi/parse.h"
#include "daemon/cfi/table.h"

/* Where a register of the caller's is. */
struct cfi_place {
	enum { CFI_SAME, CFI_AT, CFI_EXPRESSION, CFI_UNDEFINED, CFI_OTHER } how;
	int64_t offset;   /* CFI_AT: from the CFA */
	uint64_t at, end; /* CFI_EXPRESSION: its bytes in the view; it says the address */
};

struct cfi_state {
	bool cfa_known, cfa_expression;
	uint64_t cfa_reg;
	int64_t cfa_offset;
	uint64_t cfa_at, cfa_end;
	struct cfi_place bx, bp, sp, ra;
};

/* What a CIE says by itself, for the entries that refer to it. False: entries of it are not to be
 * used at all, see cfi_program_is_safe(). */
bool cfi_rows_cie(const struct cfi_view *v, const struct cfi_cie *cie, struct cfi_state *ret);

/* Calls row for each stretch of the entry's code in order, from code->start on, each up to the next
 * one's start and the last to code->end. */
typedef void (*cfi_row_fn)(void *arg, uint64_t start, uint32_t code);
void cfi_rows_of(const struct cfi_view *v, const struct cfi_cie *cie,
	const struct cfi_state *initial, const struct cfi_code *code, cfi_row_fn row, void *arg);

#endif
