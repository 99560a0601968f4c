#include "daemon/cfi/table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include "base/map.h"

static bool rows_are_sound(const struct cfi_table *t)
{
	if (t->starts[0] != 0 || cfi_code_kind(t->codes[t->count - 1]) != CFI_NONE)
		return false;
	for (uint32_t i = 1; i < t->count; i++)
		if (t->starts[i - 1] >= t->starts[i])
			return false;
	return true; /* any code means something, and reads nothing but the copied stack */
}

int cfi_table_check(const void *data, size_t bytes, struct cfi_table *ret)
{
	const struct cfi_table_head *h = data;
	struct cfi_table t = {.map = data, .bytes = bytes};

	if (bytes < sizeof(*h) || h->magic != CFI_TABLE_MAGIC || h->bytes != bytes ||
		h->row_count == 0 || h->row_count > CFI_TABLE_ROWS_MAX ||
		sizeof(*h) + (uint64_t)h->row_count * 8 != bytes)
		return -EBADMSG;
	if (hash_bytes(h + 1, bytes - sizeof(*h), h->base ^ h->traits) != h->sum)
		return -EBADMSG;
	t.base = h->base;
	t.traits = h->traits;
	t.count = h->row_count;
	t.starts = (const uint32_t *)(h + 1);
	t.codes = t.starts + t.count;
	if (!rows_are_sound(&t))
		return -EBADMSG;
	*ret = t;
	return 0;
}

#define INDEX_SHIFT 10

void cfi_table_index(struct cfi_table *t)
{
	uint32_t count = (t->starts[t->count - 1] >> INDEX_SHIFT) + 2, row = 0;
	uint32_t *index = count / 2 <= t->count ? calloc(count, sizeof(*index)) : NULL;

	if (!index)
		return;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t first = (uint64_t)i << INDEX_SHIFT;

		while (row + 1 < t->count && t->starts[row + 1] <= first)
			row++;
		index[i] = row;
	}
	t->index = index;
	t->index_count = count;
}

uint32_t cfi_table_find(const struct cfi_table *t, uint64_t vaddr)
{
	uint64_t offset = vaddr - t->base;
	uint64_t at = offset >> INDEX_SHIFT;
	uint32_t low = 0, left = t->count;

	if (vaddr < t->base || offset > UINT32_MAX)
		return cfi_code(CFI_NONE, 0, 0);
	if (t->index && at + 1 < t->index_count) {
		low = t->index[at];
		left = t->index[at + 1] - low + 1;
	}
	/* The last that starts at or below; the first one does. */
	while (left > 1) {
		uint32_t half = left / 2;

		low = t->starts[low + half] <= offset ? low + half : low;
		left -= half;
	}
	return t->codes[low];
}
