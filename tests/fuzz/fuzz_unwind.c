/* Stacks of any content, walked by compiled rules of any content: the fuzzer chooses rows,
 * registers and words. Then with shorter copies of the same stack, whose rest is taken over from
 * what the whole one showed, or comes from the chain that the kernel would have made of it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/map.h"
#include "daemon/cfi/table.h"
#include "daemon/symbol/space.h"
#include "daemon/unwind/links.h"
#include "daemon/unwind/tails.h"
#include "daemon/unwind/unwind.h"
#include "tests/unit/fake_broker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CODE       UINT64_C(0x7ff000000000)
#define CODE_BYTES 0x1000u
#define JIT        UINT64_C(0x7ff100000000)
#define JIT_BYTES  0x10000u
#define STACK      UINT64_C(0x7ffe00000000)
#define WORDS      600u
#define ROWS       64u
#define FRAMES     200u
#define THREAD     7
#define LINKS      127u
#define SECOND     UINT64_C(1000000000)

static const uint8_t *at, *end;

static uint64_t take(unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes && at < end; i++)
		value |= (uint64_t)*at++ << 8 * i;
	return value;
}

/* Mostly what leads on. */
static uint64_t take_word(void)
{
	uint64_t kind = take(1);

	if (kind < 0x60)
		return CODE + (kind << 8 | take(1)) % CODE_BYTES;
	if (kind < 0x70)
		return JIT + take(2);
	if (kind < 0xc0)
		return STACK + take(2) % (WORDS * 8 + 64);
	return kind < 0xe0 ? take(1) : take(8);
}

static uint32_t take_code(void)
{
	uint64_t kind = take(1), a, b;

	if (kind >= 0xe0)
		return cfi_code(CFI_BY_BP, 2, 2); /* as by chance there would hardly be any */
	a = kind & 8 ? take(2) & CFI_A_MAX : take(1) & 15;
	b = kind & 16 ? take(2) & CFI_B_MAX : take(1) & 15;
	return cfi_code((enum cfi_kind)(kind % CFI_KINDS), (uint32_t)a, (uint32_t)b);
}

/* A checked one, of some rows over the first code. */
static struct cfi_table *take_table(void)
{
	uint32_t rows = (uint32_t)take(1) % ROWS + 1, start = 0;
	size_t bytes = sizeof(struct cfi_table_head) + (size_t)rows * 8;
	struct cfi_table *t = calloc(1, sizeof(*t));
	struct cfi_table_head *h;
	uint32_t *starts;

	h = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!t || h == MAP_FAILED)
		abort();
	*h = (struct cfi_table_head){.magic = CFI_TABLE_MAGIC, .row_count = rows, .bytes = bytes};
	starts = (uint32_t *)(h + 1);
	for (uint32_t i = 0; i < rows; i++) {
		starts[i] = start;
		starts[rows + i] = i + 1 < rows ? take_code() : CFI_NONE;
		start += (uint32_t)take(1) + 1;
	}
	h->sum = hash_bytes(h + 1, bytes - sizeof(*h), h->base);
	if (cfi_table_check(h, bytes, t) < 0)
		abort();
	cfi_table_index(t);
	return t;
}

/* The vdso's code stands for that of the table. */
static void make_space(struct modules **ret_modules, struct space **ret_space)
{
	struct cfi_table *t = take_table();
	struct module *m;

	if (modules_new(fake_broker(), 10, ret_modules) < 0 ||
		space_new(*ret_modules, 1, ret_space) < 0 ||
		space_map(*ret_space, CODE, CODE + CODE_BYTES, 0, 0, 0, "[vdso]") < 0 ||
		space_map(*ret_space, JIT, JIT + JIT_BYTES, 0, 0, 0, "") < 0)
		abort();
	m = space_module(*ret_space, space_find(*ret_space, CODE));
	if (!m || !module_claim_table(m))
		abort();
	module_set_table(m, t); /* and gone with it */
}

static void check_chain(const struct unwind_chain *c)
{
	if (c->count == 0 || c->count > FRAMES || c->end >= UNWIND_END_COUNT)
		abort();
	for (unsigned i = 0; i < c->count; i++)
		if (c->how[i] > UNWIND_BY_TAIL || (c->how[i] == UNWIND_BY_REGISTERS) != (i == 0))
			abort();
}

static bool is_same(const struct unwind_chain *a, const struct unwind_chain *b)
{
	return a->count == b->count && a->end == b->end &&
		memcmp(a->addrs, b->addrs, a->count * sizeof(*a->addrs)) == 0 &&
		memcmp(a->sps, b->sps, a->count * sizeof(*a->sps)) == 0 &&
		memcmp(a->how, b->how, a->count) == 0;
}

/* What rules found the first time is remembered: it is the same the next time, unless time was up.
 */
static void walk(struct unwinder *u, struct space *space, const struct sample *sample,
	struct unwind_chain *ret_chain)
{
	static struct unwind_chain again;

	unwinder_run(u, space, sample, FRAMES, ret_chain);
	check_chain(ret_chain);
	unwinder_run(u, space, sample, FRAMES, &again);
	if (!is_same(ret_chain, &again) && ret_chain->end != UNWIND_ERROR &&
		again.end != UNWIND_ERROR)
		abort();
}

