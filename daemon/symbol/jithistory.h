/* What stood at asked addresses, one code after the other: memory of JIT code is used again and
 * again. Belongs to one thread. */
#ifndef PFL_SYMBOL_JITHISTORY_H
#define PFL_SYMBOL_JITHISTORY_H

#include <stdbool.h>
#include <stdint.h>
#include "base/cleanup.h"

#define JITHISTORY_NONE UINT32_MAX

struct jit_code {
	uint64_t start, end;
	uint64_t since_ns; /* monotonic; 0: from the beginning */
	uint32_t name;     /* the same number: the same name */
	uint32_t entry;    /* for the caller */
	uint32_t before;   /* what stood there until then: an index, or JITHISTORY_NONE */
};

struct jithistory {
	const uint64_t *addrs; /* ascending, lent */
	uint32_t count;
	uint32_t *last; /* [count]: index into codes, or JITHISTORY_NONE */
	struct jit_code *codes;
	uint32_t code_count, code_room;
};

/* -ENOMEM. */
int jithistory_init(struct jithistory *h, const uint64_t *addrs, uint32_t count);
void jithistory_done(struct jithistory *h);
/* Code that came after all before. around: what lies inside of it, but does not begin with it,
 * stays. Without time in between, or beyond some hundred at one address, it stands for its
 * predecessor too. -ENOMEM. */
int jithistory_add(struct jithistory *h, const struct jit_code *code, bool around);
/* How many stood at address i. */
uint32_t jithistory_depth(const struct jithistory *h, uint32_t i);

#endif
