/* Records as the kernel would write them, and a ring to put them into: bytes that a test builds. */
#ifndef PFL_TESTS_RING_BYTES_H
#define PFL_TESTS_RING_BYTES_H

#include <assert.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A record that grows word by word; bytes is aligned as in a ring. */
struct bytes {
	uint64_t words[8200];
	size_t count;
};

static inline void put(struct bytes *b, uint64_t word)
{
	b->words[b->count++] = word;
}

static inline void put_pair(struct bytes *b, uint32_t low, uint32_t high)
{
	put(b, (uint64_t)high << 32 | low);
}

static inline void put_text(struct bytes *b, const char *text)
{
	size_t words = strlen(text) / 8 + 1;

	memset(&b->words[b->count], 0, words * 8);
	memcpy(&b->words[b->count], text, strlen(text));
	b->count += words;
}

static inline void put_header(struct bytes *b, uint32_t type, uint16_t misc)
{
	b->count = 0;
	put_pair(b, type, misc);
}

/* The size goes into the header when all is there. */
static inline size_t put_end(struct bytes *b)
{
	size_t len = b->count * 8;

	b->words[0] = (b->words[0] & UINT64_C(0xffffffffffff)) | (uint64_t)len << 48;
	return len;
}

static inline void put_sample(
	struct bytes *b, uint16_t misc, uint64_t t_ns, pid_t pid, pid_t tid, uint64_t id)
{
	put_header(b, PERF_RECORD_SAMPLE, misc);
	put(b, 0x401000); /* ip */
	put_pair(b, (uint32_t)pid, (uint32_t)tid);
	put(b, t_ns);
	put(b, id);
	put_pair(b, 1, 0); /* cpu */
}

static inline size_t put_trailer(struct bytes *b, uint64_t t_ns)
{
	put_pair(b, 42, 43);
	put(b, t_ns);
	put(b, 7); /* id */
	put_pair(b, 1, 0);
	return put_end(b);
}

static inline size_t put_task(
	struct bytes *b, uint32_t type, pid_t pid, pid_t ppid, pid_t tid, pid_t ptid, uint64_t t_ns)
{
	put_header(b, type, 0);
	put_pair(b, (uint32_t)pid, (uint32_t)ppid);
	put_pair(b, (uint32_t)tid, (uint32_t)ptid);
	put(b, t_ns);
	return put_trailer(b, t_ns);
}

static inline size_t put_lost(struct bytes *b, uint64_t count, uint64_t t_ns)
{
	put_header(b, PERF_RECORD_LOST, 0);
	put(b, 7);
	put(b, count);
	return put_trailer(b, t_ns);
}

/* The kernel's side of a ring, in a memory file. */
struct fake_ring {
	int fd;
	size_t bytes;
	struct perf_event_mmap_page *page;
	uint8_t *data;
};

static inline void fake_ring_init(struct fake_ring *f, size_t bytes, uint64_t start)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	f->fd = memfd_create("ring", MFD_CLOEXEC);
	f->bytes = bytes;
	if (f->fd < 0 || ftruncate(f->fd, (off_t)(page + bytes)) < 0)
		_exit(99);
	f->page = mmap(NULL, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);
	if (f->page == MAP_FAILED)
		_exit(99);
	f->data = (uint8_t *)f->page + page;
	f->page->data_head = f->page->data_tail = start;
}

static inline void fake_ring_done(struct fake_ring *f)
{
	munmap(f->page, (size_t)sysconf(_SC_PAGESIZE) + f->bytes);
	close(f->fd);
}

/* False when it does not fit, as the kernel would lose it. */
static inline bool fake_ring_write(struct fake_ring *f, const void *record, size_t len)
{
	uint64_t head = f->page->data_head;

	if (f->bytes - (size_t)(head - f->page->data_tail) < len)
		return false;
	for (size_t i = 0; i < len; i++)
		f->data[(head + i) & (f->bytes - 1)] = ((const uint8_t *)record)[i];
	f->page->data_head = head + len;
	return true;
}

#endif
