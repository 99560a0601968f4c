/* /tmp/perf-PID.map: the names that a program gives the code it makes while it runs. Lines are only
 * appended; the same memory is used again and again. Counted; belongs to one thread at a time, but
 * the strings it hands out stay as they are while somebody holds it. */
#ifndef PFL_SYMBOL_PERFMAP_H
#define PFL_SYMBOL_PERFMAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/cleanup.h"
#include "daemon/symbol/jithistory.h"

struct perfmap;
int perfmap_new(struct perfmap **ret_map);
struct perfmap *perfmap_ref(struct perfmap *m);
void perfmap_unref(struct perfmap *m);
AUTO_FREE_FN(struct perfmap, perfmap_unref)

/* Takes in whole lines, "START SIZE NAME" in hexadecimal with or without 0x; the name may hold
 * anything. Returns the bytes used: what follows the last line end is for the next time. -ENOMEM.
 */
ssize_t perfmap_feed(struct perfmap *m, const char *text, size_t len);
/* Reads what was appended to the file since the last time; from its start where it is another file,
 * or was written anew. */
int perfmap_read(struct perfmap *m, int fd);

/* The name of the code at addr, lent; NULL: none. A later line wins over an earlier one, but one
 * that strictly encloses others, as a heap of stubs does its members, gets what is between them.
 * Where a line shares its start with an earlier one, or overlaps one in part, the memory was used
 * anew, and all of it is the later one's. */
const char *perfmap_find(const struct perfmap *m, uint64_t addr, uint64_t *ret_start);

/* All that stood at the addresses, by the same rules. What the first reading found is from the
 * beginning; what a later one found was written after the one before it, at the file's time of
 * change at the latest. */
int perfmap_history(const struct perfmap *m, struct jithistory *h);
/* Of what the history found. */
const char *perfmap_name(const struct perfmap *m, const struct jit_code *code);

struct perfmap_stats {
	uint64_t lines, junk, dropped; /* dropped: over a cap */
	size_t bytes;
};
void perfmap_get_stats(const struct perfmap *m, struct perfmap_stats *ret_stats);

#endif
