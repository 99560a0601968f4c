#include "daemon/sample/ring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

/* head, tail and given only grow (modulo 2^64); they are masked to index, never to compare.
 * given <= tail <= head, and head - given <= bytes. */
struct ring {
	struct perf_event_mmap_page *page;
	const uint8_t *data;
	size_t bytes;
	uint64_t head;  /* the kernel's, as of ring_take_head() */
	uint64_t tail;  /* the next record to read */
	uint64_t given; /* what the kernel knows of tail */
	size_t peak;
	size_t peeked; /* bytes of the record that is lent; 0: none */
	uint8_t *joined;
};

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

int ring_new(int perf_fd, size_t data_bytes, struct ring **ret_ring)
{
	AUTO(ring_free_auto) struct ring *r = NULL;
	void *map;

	/* The kernel indexes the ring with a mask, so any other size is refused at mmap. */
	if (data_bytes < page_bytes() || (data_bytes & (data_bytes - 1)) != 0)
		return -EINVAL;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->bytes = data_bytes;
	r->joined = malloc(UINT16_MAX + 1); /* a record's size is 16 bits */
	if (!r->joined)
		return -ENOMEM;
	/* One page of header first. Writable, as the kernel would overwrite unread records
	 * otherwise. */
	map = mmap(NULL, page_bytes() + data_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, perf_fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	r->page = map;
	r->data = (const uint8_t *)map + page_bytes();
	r->tail = r->given = r->head = r->page->data_tail;
	*ret_ring = MOVE(r);
	return 0;
}

void ring_free(struct ring *r)
{
	if (!r)
		return;
	if (r->page)
		munmap(r->page, page_bytes() + r->bytes);
	free(r->joined);
	free(r);
}

size_t ring_take_head(struct ring *r)
{
	size_t used;

	/* Pairs with the barrier that the kernel has between the records and the head. */
	r->head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	used = r->head - r->given > r->bytes ? r->bytes : (size_t)(r->head - r->given);
	if (used > r->peak)
		r->peak = used;
	return (size_t)(r->head - r->tail);
}

/* In a buffer of its own, as callers want a record in one piece. */
static const void *join(struct ring *r, size_t offset, size_t len)
{
	size_t first = r->bytes - offset;

	memcpy(r->joined, r->data + offset, first);
	memcpy(r->joined + first, r->data, len - first);
	return r->joined;
}

const void *ring_peek(struct ring *r, size_t *ret_len, size_t *ret_skipped)
{
	uint64_t avail = r->head - r->tail;
	size_t offset = (size_t)(r->tail & (r->bytes - 1));
	struct perf_event_header header;

	*ret_skipped = 0;
	r->peeked = 0;
	if (avail == 0)
		return NULL;
	if (avail > r->bytes || avail < sizeof(header) || offset % sizeof(uint64_t) != 0)
		goto skip;
	/* Records are of eight-byte units, and so is the ring: a header never wraps. */
	memcpy(&header, r->data + offset, sizeof(header));
	if (header.size < sizeof(header) || header.size % sizeof(uint64_t) != 0 ||
		header.size > avail)
		goto skip;
	r->peeked = header.size;
	*ret_len = header.size;
	if (offset + header.size > r->bytes)
		return join(r, offset, header.size);
	return r->data + offset;
skip:
	*ret_skipped = avail > SIZE_MAX ? SIZE_MAX : (size_t)avail;
	r->tail = r->head;
	return NULL;
}

void ring_advance(struct ring *r)
{
	r->tail += r->peeked;
	r->peeked = 0;
}

void ring_commit(struct ring *r)
{
	r->given = r->tail;
	/* Pairs with the kernel's read of the tail before it writes: our reads are done by then. */
	__atomic_store_n(&r->page->data_tail, r->tail, __ATOMIC_RELEASE);
}

void ring_rewind(struct ring *r)
{
	r->tail = r->given;
	r->peeked = 0;
}

size_t ring_uncommitted(const struct ring *r)
{
	return (size_t)(r->tail - r->given);
}

size_t ring_bytes(const struct ring *r)
{
	return r->bytes;
}

size_t ring_peak(const struct ring *r)
{
	return r->peak;
}
