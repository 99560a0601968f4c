/* Compiled unwind rules of any content: loading them, and look-ups. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/map.h"
#include "daemon/cfi/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The bytes as rows of a table whose head and sum are right. NULL: too few. */
static struct cfi_table_head *forge(const uint8_t *data, size_t size)
{
	uint32_t count = (uint32_t)(size / 8);
	size_t bytes = sizeof(struct cfi_table_head) + (size_t)count * 8;
	struct cfi_table_head *h;
	void *map;

	if (count == 0)
		return NULL;
	map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		abort();
	h = map;
	*h = (struct cfi_table_head){.magic = CFI_TABLE_MAGIC, .row_count = count, .bytes = bytes};
	memcpy(h + 1, data, (size_t)count * 8);
	h->sum = hash_bytes(h + 1, bytes - sizeof(*h), h->base);
	return h;
}

static void look_up(const struct cfi_table *t)
{
	for (uint32_t i = 0; i < t->count; i++) {
		uint64_t at = t->base + t->starts[i];

		if (cfi_table_find(t, at) != t->codes[i] ||
			(i > 0 && cfi_table_find(t, at - 1) != t->codes[i - 1]))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cfi_table table;
	struct cfi_table_head *h;
	void *copy = malloc(size ? size : 1);

	if (!copy)
		return 0;
	memcpy(copy, data, size); /* aligned, as a mapping is */
	if (cfi_table_check(copy, size, &table) == 0)
		look_up(&table);
	free(copy);
	h = forge(data, size);
	if (!h)
		return 0;
	if (cfi_table_check(h, h->bytes, &table) == 0) {
		look_up(&table);
		cfi_table_index(&table);
		look_up(&table);
		free(table.index);
	}
	munmap(h, h->bytes);
	return 0;
}
