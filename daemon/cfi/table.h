/* A module's unwind rules, compiled: one row of 8 bytes for each stretch of code with the same
 * rule, sorted by address. Made by the reader, checked and mapped by the engine, kept on disk.
 * Native layout: same machine, same build. */
#ifndef PFL_CFI_TABLE_H
#define PFL_CFI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CFI_TABLE_MAGIC    0x33544650u /* "PFT3": another layout gets another number */
#define CFI_TABLE_ROWS_MAX (8u << 20)  /* the largest browsers have some 4 million */

/* What a rule is, in the low four bits of its code; a are the 16 bits above, b the 6 above those, c
 * the 6 above those. Unless said otherwise: the return address is at CFA - 8, the caller's stack
 * pointer is the CFA, its rbp is at CFA - 8 * b, or unchanged when b is 0, and so is its rbx with
 * c, or lost when c is CFI_C_LOST. */
enum cfi_kind {
	CFI_NONE,    /* no entry for this code */
	CFI_ASK,     /* a rule that no code can say: for a library */
	CFI_ROOT,    /* the outermost frame */
	CFI_BY_SP,   /* CFA = rsp + 8 * a */
	CFI_BY_BP,   /* CFA = rbp + 8 * a */
	CFI_BY_SLOT, /* CFA = the word at rbp - 8 * a; caller's rbp: the word at rbp, if b */
	CFI_IN_STUB, /* of a PLT: CFA = rsp + 8 * a, and 8 more where the low half byte of pc >= b
		      */
	CFI_SIGNAL,  /* the kernel's signal frame: rsp, rip, rbp, rbx at rsp + 160, 168, 120, 128 */
	CFI_BY_REG,  /* CFA = register (a & 15, as DWARF numbers it) + 8 * (a >> 4) */
	/* CFA = the word at rsp, or rbp with CFI_SAVED_BY_BP in a, + 8 * (a & CFI_SAVED_SLOT), and
	 * 8 * (a >> 8) more */
	CFI_BY_SAVED,
	CFI_PLACED,   /* the outermost frame, whose place is the address behind this one */
	CFI_SWITCHED, /* the outermost frame, unless it was interrupted: then as CFI_NONE */
	CFI_KINDS
};
_Static_assert(CFI_KINDS <= 16, "four bits");

#define CFI_SAVED_SLOT  0x7fu
#define CFI_SAVED_BY_BP 0x80u

#define CFI_A_MAX  0xffffu
#define CFI_B_MAX  0x3fu /* callers' registers are pushed first of all */
#define CFI_C_MAX  0x3eu
#define CFI_C_LOST 0x3fu

static inline uint32_t cfi_code(enum cfi_kind kind, uint32_t a, uint32_t b)
{
	return (uint32_t)kind | a << 4 | b << 20;
}

static inline uint32_t cfi_code_with_bx(uint32_t code, uint32_t c)
{
	return code | c << 26;
}

static inline enum cfi_kind cfi_code_kind(uint32_t code)
{
	return (enum cfi_kind)(code & 15);
}

static inline uint64_t cfi_code_a(uint32_t code)
{
	return (code >> 4) & CFI_A_MAX;
}

static inline uint64_t cfi_code_b(uint32_t code)
{
	return (code >> 20) & CFI_B_MAX;
}

static inline uint64_t cfi_code_c(uint32_t code)
{
	return code >> 26;
}

/* Then row_count u32 offsets from base, ascending, the first 0; then as many codes. The last row is
 * CFI_NONE and has no end. */
struct cfi_table_head {
	uint32_t magic;
	uint32_t row_count;
	uint64_t base;   /* vaddr */
	uint64_t bytes;  /* of the whole */
	uint64_t sum;    /* hash_bytes() of what follows the head, begun with base ^ traits */
	uint64_t traits; /* enum cfi_trait */
};
_Static_assert(sizeof(struct cfi_table_head) == 40, "layout");

/* What else the unwinder wants to know of a file. */
enum cfi_trait {
	/* It holds the code of which Python (3.12 and later, with -X perf) makes a copy for each of
	 * its functions. A copy leaves one word between its return address and what it calls, and
	 * rbp as it is. */
	CFI_TRAIT_TRAMPOLINE = 1,
};

/* A checked one, in a mapping that is munmap()ed by whoever owns it. */
struct cfi_table {
	const void *map;
	size_t bytes;
	bool on_disk; /* its pages can be had again */
	uint64_t base;
	uint64_t traits;
	uint32_t count; /* at least 1 */
	const uint32_t *starts, *codes;
	/* For each KiB of code the row that holds its first byte, and one more: a short way for
	 * look-ups. On the heap; NULL: none. */
	uint32_t *index;
	uint32_t index_count;
};

/* -EBADMSG: not a table. ret points into data. Fuzzed. */
int cfi_table_check(const void *data, size_t bytes, struct cfi_table *ret);
/* Makes the index, unless it would be larger than the table; look-ups without take longer. */
void cfi_table_index(struct cfi_table *t);
/* The code of the rule for vaddr. */
uint32_t cfi_table_find(const struct cfi_table *t, uint64_t vaddr);

#endif
