#include "daemon/tree/samplelog.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "daemon/tree/bulk.h"

int samplelog_init(struct samplelog *l, uint32_t cap)
{
	*l = (struct samplelog){0};
	if (cap == 0)
		return 0;
	/* Not accounted before it is used: most sessions end long before their log is full. */
	l->ring = mmap(NULL, cap * sizeof(*l->ring), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (l->ring == MAP_FAILED) {
		l->ring = NULL;
		return -ENOMEM;
	}
	l->cap = cap;
	return 0;
}

void samplelog_done(struct samplelog *l)
{
	if (l->ring)
		munmap(l->ring, l->cap * sizeof(*l->ring));
	*l = (struct samplelog){0};
}

/* CPUs take turns, so entries are only nearly in order of time. */
static void forget(struct samplelog *l, const struct log_entry *e)
{
	l->dropped++;
	if (e->t_ns >= l->from_ns)
		l->from_ns = e->t_ns + 1;
}

void samplelog_add(struct samplelog *l, const struct log_entry *e)
{
	struct log_entry *place;

	if (l->cap == 0)
		return;
	place = &l->ring[l->next];
	if (l->count == l->cap) {
		forget(l, place);
	} else {
		l->count++;
	}
	*place = *e;
	l->next = l->next + 1 == l->cap ? 0 : l->next + 1;
}

int samplelog_resize(struct samplelog *l, uint32_t cap)
{
	uint32_t oldest = l->count == l->cap ? l->next : 0;
	uint32_t kept = l->count < cap ? l->count : cap;
	struct samplelog grown;
	int r = samplelog_init(&grown, cap);

	if (r < 0)
		return r;
	grown.dropped = l->dropped;
	grown.from_ns = l->from_ns;
	for (uint32_t i = 0; i < l->count; i++) {
		const struct log_entry *e = &l->ring[(oldest + (uint64_t)i) % l->cap];

		if (i < l->count - kept)
			forget(&grown, e);
		else
			samplelog_add(&grown, e);
	}
	samplelog_done(l);
	*l = grown;
	return 0;
}

void samplelog_renumber(struct samplelog *l, const uint32_t *to)
{
	for (uint32_t i = 0; i < l->count; i++)
		l->ring[i].node = to[l->ring[i].node];
}

int samplelog_copy(const struct samplelog *l, struct log_entry **ret_log, uint32_t *ret_count)
{
	uint32_t oldest = l->count == l->cap ? l->next : 0;
	uint32_t first = l->count - oldest;
	struct log_entry *copy;

	*ret_log = NULL;
	*ret_count = 0;
	if (l->cap == 0)
		return 0;
	copy = bulk_alloc(l->count * sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	memcpy(copy, l->ring + oldest, first * sizeof(*copy));
	memcpy(copy + first, l->ring, oldest * sizeof(*copy));
	*ret_log = copy;
	*ret_count = l->count;
	return 0;
}

size_t samplelog_bytes(const struct samplelog *l)
{
	return l->count * sizeof(*l->ring);
}
