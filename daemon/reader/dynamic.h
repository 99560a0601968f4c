/* What the loader itself reads: the dynamic segment. It is all that a file without sections has. */
#ifndef PFL_READER_DYNAMIC_H
#define PFL_READER_DYNAMIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "daemon/reader/image.h"

/* Addresses and sizes as they are in the file: 0 where it has none. */
struct dynamic {
	uint64_t symtab, strtab, strsz, hash, gnu_hash;
	uint64_t jmprel, pltrelsz, pltrel;
	uint64_t init, fini;
};

bool dynamic_read(const struct image *img, struct dynamic *ret);
/* The symbols, at most max; owned by the file. NULL: none. */
Elf_Data *dynamic_symbols(
	const struct image *img, const struct dynamic *d, size_t max, size_t *ret_count);
/* Bytes up to the last NUL. */
bool dynamic_strings(
	const struct image *img, const struct dynamic *d, const char **ret, size_t *ret_bytes);
/* The relocations of the PLT; *ret_rela says whether they carry addends. */
Elf_Data *dynamic_plt_relocs(const struct image *img, const struct dynamic *d, bool *ret_rela);

#endif
