#include "base/arena.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/map.h"

#define FIRST_CHUNK_BYTES ((size_t)4 << 10)
#define LAST_CHUNK_BYTES  ((size_t)64 << 10)
#define ALIGNMENT         16

/* Memory from calloc and never used twice, so that what is handed out is zero. */
struct chunk {
	struct chunk *next;
	size_t used;
	size_t size;
	_Alignas(ALIGNMENT) char bytes[];
};

struct arena {
	struct chunk
		*head; /* the one that is filled; those behind it are full or of one big piece */
	size_t chunk_bytes; /* of the next ordinary chunk: doubles up to LAST_CHUNK_BYTES */
	size_t total_bytes;
};

int arena_new(struct arena **ret_arena)
{
	struct arena *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->chunk_bytes = FIRST_CHUNK_BYTES;
	a->total_bytes = sizeof(*a);
	*ret_arena = a;
	return 0;
}

void arena_free(struct arena *a)
{
	if (!a)
		return;
	while (a->head) {
		struct chunk *next = a->head->next;

		free(a->head);
		a->head = next;
	}
	free(a);
}

static struct chunk *chunk_new(struct arena *a, size_t size)
{
	struct chunk *c;

	if (size > SIZE_MAX - sizeof(*c))
		return NULL;
	c = calloc(1, sizeof(*c) + size);
	if (!c)
		return NULL;
	c->size = size;
	a->total_bytes += sizeof(*c) + size;
	return c;
}

static void *alloc_aligned(struct arena *a, size_t bytes, size_t align)
{
	struct chunk *c = a->head;
	size_t at = c ? (c->used + align - 1) / align * align : 0;

	if (c && at <= c->size && bytes <= c->size - at) {
		c->used = at + bytes;
		return c->bytes + at;
	}

	/* A big piece gets a chunk of its own behind the head, whose rest stays in use. */
	if (c && bytes > a->chunk_bytes / 4) {
		struct chunk *own = chunk_new(a, bytes);

		if (!own)
			return NULL;
		own->used = bytes;
		own->next = c->next;
		c->next = own;
		return own->bytes;
	}

	c = chunk_new(a, bytes > a->chunk_bytes ? bytes : a->chunk_bytes);
	if (!c)
		return NULL;
	if (a->chunk_bytes < LAST_CHUNK_BYTES)
		a->chunk_bytes *= 2;
	c->used = bytes;
	c->next = a->head;
	a->head = c;
	return c->bytes;
}

void *arena_alloc(struct arena *a, size_t bytes)
{
	/* One byte at least: two pieces never share an address. */
	return alloc_aligned(a, bytes ? bytes : 1, ALIGNMENT);
}

char *arena_strdup(struct arena *a, const char *text, size_t len)
{
	char *copy = len < SIZE_MAX ? alloc_aligned(a, len + 1, 1) : NULL;

	if (copy && len > 0)
		memcpy(copy, text, len);
	return copy;
}

size_t arena_bytes(const struct arena *a)
{
	return a->total_bytes;
}

struct string {
	const char *text; /* in the arena */
	size_t len;
	uint64_t hash;
};

/* slots is a hash table of ids with linear probing, where 0 is a free slot: the empty string, which
 * has that id, is never looked up in it. At most three quarters of the slots are in use. */
struct strtab {
	struct arena *arena;
	struct string *strings; /* by id */
	uint32_t count;
	uint32_t room;
	uint32_t *slots;
	size_t mask;
	uint64_t seed; /* random: strings come from strangers, who must not choose what collides */
	uint32_t max_count;
	size_t max_bytes;
};

AUTO_FREE_FN(struct strtab, strtab_free)

#define FIRST_STRINGS 64
#define FIRST_SLOTS   128

