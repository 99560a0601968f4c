/* Things to small ids, each once: a hash index over ids, and strings in one run of bytes. Both
 * belong to one thread. */
#ifndef PFL_TREE_INTERN_H
#define PFL_TREE_INTERN_H

#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "daemon/tree/profile.h"

#define INDEX_NONE UINT32_MAX

/* Ids found by hash; what an id stands for is the owner's, who compares it. Open addressing, linear
 * probing, nothing is ever taken out. All zero is an empty index.
 * Invariant: at most two slots in three are taken, so that every probe meets an empty one. */
struct index {
	struct index_slot {
		uint32_t hash; /* the low half, spares most comparisons */
		uint32_t id;   /* INDEX_NONE: empty */
	} * slots;
	size_t mask; /* slots - 1 */
	size_t count;
};

void index_done(struct index *ix);
/* Room for one more id, so that index_put cannot fail. -ENOMEM. */
int index_room(struct index *ix);
/* The same for so many more. */
int index_reserve(struct index *ix, size_t more);
/* id is not in it yet; index_room came before. */
void index_put(struct index *ix, uint64_t hash, uint32_t id);
size_t index_bytes(const struct index *ix);

/* The ids that may match, one after the other, INDEX_NONE at the end: *cursor starts as the hash.
 */
static inline uint32_t index_next(const struct index *ix, uint64_t hash, size_t *cursor)
{
	if (!ix->slots)
		return INDEX_NONE;
	for (;;) {
		const struct index_slot *s = &ix->slots[(*cursor)++ & ix->mask];

		if (s->id == INDEX_NONE || s->hash == (uint32_t)hash)
			return s->id;
	}
}

/* Strings as offsets into one run of bytes, as a profile keeps them. Offset 0 is "". */
struct texts;

/* max_bytes is at most 2 GiB. */
int texts_new(size_t max_bytes, struct texts **ret_texts);
/* Begins with the strings of p, whose offsets stay what they are. */
int texts_from(const struct profile *p, size_t max_bytes, struct texts **ret_texts);
void texts_free(struct texts *t);
AUTO_FREE_FN(struct texts, texts_free)
/* The offset of the string, new or not; it ends at a NUL, if there is one within len. -ENOSPC: over
 * max_bytes; -ENOMEM. */
int64_t texts_add(struct texts *t, const char *text, size_t len);
const char *texts_get(const struct texts *t, uint32_t off);
size_t texts_bytes(const struct texts *t);  /* of the strings alone */
size_t texts_memory(const struct texts *t); /* with the index */
/* A copy for a profile that is being built. */
int texts_copy(const struct texts *t, char **ret_text, uint32_t *ret_bytes);
/* p's strings become those of t, which is empty afterwards and only good to be freed. */
void texts_give(struct texts *t, struct profile *p);

#endif
