#include "daemon/symbol/segments.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"

#define CHUNK 256

/* Never empty; ascending. */
struct chunk {
	uint32_t count;
	struct segment pieces[CHUNK];
};

/* Chunks in order of address: a change moves one chunk's pieces at most. */
struct segments {
	struct chunk **chunks;
	size_t count, room;
};

int segments_new(struct segments **ret_segments)
{
	struct segments *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	*ret_segments = s;
	return 0;
}

void segments_free(struct segments *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++)
		free(s->chunks[i]);
	free(s->chunks);
	free(s);
}

size_t segments_bytes(const struct segments *s)
{
	return sizeof(*s) + s->room * sizeof(*s->chunks) + s->count * sizeof(**s->chunks);
}

/* The chunk that addr belongs to: the last one that starts at or below it, or the first. */
static size_t chunk_of(const struct segments *s, uint64_t addr)
{
	size_t lo = 0, hi = s->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (s->chunks[mid]->pieces[0].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? lo - 1 : 0;
}

/* The first piece in the chunk that ends above addr; its count if there is none. */
static uint32_t piece_of(const struct chunk *c, uint64_t addr)
{
	uint32_t lo = 0, hi = c->count;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (c->pieces[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool locate(const struct segments *s, uint64_t addr, size_t *ret_chunk, uint32_t *ret_piece)
{
	size_t c = chunk_of(s, addr);
	uint32_t p;

	if (s->count == 0)
		return false;
	p = piece_of(s->chunks[c], addr);
	if (p == s->chunks[c]->count) {
		if (++c == s->count)
			return false;
		p = 0;
	}
	*ret_chunk = c;
	*ret_piece = p;
	return true;
}

const struct segment *segments_at_or_above(const struct segments *s, uint64_t addr)
{
	size_t c;
	uint32_t p;

	return locate(s, addr, &c, &p) ? &s->chunks[c]->pieces[p] : NULL;
}

static int add_chunk(struct segments *s, size_t at, struct chunk **ret)
{
	struct chunk *c;

	if (s->count == s->room) {
		size_t room = s->room ? s->room * 2 : 16;
		struct chunk **more = realloc(s->chunks, room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		s->chunks = more;
		s->room = room;
	}
	c = malloc(sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->count = 0;
	memmove(s->chunks + at + 1, s->chunks + at, (s->count - at) * sizeof(*s->chunks));
	s->chunks[at] = c;
	s->count++;
	*ret = c;
	return 0;
}

/* Half of a full chunk goes into a new one behind it. */
static int split(struct segments *s, size_t at)
{
	struct chunk *c = s->chunks[at], *next;
	int r = add_chunk(s, at + 1, &next);

	if (r < 0)
		return r;
	memcpy(next->pieces, c->pieces + CHUNK / 2, (CHUNK - CHUNK / 2) * sizeof(*c->pieces));
	next->count = CHUNK - CHUNK / 2;
	c->count = CHUNK / 2;
	return 0;
}

int segments_put(struct segments *s, uint64_t start, uint64_t end, uint32_t owner)
{
	size_t at = chunk_of(s, start);
	struct chunk *c;
	uint32_t p;
	int r = 0;

	if (s->count == 0)
		r = add_chunk(s, 0, &c);
	else if (s->chunks[at]->count == CHUNK)
		r = split(s, at);
	if (r < 0)
		return r;
	at = s->chunks[at]->count ? chunk_of(s, start) : at;
	c = s->chunks[at];
	p = piece_of(c, start);
	memmove(c->pieces + p + 1, c->pieces + p, (c->count - p) * sizeof(*c->pieces));
	c->pieces[p] = (struct segment){.start = start, .end = end, .owner = owner};
	c->count++;
	return 0;
}

static void remove_piece(struct segments *s, size_t at, uint32_t p)
{
	struct chunk *c = s->chunks[at];

	c->count--;
	memmove(c->pieces + p, c->pieces + p + 1, (c->count - p) * sizeof(*c->pieces));
	if (c->count > 0)
		return;
	free(c);
	s->count--;
	memmove(s->chunks + at, s->chunks + at + 1, (s->count - at) * sizeof(*s->chunks));
}

int segments_erase(struct segments *s, uint64_t start, uint64_t end)
{
	size_t at;
	uint32_t p;

	while (locate(s, start, &at, &p) && s->chunks[at]->pieces[p].start < end) {
		struct segment *piece = &s->chunks[at]->pieces[p];
		if (piece->start >= start && piece->end <= end) {
			remove_piece(s, at, p);
		} else if (piece->start >= start) {
			piece->start = end;
			break;
		} else if (piece->end > end) {
			struct segment rest = {end, piece->end, piece->owner};
			piece->end = start;
			return segments_put(s, rest.start, rest.end, rest.owner);
		} else {
			piece->end = start;
		}
	}
	return 0;
}
