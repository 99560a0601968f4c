/* The bytes of .eh_frame and .debug_frame entries, bounds-checked: what reader and engine see in
 * them is the same. Fuzzed. */
#ifndef PFL_CFI_PARSE_H
#define PFL_CFI_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A section: all offsets below are into it. */
struct cfi_view {
	const uint8_t *bytes;
	uint64_t len;
	uint64_t vaddr; /* of its first byte */
};

/* One entry, of either kind. */
struct cfi_entry {
	uint64_t id_at; /* offset of the number that tells the kinds apart */
	uint32_t id;    /* .eh_frame: 0 is a CIE, else the distance back to it */
	uint64_t body;  /* what follows the id */
	uint64_t end;
};

/* A common information entry: what many FDEs share. */
struct cfi_cie {
	uint64_t at;
	uint8_t encoding; /* of code addresses: DW_EH_PE_… */
	bool signal, sized_augmentation;
	uint64_t code_align;
	int64_t data_align;
	uint64_t program, program_end;
};

/* What an FDE is about: vaddrs of code, and the offsets of its instructions. */
struct cfi_code {
	uint64_t start, end;
	uint64_t program, program_end;
};

/* False: no entry there, its end beyond the section's, or over 64 KiB. */
bool cfi_entry_at(const struct cfi_view *v, uint64_t at, struct cfi_entry *ret);
/* False also for what x86-64 does not use: another return address column, indirect addresses. */
bool cfi_parse_cie(const struct cfi_view *v, uint64_t at, struct cfi_cie *ret);
bool cfi_parse_code(const struct cfi_view *v, const struct cfi_entry *e, const struct cfi_cie *cie,
	struct cfi_code *ret);

/* All instructions known and whole; expressions that neither branch nor divide, as no compiler
 * writes them and libunwind would loop or trap on them. */
bool cfi_program_is_safe(const struct cfi_view *v, uint64_t at, uint64_t end, uint8_t encoding);
/* Whether some instruction says that the register is undefined in the caller. */
bool cfi_program_undefines(const struct cfi_view *v, uint64_t at, uint64_t end, uint64_t reg);

/* .debug_frame to .eh_frame: entries are written to into, CIEs as the FDEs come that need them. */
struct cfi_rewrite {
	struct cfi_view from;
	uint8_t *into; /* room bytes */
	size_t used, room;
	uint64_t last_cie_from, last_cie_to; /* offsets; valid when have_cie */
	bool have_cie;
};
/* The next FDE from *at_in_out on; *ret_to is its offset in into. False: no more, or no room. */
bool cfi_rewrite_next(struct cfi_rewrite *rw, uint64_t *at_in_out, uint64_t *ret_to,
	uint64_t *ret_start, uint64_t *ret_end);

#endif