int strtab_new(uint32_t max_count, size_t max_bytes, struct strtab **ret_tab)
{
	AUTO(strtab_free_auto) struct strtab *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	r = arena_new(&t->arena);
	if (r < 0)
		return r;
	t->strings = calloc(FIRST_STRINGS, sizeof(*t->strings));
	t->slots = calloc(FIRST_SLOTS, sizeof(*t->slots));
	if (!t->strings || !t->slots)
		return -ENOMEM;
	t->strings[0].text = "";
	t->count = 1;
	t->room = FIRST_STRINGS;
	t->mask = FIRST_SLOTS - 1;
	t->max_count = max_count;
	t->max_bytes = max_bytes;
	if (getrandom(&t->seed, sizeof(t->seed), GRND_NONBLOCK) != (ssize_t)sizeof(t->seed))
		t->seed = time_mono_ns() ^ (uintptr_t)t;
	*ret_tab = MOVE(t);
	return 0;
}

void strtab_free(struct strtab *t)
{
	if (!t)
		return;
	arena_free(t->arena);
	free(t->strings);
	free(t->slots);
	free(t);
}

static size_t find_slot(const struct strtab *t, uint64_t hash, const char *text, size_t len)
{
	size_t at = hash & t->mask;

	for (; t->slots[at] != 0; at = (at + 1) & t->mask) {
		const struct string *s = &t->strings[t->slots[at]];

		if (s->hash == hash && s->len == len && memcmp(s->text, text, len) == 0)
			break;
	}
	return at;
}

static int grow_strings(struct strtab *t)
{
	size_t room = (size_t)t->room * 2;
	struct string *strings;

	if (room > UINT32_MAX)
		room = UINT32_MAX;
	strings = realloc(t->strings, room * sizeof(*strings));
	if (!strings)
		return -ENOMEM;
	t->strings = strings;
	t->room = (uint32_t)room;
	return 0;
}

static int grow_slots(struct strtab *t)
{
	size_t mask = t->mask * 2 + 1;
	uint32_t *slots = calloc(mask + 1, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (uint32_t id = 1; id < t->count; id++) {
		size_t at = t->strings[id].hash & mask;

		while (slots[at] != 0)
			at = (at + 1) & mask;
		slots[at] = id;
	}
	free(t->slots);
	t->slots = slots;
	t->mask = mask;
	return 0;
}

static int make_room(struct strtab *t, size_t len)
{
	size_t bytes = strtab_bytes(t);
	int r;

	if (t->count >= t->max_count || bytes > t->max_bytes || len >= t->max_bytes - bytes)
		return -ENOSPC;
	if (t->count == t->room) {
		r = grow_strings(t);
		if (r < 0)
			return r;
	}
	if (t->count >= (t->mask + 1) / 4 * 3)
		return grow_slots(t);
	return 0;
}

int strtab_id(struct strtab *t, const char *text, size_t len, uint32_t *ret_id)
{
	uint64_t hash;
	size_t at;
	char *copy;
	int r;

	if (len == 0) {
		*ret_id = 0;
		return 0;
	}
	hash = hash_bytes(text, len, t->seed);
	at = find_slot(t, hash, text, len);
	if (t->slots[at] == 0) {
		r = make_room(t, len);
		if (r < 0)
			return r;
		copy = arena_strdup(t->arena, text, len);
		if (!copy)
			return -ENOMEM;
		t->strings[t->count] = (struct string){.text = copy, .len = len, .hash = hash};
		at = find_slot(t, hash, text, len); /* the slots may have grown */
		t->slots[at] = t->count++;
	}
	*ret_id = t->slots[at];
	return 0;
}

const char *strtab_get(const struct strtab *t, uint32_t id)
{
	return id < t->count ? t->strings[id].text : "";
}

uint32_t strtab_count(const struct strtab *t)
{
	return t->count;
}

size_t strtab_bytes(const struct strtab *t)
{
	return sizeof(*t) + arena_bytes(t->arena) + t->room * sizeof(*t->strings) +
		(t->mask + 1) * sizeof(*t->slots);
}
