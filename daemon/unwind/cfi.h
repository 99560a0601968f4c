/* Where the unwind rules of an address are in a module: frame description entries (FDEs) of
 * .eh_frame, by its search table or, without one, by a sorted list made once; then those of
 * .debug_frame. The rules themselves are read by a library; what a hostile file could do to it is
 * kept out here. Sampler thread. */
#ifndef PFL_UNWIND_CFI_H
#define PFL_UNWIND_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "daemon/symbol/module.h"

/* For one module; holds no reference: the module is handed to each call again. */
struct cfi;
int cfi_new(const struct module *m, struct cfi **ret_cfi);
void cfi_free(struct cfi *c);
size_t cfi_bytes(const struct cfi *c); /* of memory */

struct cfi_fde {
	uint64_t start, end; /* vaddrs of the code */
	uint64_t at;         /* a place of its bytes, for cfi_read() */
	bool absolute; /* its addresses are vaddrs as they stand, not relative to their place */
	bool signal;   /* the frame of a signal trampoline: what it leads to was interrupted */
};

/* The entry whose code holds vaddr, with instructions that are safe to hand to libunwind: opcodes
 * known, nothing beyond its end, expressions without branches and divisions. False: there is none.
 */
bool cfi_find(const struct cfi *c, const struct module *m, uint64_t vaddr, struct cfi_fde *ret_fde);

/* Places are vaddrs less a base of the module's, or lie in what was made out of .debug_frame: below
 * CFI_PLACES in either case. */
#define CFI_PLACES (UINT64_C(1) << 40)
bool cfi_place_of_vaddr(const struct cfi *c, uint64_t vaddr, uint64_t *ret_place);
/* Eight bytes at a place, zeros where the module's read-only part ends within them. */
bool cfi_read(const struct cfi *c, const struct module *m, uint64_t place, uint64_t *ret_word);
/* Whether the return address of the frame at vaddr is said to be undefined: the outermost frame.
 * Only by a search table, so that nothing has to be kept; false without one. */
bool cfi_is_outermost(const struct module *m, uint64_t vaddr);
/* The rule for vaddr alone, as a compiled table has it: see cfi_code_kind(). By a search table;
 * CFI_ASK without one, where it has no entry, and for what a code cannot say. */
uint32_t cfi_code_at(const struct module *m, uint64_t vaddr);
/* Whether the code of an entry begins at vaddr. By a search table, too. */
bool cfi_starts_at(const struct module *m, uint64_t vaddr);

#endif
