#include "daemon/tree/intern.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "daemon/tree/bulk.h"

#define FIRST_SLOTS 64
#define FIRST_BYTES 256

void index_done(struct index *ix)
{
	free(ix->slots);
	*ix = (struct index){0};
}

static void place(struct index *ix, uint32_t hash, uint32_t id)
{
	size_t at = hash;

	while (ix->slots[at & ix->mask].id != INDEX_NONE)
		at++;
	ix->slots[at & ix->mask] = (struct index_slot){.hash = hash, .id = id};
}

int index_room(struct index *ix)
{
	return index_reserve(ix, 1);
}

int index_reserve(struct index *ix, size_t more)
{
	size_t slots = ix->slots ? ix->mask + 1 : 0;
	struct index bigger;

	if ((ix->count + more) * 3 <= slots * 2)
		return 0;
	slots = slots ? slots * 2 : FIRST_SLOTS;
	while ((ix->count + more) * 3 > slots * 2)
		slots *= 2;
	bigger = (struct index){.mask = slots - 1, .count = ix->count};
	bigger.slots = malloc(slots * sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	memset(bigger.slots, 0xff, slots * sizeof(*bigger.slots));
	for (size_t i = 0; ix->slots && i <= ix->mask; i++) {
		if (ix->slots[i].id != INDEX_NONE)
			place(&bigger, ix->slots[i].hash, ix->slots[i].id);
	}
	free(ix->slots);
	*ix = bigger;
	return 0;
}

void index_put(struct index *ix, uint64_t hash, uint32_t id)
{
	place(ix, (uint32_t)hash, id);
	ix->count++;
}

size_t index_bytes(const struct index *ix)
{
	return ix->slots ? (ix->mask + 1) * sizeof(*ix->slots) : 0;
}

struct texts {
	char *data; /* data[0] is 0: the empty string */
	size_t len, cap, max_bytes;
	uint64_t seed; /* so that nobody can choose names that collide */
	struct index index;
};

int texts_new(size_t max_bytes, struct texts **ret_texts)
{
	AUTO(texts_free_auto) struct texts *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->data = calloc(1, FIRST_BYTES);
	if (!t->data)
		return -ENOMEM;
	t->cap = FIRST_BYTES;
	t->len = 1;
	t->seed = hash_u64((uintptr_t)t);
	t->max_bytes = max_bytes < INT32_MAX ? max_bytes : INT32_MAX;
	*ret_texts = MOVE(t);
	return 0;
}

void texts_free(struct texts *t)
{
	if (!t)
		return;
	index_done(&t->index);
	free(t->data);
	free(t);
}

static int grow(struct texts *t, size_t len)
{
	size_t cap = t->cap;
	char *data;

	if (len > t->max_bytes || t->len > t->max_bytes - len)
		return -ENOSPC;
	if (t->len + len <= cap)
		return 0;
	while (cap < t->len + len)
		cap *= 2;
	data = realloc(t->data, cap);
	if (!data)
		return -ENOMEM;
	t->data = data;
	t->cap = cap;
	return 0;
}

static uint32_t find(const struct texts *t, uint64_t hash, const char *text, size_t len)
{
	size_t cursor = hash;
	uint32_t off;

	while ((off = index_next(&t->index, hash, &cursor)) != INDEX_NONE) {
		if (t->len - off > len && memcmp(t->data + off, text, len) == 0 &&
			!t->data[off + len])
			return off;
	}
	return INDEX_NONE;
}

int64_t texts_add(struct texts *t, const char *text, size_t len)
{
	uint64_t hash;
	uint32_t off;
	int r;

	len = strnlen(text, len);
	if (len == 0)
		return 0;
	hash = hash_bytes(text, len, t->seed);
	off = find(t, hash, text, len);
	if (off != INDEX_NONE)
		return off;
	r = grow(t, len + 1);
	if (r == 0)
		r = index_room(&t->index);
	if (r < 0)
		return r;
	off = (uint32_t)t->len;
	memcpy(t->data + off, text, len);
	t->data[off + len] = 0;
	t->len += len + 1;
	index_put(&t->index, hash, off);
	return off;
}

int texts_from(const struct profile *p, size_t max_bytes, struct texts **ret_texts)
{
	AUTO(texts_free_auto) struct texts *t = NULL;
	size_t bytes = p->text ? p->text_bytes : 0;
	int r = texts_new(max_bytes, &t);

	if (r < 0)
		return r;
	if (bytes > 1) {
		r = grow(t, bytes);
		if (r < 0)
			return r;
		memcpy(t->data, p->text, bytes);
		t->len = bytes;
	}
	for (size_t off = 0; off < t->len;) {
		size_t len = strnlen(t->data + off, t->len - off);
		uint64_t hash = hash_bytes(t->data + off, len, t->seed);

		r = index_room(&t->index);
		if (r < 0)
			return r;
		/* The same string twice would do no harm; finding it twice in a row is only slow.
		 */
		if (len > 0 && find(t, hash, t->data + off, len) == INDEX_NONE)
			index_put(&t->index, hash, (uint32_t)off);
		off += len + 1;
	}
	*ret_texts = MOVE(t);
	return 0;
}

const char *texts_get(const struct texts *t, uint32_t off)
{
	return off < t->len ? t->data + off : "";
}

size_t texts_bytes(const struct texts *t)
{
	return t->len;
}

size_t texts_memory(const struct texts *t)
{
	return t->cap + index_bytes(&t->index);
}

int texts_copy(const struct texts *t, char **ret_text, uint32_t *ret_bytes)
{
	char *copy = bulk_alloc(t->len);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, t->data, t->len);
	*ret_text = copy;
	*ret_bytes = (uint32_t)t->len;
	return 0;
}

void texts_give(struct texts *t, struct profile *p)
{
	free(p->text);
	p->text = MOVE(t->data);
	p->text_bytes = (uint32_t)t->len;
	t->len = t->cap = 0;
}