/* The copy's part stays as it is, and what comes from elsewhere says so. */
static void complete(struct tails *tails, uint64_t t_ns, struct unwind_chain *chain)
{
	static struct unwind_chain before;
	bool done;

	before = *chain;
	done = tails_complete(tails, THREAD, t_ns, FRAMES, chain);
	check_chain(chain);
	if (!done && !is_same(&before, chain))
		abort();
	for (unsigned i = 0; done && i < chain->count; i++)
		if ((chain->how[i] == UNWIND_BY_TAIL) != (i >= before.count))
			abort();
	if (done && chain->end != UNWIND_ROOT && chain->end != UNWIND_MAX_FRAMES)
		abort();
}

static bool read_word(const struct sample *sample, uint64_t addr, uint64_t *ret_word)
{
	uint64_t into = addr - sample->regs[SAMPLE_REG_RSP];

	if (sample->stack_bytes < 8 || into > sample->stack_bytes - 8)
		return false;
	memcpy(ret_word, sample->stack + into, 8);
	return true;
}

/* As the kernel does; it reads what is below the stack pointer too, of which we know nothing. */
static uint32_t follow(const struct sample *sample, uint64_t links[LINKS])
{
	uint64_t bp = sample->regs[SAMPLE_REG_RBP], pc;
	uint32_t n = 1;

	links[0] = sample->regs[SAMPLE_REG_RIP];
	while (n < LINKS && read_word(sample, bp + 8, &pc) && read_word(sample, bp, &bp))
		links[n++] = pc;
	return n;
}

/* What the chain led to are no frames but those of the whole stack; where that did not end well, as
 * many of them. The address of the last one depends on what is beyond it. */
static void check_part(const struct unwind_chain *whole, const struct unwind_chain *part)
{
	unsigned count = part->count < whole->count ? part->count : whole->count;

	if (part->how[part->count - 1] != UNWIND_BY_CHAIN)
		return;
	for (unsigned i = 0; i + 1 < count; i++)
		if (part->addrs[i] != whole->addrs[i])
			abort();
	if (part->addrs[count - 1] - whole->addrs[count - 1] + 1 > 2)
		abort();
	if (part->count > whole->count &&
		(whole->end == UNWIND_ROOT || whole->end == UNWIND_STACK_CUT))
		abort();
}

/* What whole copies say of short ones holds for these. */
static void walk_linked(struct unwinder *u, struct space *space, struct sample *sample,
	const struct unwind_chain *whole)
{
	static struct unwind_chain part;
	uint32_t all = sample->stack_bytes;
	uint64_t links[LINKS];

	sample->user_count = follow(sample, links);
	sample->user_chain = links;
	for (unsigned i = 0; i < 4; i++) {
		uint32_t bytes = all * i / 6;
		enum links_cover cover;
		unsigned base;

		cover = links_would_cover(sample, whole, bytes, &base);
		sample->stack_bytes = bytes;
		walk(u, space, sample, &part);
		check_part(whole, &part);
		sample->stack_bytes = all;
		if (cover == LINKS_CHAIN && base == 0 && sample->user_count < LINKS &&
			part.end != UNWIND_ROOT && part.end != UNWIND_ERROR)
			abort();
	}
	sample->user_chain = NULL;
	sample->user_count = 0;
}

static void walk_all(struct unwinder *u, struct space *space, struct sample *sample)
{
	static struct unwind_chain chain;
	uint32_t whole = sample->stack_bytes;
	struct unwinder_stats before, after;
	struct tails *tails;

	if (tails_new(300, &tails) < 0)
		abort();
	unwinder_get_stats(u, &before);
	walk(u, space, sample, &chain);
	unwinder_get_stats(u, &after);
	/* libunwind knows nothing of these rules. */
	if (after.asked_stacks == before.asked_stacks)
		walk_linked(u, space, sample, &chain);
	tails_learn(tails, THREAD, SECOND, &chain);
	for (unsigned i = 2; i < 5; i++) {
		sample->stack_bytes = whole * i / 6;
		walk(u, space, sample, &chain);
		complete(tails, SECOND + i * SECOND / 4, &chain);
		if (i == 3)
			tails_learn(tails, THREAD, SECOND + i * SECOND / 4, &chain);
	}
	tails_free(tails);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t regs[SAMPLE_REGS], words[WORDS];
	struct sample sample = {.abi = PERF_SAMPLE_REGS_ABI_64, .regs = regs};
	static struct unwinder
		*u; /* for speed; it keeps nothing of a space that it has forgotten */
	struct modules *modules;
	struct space *space;
	uint8_t *exact;
	unsigned count;

	at = data;
	end = data + size;
	make_space(&modules, &space);
	for (unsigned i = 0; i < SAMPLE_REGS; i++)
		regs[i] = take_word();
	if (regs[SAMPLE_REG_RSP] < STACK || regs[SAMPLE_REG_RSP] >= STACK + WORDS * 8)
		regs[SAMPLE_REG_RSP] = STACK;
	for (count = 0; count < WORDS && at < end; count++)
		words[count] = take_word();
	/* Of just that size, for a sanitizer to see. */
	sample.stack_bytes = sample.stack_asked = count * 8 - (count ? size % 8 : 0);
	exact = malloc(sample.stack_bytes + 1);
	if (!exact || (!u && unwinder_new("table", &u) < 0))
		abort();
	memcpy(exact, words, sample.stack_bytes);
	sample.stack = exact;
	walk_all(u, space, &sample);
	unwinder_forget(u, space);
	space_free(space);
	modules_free(modules);
	free(exact);
	return 0;
}
