/* Which of many overlapping ranges owns an address: disjoint pieces in order. Belongs to one
 * thread. */
#ifndef PFL_SYMBOL_SEGMENTS_H
#define PFL_SYMBOL_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct segment {
	uint64_t start, end;
	uint32_t owner;
};

struct segments;
int segments_new(struct segments **ret_segments);
void segments_free(struct segments *s);
size_t segments_bytes(const struct segments *s);

/* The first piece that ends above addr; NULL: none. Lent until the next change. */
const struct segment *segments_at_or_above(const struct segments *s, uint64_t addr);
/* Nobody owns [start, end) any more: pieces are cut, split or removed. -ENOMEM. */
int segments_erase(struct segments *s, uint64_t start, uint64_t end);
/* Adds a piece where nothing is. -ENOMEM. */
int segments_put(struct segments *s, uint64_t start, uint64_t end, uint32_t owner);

#endif
