/* Compiled unwind rules of any content: loading them, look-ups, and stacks walked by them. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/map.h"
#include "daemon/cfi/table.h"
#include "daemon/symbol/space.h"
#include "daemon/unwind/unwind.h"
#include "tests/unit/fake_broker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CODE       UINT64_C(0x7ff000000000)
#define CODE_BYTES 0x1000u
#define STACK      UINT64_C(0x7ffe00000000)
#define FRAMES     200

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

/* The vdso's code stands for that of the table. */
static void walk(struct cfi_table *table, const uint8_t *data, size_t size)
{
	static struct unwind_chain chain;
	uint64_t regs[SAMPLE_REGS], stack[256];
	struct sample sample = {.abi = PERF_SAMPLE_REGS_ABI_64,
		.regs = regs,
		.stack = (const uint8_t *)stack,
		.stack_bytes = sizeof(stack)};
	struct modules *modules;
	struct space *space;
	struct unwinder *u;
	struct module *m;

	for (unsigned i = 0; i < 256; i++) {
		uint8_t byte = data[(i + 8) % size];

		/* Mostly addresses that lead on, of code or of the stack. */
		stack[i] = byte < 160 ? CODE + byte * 16u
			: byte < 240  ? STACK + i * 8 + byte
				      : byte;
	}
	for (unsigned i = 0; i < SAMPLE_REGS; i++)
		regs[i] = STACK + data[i % size] * 8u;
	regs[7] = STACK;
	regs[8] = CODE + data[0] * 16u;
	if (modules_new(fake_broker(), 10, &modules) < 0 || space_new(modules, 1, &space) < 0 ||
		unwinder_new("table", &u) < 0 ||
		space_map(space, CODE, CODE + CODE_BYTES, 0, 0, 0, "[vdso]") < 0)
		abort();
	m = space_module(space, space_find(space, CODE));
	if (m && module_claim_table(m))
		module_set_table(m, table);
	for (int again = 0; again < 2; again++) {
		unwinder_run(u, space, &sample, FRAMES, &chain);
		if (chain.count == 0 || chain.count > FRAMES || chain.end >= UNWIND_END_COUNT)
			abort();
	}
	unwinder_forget(u, space);
	unwinder_free(u);
	space_free(space);
	modules_free(modules); /* and with the vdso the table */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cfi_table table, *kept;
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
	kept = calloc(1, sizeof(*kept));
	if (kept && cfi_table_check(h, h->bytes, kept) == 0) {
		look_up(kept);
		cfi_table_index(kept);
		look_up(kept);
		walk(kept, data, size);
	} else {
		munmap(h, h->bytes);
		free(kept);
	}
	return 0;
}
