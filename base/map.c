#include "base/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define MIN_SLOTS 16

struct slot {
	uint64_t key;
	uint64_t value;
};

/* A slot with key 0 is free, so the entry of key 0 itself is kept aside. At most three quarters of
 * the slots are in use: a probe always ends at a free one. */
struct map {
	struct slot *slots;
	size_t mask; /* slots - 1, of a power of two */
	size_t used; /* without key 0 */
	uint64_t zero_value;
	bool has_zero;
};

AUTO_FREE_FN(struct map, map_free)

/* Enough slots for count entries, or 0 when no memory could hold them. */
static size_t slots_for(size_t count)
{
	size_t slots = MIN_SLOTS;

	if (count > SIZE_MAX / sizeof(struct slot) / 4)
		return 0;
	while (slots / 4 * 3 < count)
		slots *= 2;
	return slots;
}

int map_new(size_t expected, struct map **ret_map)
{
	AUTO(map_free_auto) struct map *m = NULL;
	size_t slots = slots_for(expected);

	if (slots == 0)
		return -ENOMEM;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->slots = calloc(slots, sizeof(*m->slots));
	if (!m->slots)
		return -ENOMEM;
	m->mask = slots - 1;
	*ret_map = MOVE(m);
	return 0;
}

void map_free(struct map *m)
{
	if (!m)
		return;
	free(m->slots);
	free(m);
}

size_t map_count(const struct map *m)
{
	return m->used + m->has_zero;
}

size_t map_bytes(const struct map *m)
{
	return sizeof(*m) + (m->mask + 1) * sizeof(*m->slots);
}

/* The slot of the key, or the free one where it would go. */
static size_t find(const struct slot *slots, size_t mask, uint64_t key)
{
	size_t at = hash_u64(key) & mask;

	while (slots[at].key != 0 && slots[at].key != key)
		at = (at + 1) & mask;
	return at;
}

bool map_get(const struct map *m, uint64_t key, uint64_t *ret_value)
{
	size_t at;

	if (key == 0) {
		if (m->has_zero)
			*ret_value = m->zero_value;
		return m->has_zero;
	}
	at = find(m->slots, m->mask, key);
	if (m->slots[at].key == 0)
		return false;
	*ret_value = m->slots[at].value;
	return true;
}

static int double_slots(struct map *m)
{
	size_t mask = m->mask * 2 + 1;
	struct slot *slots = calloc(mask + 1, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i <= m->mask; i++)
		if (m->slots[i].key != 0)
			slots[find(slots, mask, m->slots[i].key)] = m->slots[i];
	free(m->slots);
	m->slots = slots;
	m->mask = mask;
	return 0;
}

int map_set(struct map *m, uint64_t key, uint64_t value)
{
	size_t at;

	if (key == 0) {
		m->zero_value = value;
		m->has_zero = true;
		return 0;
	}
	at = find(m->slots, m->mask, key);
	if (m->slots[at].key == 0) {
		if (m->used >= (m->mask + 1) / 4 * 3) {
			int r = double_slots(m);
			if (r < 0)
				return r;
			at = find(m->slots, m->mask, key);
		}
		m->slots[at].key = key;
		m->used++;
	}
	m->slots[at].value = value;
	return 0;
}

/* Closes the gap at a freed slot: each entry of the run behind it moves up unless that would put it
 * before its own first choice, where a probe would no longer find it. */
static void close_gap(struct map *m, size_t gap)
{
	for (size_t at = (gap + 1) & m->mask; m->slots[at].key != 0; at = (at + 1) & m->mask) {
		size_t home = hash_u64(m->slots[at].key) & m->mask;

		if (((at - home) & m->mask) < ((at - gap) & m->mask))
			continue;
		m->slots[gap] = m->slots[at];
		gap = at;
	}
	m->slots[gap] = (struct slot){0};
}

bool map_remove(struct map *m, uint64_t key, uint64_t *ret_value)
{
	uint64_t value;

	if (!map_get(m, key, &value))
		return false;
	if (key == 0) {
		m->has_zero = false;
	} else {
		close_gap(m, find(m->slots, m->mask, key));
		m->used--;
	}
	if (ret_value)
		*ret_value = value;
	return true;
}

bool map_next(const struct map *m, size_t *cursor, uint64_t *ret_key, uint64_t *ret_value)
{
	/* Cursor 0 is the entry of key 0, cursor n the slot n - 1. */
	if (*cursor == 0) {
		(*cursor)++;
		if (m->has_zero) {
			*ret_key = 0;
			*ret_value = m->zero_value;
			return true;
		}
	}
	while (*cursor <= m->mask + 1) {
		const struct slot *s = &m->slots[(*cursor)++ - 1];

		if (s->key == 0)
			continue;
		*ret_key = s->key;
		*ret_value = s->value;
		return true;
	}
	return false;
}

uint64_t hash_u64(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u; /* odd, bits well spread: each input bit reaches the upper half */
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	x ^= x >> 32;
	return x;
}

uint64_t hash_bytes(const void *data, size_t len, uint64_t seed)
{
	const unsigned char *at = data;
	uint64_t h = hash_u64(seed ^ 0x9e3779b97f4a7c15u); /* so that seed 0 does not stay 0 */
	uint64_t word;

	for (size_t left = len; left > 0;) {
		size_t take = left < sizeof(word) ? left : sizeof(word);

		word = 0;
		memcpy(&word, at, take);
		h = (h ^ word) * 0xa0761d6478bd642fu;
		h ^= h >> 32;
		at += take;
		left -= take;
	}
	/* The length tells "a" from "a\0". */
	return hash_u64(h ^ len);
}
