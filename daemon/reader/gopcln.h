/* .gopclntab: the names that Go's own run time uses, and how deep the stack is at each instruction;
 * a stripped program has it too. */
#ifndef PFL_READER_GOPCLN_H
#define PFL_READER_GOPCLN_H

#include <stdbool.h>
#include <stdint.h>
#include "daemon/cfi/rows.h"
#include "daemon/reader/image.h"

/* All offsets are checked when they are used. */
struct gopcln {
	const struct image *img;
	const uint8_t *at; /* the section; NULL: none that we can read */
	uint64_t len, text;
	uint64_t count;
	uint64_t table, names, functions, stacks; /* where these begin in it */
	unsigned pointer_bytes, entry_bytes, quantum;
};

struct gopcln_function {
	uint64_t start, end;
	const char *name; /* lent by the file */
};

void gopcln_init(struct gopcln *g, const struct image *img);
/* The function that holds addr, if it has a name. */
bool gopcln_find(const struct gopcln *g, uint64_t addr, struct gopcln_function *ret);

/* Where the code of function i begins and ends; i is below count. */
void gopcln_code(const struct gopcln *g, uint64_t i, uint64_t *ret_start, uint64_t *ret_end);
/* The first function that ends above addr; count: none. */
uint64_t gopcln_above(const struct gopcln *g, uint64_t addr);
/* The rules of function i for x86-64, as cfi_rows_of() tells them. */
void gopcln_rows(const struct gopcln *g, uint64_t i, cfi_row_fn row, void *arg);

#endif
