#include "daemon/symbol/namestore.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/map.h"

/* Far above what the owner lets a store grow to; it looks after each batch. */
#define STRINGS_MAX_BYTES ((size_t)1 << 30)

/* The frames of one address. */
struct entry {
	uint32_t count;
	struct name_frame frames[];
};

struct namestore {
	atomic_uint refs;
	struct arena *arena;
	struct strtab *strings;
	struct map *known[2]; /* by enum names_want: vaddr -> struct entry */
};

int namestore_new(struct namestore **ret_store)
{
	AUTO(namestore_unref_auto) struct namestore *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	atomic_init(&s->refs, 1);
	r = arena_new(&s->arena);
	if (r == 0)
		r = strtab_new(UINT32_MAX, STRINGS_MAX_BYTES, &s->strings);
	for (int i = 0; r == 0 && i < 2; i++)
		r = map_new(0, &s->known[i]);
	if (r < 0)
		return r;
	*ret_store = MOVE(s);
	return 0;
}

struct namestore *namestore_ref(struct namestore *s)
{
	atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

void namestore_unref(struct namestore *s)
{
	/* The release of each holder pairs with the acquire of the last one, who frees. */
	if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
		return;
	arena_free(s->arena);
	strtab_free(s->strings);
	map_free(s->known[0]);
	map_free(s->known[1]);
	free(s);
}

size_t namestore_bytes(const struct namestore *s)
{
	return sizeof(*s) + arena_bytes(s->arena) + strtab_bytes(s->strings) +
		map_bytes(s->known[0]) + map_bytes(s->known[1]);
}

bool namestore_has(const struct namestore *s, enum names_want want, uint64_t vaddr)
{
	uint64_t entry;

	return map_get(s->known[want], vaddr, &entry);
}

static int keep_string(struct namestore *s, const char *text, const char **ret)
{
	uint32_t id;
	int r = strtab_id(s->strings, text, strlen(text), &id);

	if (r == 0)
		*ret = strtab_get(s->strings, id);
	return r;
}

static int keep_frame(struct namestore *s, const struct reader_result *a,
	const struct reader_frame *from, struct name_frame *to)
{
	int r = keep_string(s, a->strings + from->name, &to->name);

	if (r == 0)
		r = keep_string(s, a->strings + from->file, &to->file);
	to->line = from->line;
	to->inlined = from->inlined;
	to->start = from->start;
	return r;
}

static enum name_source source_of(uint16_t source, enum name_source debug_file)
{
	switch ((enum reader_source)source) {
	case READER_FROM_SYMTAB: return NAME_FROM_SYMTAB;
	case READER_FROM_DYNSYM: return NAME_FROM_DYNSYM;
	case READER_FROM_DEBUGDATA: return NAME_FROM_DEBUGDATA;
	case READER_FROM_DEBUG_FILE: return debug_file;
	case READER_FROM_DWARF: return NAME_FROM_DWARF;
	case READER_FROM_PLT: return NAME_FROM_PLT;
	case READER_FROM_FDE: return NAME_FROM_FDE;
	case READER_FROM_GOPCLN: return NAME_FROM_GOPCLNTAB;
	case READER_FROM_NOTHING:
	case READER_FROM_COUNT: break;
	}
	return NAME_FROM_NOTHING;
}

static bool is_same(const struct name_frame *a, const struct name_frame *b)
{
	/* Strings are there once. */
	return a->name == b->name && a->file == b->file && a->line == b->line &&
		a->inlined == b->inlined && a->source == b->source && a->start == b->start;
}

static int keep_frames(struct namestore *s, const struct reader_result *answer, uint32_t first,
	uint32_t count, enum name_source debug_file, struct name_frame *frames)
{
	int r = 0;

	for (uint32_t k = 0; r == 0 && k < count; k++) {
		r = keep_frame(s, answer, &answer->frames[first + k], &frames[k]);
		frames[k].source = (uint8_t)source_of(answer->frames[first + k].source, debug_file);
	}
	return r;
}

/* last: of the address in front, mostly of the same function. */
static int keep_entry(struct namestore *s, const struct reader_result *answer, uint32_t i,
	enum name_source debug_file, struct entry *last, struct entry **ret_entry)
{
	uint32_t first = answer->starts[i], n = answer->starts[i + 1] - first;
	struct name_frame one = {0};
	struct entry *e;
	int r = n == 1 ? keep_frames(s, answer, first, 1, debug_file, &one) : 0;

	if (r < 0)
		return r;
	if (last && n <= 1 && last->count == n && (n == 0 || is_same(&last->frames[0], &one))) {
		*ret_entry = last;
		return 0;
	}
	e = arena_alloc(s->arena, sizeof(*e) + n * sizeof(*e->frames));
	if (!e)
		return -ENOMEM;
	e->count = n;
	if (n == 1)
		e->frames[0] = one;
	else
		r = keep_frames(s, answer, first, n, debug_file, e->frames);
	*ret_entry = e;
	return r;
}

int namestore_add(struct namestore *s, enum names_want want, const uint64_t *addrs, uint32_t count,
	const struct reader_result *answer, enum name_source debug_file)
{
	struct entry *e = NULL;

	for (uint32_t i = 0; i < count; i++) {
		int r = keep_entry(s, answer, i, debug_file, e, &e);

		if (r == 0)
			r = map_set(s->known[want], addrs[i], (uint64_t)(uintptr_t)e);
		if (r < 0)
			return r;
	}
	return 0;
}

static const struct entry *entry_of(const struct namestore *s, enum names_want want, uint64_t vaddr)
{
	static const struct entry none;
	uint64_t e;

	return map_get(s->known[want], vaddr, &e) ? (const struct entry *)(uintptr_t)e : &none;
}

static void unref_held(void *held)
{
	namestore_unref(held);
}

int namestore_answer(struct namestore *s, enum names_want want, const uint64_t *addrs,
	uint32_t count, struct name_answer *ret_answer)
{
	struct name_answer_parts p = {.count = count, .done = unref_held};
	uint32_t frames = 0;

	for (uint32_t i = 0; i < count; i++)
		frames += entry_of(s, want, addrs[i])->count;
	p.starts = malloc(((size_t)count + 1) * sizeof(*p.starts));
	p.frames = malloc((size_t)frames * sizeof(*p.frames) + 1);
	p.held = namestore_ref(s);
	if (p.starts && p.frames) {
		frames = 0;
		for (uint32_t i = 0; i < count; i++) {
			const struct entry *e = entry_of(s, want, addrs[i]);
			p.starts[i] = frames;
			memcpy(p.frames + frames, e->frames, e->count * sizeof(*e->frames));
			frames += e->count;
		}
		p.starts[count] = frames;
	}
	return name_answer_make(&p, ret_answer);
}

int name_answer_make(const struct name_answer_parts *parts, struct name_answer *ret_answer)
{
	struct name_answer_parts *owner = malloc(sizeof(*owner));

	if (!owner || !parts->starts || !parts->frames) {
		free(owner);
		free(parts->starts);
		free(parts->frames);
		if (parts->done)
			parts->done(parts->held);
		return -ENOMEM;
	}
	*owner = *parts;
	*ret_answer = (struct name_answer){.count = parts->count,
		.starts = parts->starts,
		.frames = parts->frames,
		.owner = owner};
	return 0;
}

void names_release(struct name_answer *a)
{
	struct name_answer_parts *owner = a->owner;

	if (owner) {
		free(owner->starts);
		free(owner->frames);
		if (owner->done)
			owner->done(owner->held);
		free(owner);
	}
	memset(a, 0, sizeof(*a));
}
