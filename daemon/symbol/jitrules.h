/* The unwind rules of code that a program made, as it has told of them: for the sampler, which
 * finds no file there. Immutable and counted; any thread. */
#ifndef PFL_SYMBOL_JITRULES_H
#define PFL_SYMBOL_JITRULES_H

#include <stdint.h>
#include "base/cleanup.h"

/* From offset bytes into its code on: see cfi_code_kind(). */
struct jit_rule {
	uint32_t offset, code;
};

/* What is left of one code's memory. */
struct jit_piece {
	uint64_t start, end;
	uint64_t origin;       /* where its code begins */
	uint64_t since_ns;     /* monotonic; 0: from the beginning */
	uint32_t first, count; /* of the rules, ascending by offset */
};

struct jitrules;
/* Copies both. Pieces ascend and do not overlap. */
int jitrules_new(const struct jit_piece *pieces, uint32_t piece_count, const struct jit_rule *rules,
	uint32_t rule_count, struct jitrules **ret_rules);
struct jitrules *jitrules_ref(struct jitrules *r);
void jitrules_unref(struct jitrules *r);
AUTO_FREE_FN(struct jitrules, jitrules_unref)

/* The code of the rule for addr at that time; CFI_NONE: none is known, or of what stood there
 * before.
 */
uint32_t jitrules_find(const struct jitrules *r, uint64_t addr, uint64_t t_ns);

#endif
