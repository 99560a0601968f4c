/* .gopclntab: the names that Go's own run time uses, which also a stripped program has. */
#ifndef PFL_READER_GOPCLN_H
#define PFL_READER_GOPCLN_H

#include <stdbool.h>
#include <stdint.h>
#include "daemon/reader/image.h"

/* All offsets are checked when they are used. */
struct gopcln {
	const uint8_t *at; /* the section; NULL: none that we can read */
	uint64_t len, text;
	uint64_t count;
	uint64_t table, names, functions; /* where these begin in it */
	unsigned pointer_bytes, entry_bytes;
};

struct gopcln_function {
	uint64_t start, end;
	const char *name; /* lent by the file */
};

void gopcln_init(struct gopcln *g, const struct image *img);
/* The function that holds addr. */
bool gopcln_find(const struct gopcln *g, uint64_t addr, struct gopcln_function *ret);

#endif
