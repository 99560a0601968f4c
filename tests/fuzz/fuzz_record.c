/* Records of a perf ring, each as it is and one after the other through a ring. The first byte
 * chooses the layout. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "daemon/sample/record.h"
#include "daemon/sample/ring.h"

#define RING_BYTES ((size_t)64 << 10)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sum;

static void read_all(const void *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		sum += ((const uint8_t *)bytes)[i];
}

/* Touches all that the record lends, for a sanitizer to see. */
static void use(const struct record *r)
{
	const struct sample *s = &r->sample;

	if (r->kind == RECORD_SAMPLE) {
		read_all(s->kernel_chain, s->kernel_count * sizeof(uint64_t));
		read_all(s->user_chain, s->user_count * sizeof(uint64_t));
		if (s->regs)
			read_all(s->regs, SAMPLE_REGS * sizeof(uint64_t));
		if (s->stack_bytes > s->stack_asked || (s->stack_asked && !s->stack))
			abort();
		if (s->stack)
			read_all(s->stack, s->stack_asked);
	} else if (r->kind == RECORD_SIDEBAND && r->sideband.text) {
		read_all(r->sideband.text, strlen(r->sideband.text) + 1);
	}
}

static void decode(const void *bytes, size_t len, const struct record_layout *layout)
{
	uint64_t *exact = malloc(len ? len : 1);
	struct sample_head head;
	struct record r;

	if (!exact)
		return;
	if (len)
		memcpy(exact, bytes, len);
	if (record_sample_head(exact, len, &head))
		sum += head.id;
	sum += record_time(exact, len, layout->sampling);
	if (record_decode(exact, len, layout, &r) == 0)
		use(&r);
	free(exact);
}

static void through_a_ring(const uint8_t *data, size_t size, const struct record_layout *layout)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), len, skipped;
	struct perf_event_mmap_page *header;
	const void *bytes;
	static int fd = -1;
	struct ring *ring;

	if (fd < 0) {
		fd = memfd_create("ring", MFD_CLOEXEC);
		if (fd < 0 || ftruncate(fd, (off_t)(page + RING_BYTES)) < 0)
			abort();
	}
	if (size > RING_BYTES)
		size = RING_BYTES;
	header = mmap(NULL, page + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (header == MAP_FAILED)
		abort();
	memcpy((uint8_t *)header + page, data, size);
	header->data_tail = 0;
	header->data_head = size;
	if (ring_new(fd, RING_BYTES, &ring) < 0)
		abort();
	ring_take_head(ring);
	while ((bytes = ring_peek(ring, &len, &skipped))) {
		decode(bytes, len, layout);
		ring_advance(ring);
	}
	ring_commit(ring);
	if (header->data_tail != size)
		abort();
	ring_free(ring);
	munmap(header, page + RING_BYTES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct record_layout layout;

	if (size == 0)
		return 0;
	layout.sampling = data[0] & 1;
	layout.stack = data[0] & 2 ? STACK_DWARF : STACK_FP;
	layout.period = data[0] & 4;
	decode(data + 1, size - 1, &layout);
	through_a_ring(data + 1, size - 1, &layout);
	return 0;
}
