/* Addresses to symbols. Nothing is sorted or kept but what the asked addresses need: each symbol of
 * a table is looked at once, with a binary search among the addresses. */
#ifndef PFL_READER_SYMTAB_H
#define PFL_READER_SYMTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "daemon/reader/image.h"

struct symbol {
	const char *name; /* lent by the file; NULL: none. May carry an @VERSION */
	uint64_t start, size;
	uint8_t type, bind;
	uint8_t source; /* enum reader_source */
};

/* addrs ascending. hits[i] is what owns addrs[i]; before[i] the last symbol that starts at or below
 * addrs[i] and above addrs[i-1]: the owner of code that states no size. */
struct symtab {
	const struct image *img;
	const uint64_t *addrs;
	uint32_t count;
	/* Where to begin looking among addrs: nearest[(value - addrs[0]) >> shift] is the first one
	 * of that part of their range, nearest[parts] is count. */
	uint32_t *nearest, parts;
	unsigned shift;
	struct symbol *hits, *before;
	uint64_t steps;       /* assignments done, against tables made to take for ever */
	uint64_t init, fini;  /* DT_INIT and DT_FINI, when there are no sections */
	size_t full, dynamic; /* code symbols seen in .symtab, in .dynsym */
	bool has_symtab, has_debugdata;
	Elf *debugdata; /* owned */
	int debugdata_fd;
};

int symtab_init(struct symtab *t, const struct image *img, const uint64_t *addrs, uint32_t count);
void symtab_done(struct symtab *t);
/* Adds the tables of the file, and of its debug file (or NULL). -EBADMSG: made to be slow. -ENOMEM.
 */
int symtab_add(struct symtab *t, const struct image *debug, bool packed);
/* After all were added: code without a size gets its owner. */
void symtab_finish(struct symtab *t);
/* The symbol that owns addr by its stated size, or NULL: by a scan of all tables. For single
 * questions. */
int symtab_name_of(const struct image *img, uint64_t addr, struct symbol *ret_symbol);

/* Bytes of name without an @VERSION. */
size_t symbol_name_len(const char *name);

#endif
