/* Jitdump files of any bytes, in one piece and in two: the names must be the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/cfi/table.h"
#include "daemon/symbol/jitdump.h"
#include "daemon/symbol/jitrules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW_NS 100000000000ull
#define ADDRS  64

static struct jitdump *feed(const uint8_t *data, size_t len, size_t cut)
{
	struct jitdump *d;
	ssize_t used;

	if (jitdump_new(7, 0, &d) < 0)
		abort();
	used = jitdump_feed(d, data, cut, NOW_NS);
	if (used > (ssize_t)cut)
		abort();
	if (used >= 0)
		(void)jitdump_feed(d, data + used, len - (size_t)used, NOW_NS);
	return d;
}

static void check_code(const struct jitdump *d, const struct jithistory *h, uint32_t i, uint32_t at)
{
	const struct jit_code *c = &h->codes[at];
	const char *file;
	uint32_t line;

	if (h->addrs[i] < c->start || h->addrs[i] >= c->end || jitdump_name(d, c)[0] == 0)
		abort();
	jitdump_line(d, c, h->addrs[i], &file, &line);
	if (strlen(file) > 4096)
		abort();
}

static void compare_rules(struct jitdump *whole, struct jitdump *halves)
{
	struct jitrules *a = NULL, *b = NULL;

	if (jitdump_rules(whole, &a) != jitdump_rules(halves, &b))
		abort();
	for (uint64_t addr = 0; a && addr < 64 * ADDRS; addr++) {
		uint32_t code = jitrules_find(a, addr, NOW_NS);

		if (code != jitrules_find(b, addr, NOW_NS) || cfi_code_kind(code) >= CFI_KINDS)
			abort();
	}
	jitrules_unref(a);
	jitrules_unref(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jitdump *whole = feed(data, size, size), *halves = feed(data, size, size / 2);
	struct jithistory a, b;
	struct jitdump_stats s;
	uint64_t addrs[ADDRS];

	for (unsigned i = 0; i < ADDRS; i++)
		addrs[i] = (uint64_t)i * 64;
	if (jithistory_init(&a, addrs, ADDRS) < 0 || jithistory_init(&b, addrs, ADDRS) < 0 ||
		jitdump_history(whole, &a) < 0 || jitdump_history(halves, &b) < 0)
		abort();
	for (uint32_t i = 0; i < ADDRS; i++) {
		if (jithistory_depth(&a, i) != jithistory_depth(&b, i))
			abort();
		for (uint32_t at = a.last[i]; at != JITHISTORY_NONE; at = a.codes[at].before)
			check_code(whole, &a, i, at);
	}
	compare_rules(whole, halves);
	jitdump_get_stats(whole, &s);
	if (s.junk + s.dropped > s.records)
		abort();
	jithistory_done(&a);
	jithistory_done(&b);
	jitdump_unref(whole);
	jitdump_unref(halves);
	return 0;
}
