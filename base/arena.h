/* Memory that is freed all at once, and strings kept once each. Belongs to one thread. */
#ifndef PFL_BASE_ARENA_H
#define PFL_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct arena;

int arena_new(struct arena **ret_arena);
void arena_free(struct arena *a);
void *arena_alloc(struct arena *a, size_t bytes); /* zeroed, aligned to 16; NULL: no memory */
char *arena_strdup(struct arena *a, const char *text, size_t len);
size_t arena_bytes(const struct arena *a);

/* Strings to small ids, each distinct string once; id 0 is "". Bytes may be anything but NUL.
 * max_count and max_bytes are caps: beyond them strtab_id answers -ENOSPC. */
struct strtab;

int strtab_new(uint32_t max_count, size_t max_bytes, struct strtab **ret_tab);
void strtab_free(struct strtab *t);
int strtab_id(struct strtab *t, const char *text, size_t len, uint32_t *ret_id);
/* Lent; "" for an id that is not there. */
const char *strtab_get(const struct strtab *t, uint32_t id);
uint32_t strtab_count(const struct strtab *t);
size_t strtab_bytes(const struct strtab *t);

#endif
