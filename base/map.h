/* Hash map from a 64-bit key to a 64-bit value: open addressing, linear probing, backward-shift
 * deletion. Any key and value. Belongs to one thread. */
#ifndef PFL_BASE_MAP_H
#define PFL_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map;

int map_new(size_t expected, struct map **ret_map);
void map_free(struct map *m);
size_t map_count(const struct map *m);
size_t map_bytes(const struct map *m);
/* True and *ret_value when the key is there. */
bool map_get(const struct map *m, uint64_t key, uint64_t *ret_value);
/* Replaces what was there. -ENOMEM. */
int map_set(struct map *m, uint64_t key, uint64_t value);
bool map_remove(struct map *m, uint64_t key, uint64_t *ret_value /* may be NULL */);
/* Walks all entries in no order; *cursor starts at 0. The map must not change meanwhile. */
bool map_next(const struct map *m, size_t *cursor, uint64_t *ret_key, uint64_t *ret_value);
/* A well-mixed hash of bytes or of a number, for keys of other kinds. */
uint64_t hash_bytes(const void *data, size_t len, uint64_t seed);
uint64_t hash_u64(uint64_t x);

#endif
