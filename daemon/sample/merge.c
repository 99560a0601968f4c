#include "daemon/sample/merge.h"

#include <errno.h>

#include "daemon/sample/record.h"
#include "daemon/sample/ring.h"

/* A stamp further ahead of the round than this is nonsense, and must not stop its ring for ever. */
#define NONSENSE_NS UINT64_C(1000000000)

/* heap[0 .. count) of indexes into sources, which all stand at a record; the earliest one first. */
struct merge {
	struct merge_source *sources;
	unsigned *heap;
	unsigned source_count, count, cap;
	uint64_t until_ns;
	bool filled; /* heap[0]'s record has been handed out */
};

int merge_new(struct merge **ret_merge)
{
	struct merge *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	*ret_merge = m;
	return 0;
}

void merge_free(struct merge *m)
{
	if (!m)
		return;
	free(m->sources);
	free(m->heap);
	free(m);
}

void merge_begin(struct merge *m, uint64_t until_ns)
{
	m->source_count = 0;
	m->count = 0;
	m->until_ns = until_ns;
	m->filled = false;
}

static bool is_before(const struct merge *m, unsigned a, unsigned b)
{
	const struct merge_source *x = &m->sources[m->heap[a]], *y = &m->sources[m->heap[b]];

	if (x->t_ns != y->t_ns)
		return x->t_ns < y->t_ns;
	return !x->sampling && y->sampling;
}

static void swap(struct merge *m, unsigned a, unsigned b)
{
	unsigned kept = m->heap[a];

	m->heap[a] = m->heap[b];
	m->heap[b] = kept;
}

static void sift_up(struct merge *m, unsigned at)
{
	while (at > 0 && is_before(m, at, (at - 1) / 2)) {
		swap(m, at, (at - 1) / 2);
		at = (at - 1) / 2;
	}
}

static void sift_down(struct merge *m, unsigned at)
{
	for (;;) {
		unsigned least = at;

		for (unsigned child = 2 * at + 1; child <= 2 * at + 2; child++)
			if (child < m->count && is_before(m, child, least))
				least = child;
		if (least == at)
			return;
		swap(m, at, least);
		at = least;
	}
}

/* Moves the source to its ring's next record that is due. False: none. */
static bool stand_at_next(struct merge *m, struct merge_source *s, uint64_t *skipped)
{
	size_t bad;
	uint64_t t_ns;

	s->bytes = ring_peek(s->ring, &s->len, &bad);
	*skipped += bad;
	if (!s->bytes)
		return false;
	t_ns = record_time(s->bytes, s->len, s->sampling);
	/* One without a stamp follows the one before it. */
	if (t_ns == 0)
		return true;
	if (t_ns > m->until_ns && t_ns - m->until_ns < NONSENSE_NS)
		return false;
	s->t_ns = t_ns;
	return true;
}

static int grow(struct merge *m)
{
	unsigned cap = m->cap ? m->cap * 2 : 8;
	struct merge_source *sources = reallocarray(m->sources, cap, sizeof(*sources));
	unsigned *heap;

	if (!sources)
		return -ENOMEM;
	m->sources = sources;
	heap = reallocarray(m->heap, cap, sizeof(*heap));
	if (!heap)
		return -ENOMEM;
	m->heap = heap;
	m->cap = cap;
	return 0;
}

int merge_add(struct merge *m, struct ring *ring, bool sampling, unsigned slot, unsigned index)
{
	int r = m->source_count < m->cap ? 0 : grow(m);

	if (r < 0)
		return r;
	m->sources[m->source_count++] = (struct merge_source){
		.ring = ring, .sampling = sampling, .slot = slot, .index = index};
	return 0;
}

/* After the first merge_add()s, as each needs its first record. */
static void fill(struct merge *m, uint64_t *skipped)
{
	for (unsigned i = 0; i < m->source_count; i++) {
		if (!stand_at_next(m, &m->sources[i], skipped)) {
			ring_commit(m->sources[i].ring);
			continue;
		}
		m->heap[m->count++] = i;
		sift_up(m, m->count - 1);
	}
}

/* Of a big ring an eighth at a time: handing back costs a cache line, holding back costs room. */
static void commit_some(const struct merge_source *s)
{
	if (ring_uncommitted(s->ring) >= ring_bytes(s->ring) / 8)
		ring_commit(s->ring);
}

const struct merge_source *merge_next(struct merge *m, uint64_t *skipped)
{
	struct merge_source *s;

	if (!m->filled) {
		fill(m, skipped);
		m->filled = true;
	} else if (m->count > 0) {
		s = &m->sources[m->heap[0]];
		ring_advance(s->ring);
		if (stand_at_next(m, s, skipped)) {
			commit_some(s);
		} else {
			ring_commit(s->ring);
			m->heap[0] = m->heap[--m->count];
		}
		sift_down(m, 0);
	}
	return m->count > 0 ? &m->sources[m->heap[0]] : NULL;
}
