/* Names for the linker's stubs: "puts@plt". The stub is decoded for the slot that it jumps through,
 * and the relocation of that slot has the name. */
#ifndef PFL_READER_PLT_H
#define PFL_READER_PLT_H

#include <stdbool.h>
#include <stdint.h>
#include "base/map.h"
#include "daemon/reader/image.h"

struct plt_stub {
	uint64_t start;
	uint32_t bytes;
	uint32_t reloc;   /* index of its relocation + 1, where the stub pushes that; 0: see slot */
	uint64_t slot;    /* vaddr of the pointer that it jumps through; 0: not decoded */
	const char *name; /* of the function, maybe with @VERSION; NULL: not known */
};

/* The stub around addr. False: addr is in none. */
bool plt_stub_at(const struct image *img, uint64_t addr, struct plt_stub *ret_stub);
/* Fills in the names. */
void plt_name_stubs(const struct image *img, struct plt_stub *stubs, uint32_t count);

#endif
