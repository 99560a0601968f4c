/* Perf maps of any bytes, in one piece and in two: the names must be the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/symbol/perfmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct perfmap *feed(const char *text, size_t len, size_t cut)
{
	struct perfmap *m;
	ssize_t used;

	if (perfmap_new(&m) < 0)
		abort();
	used = perfmap_feed(m, text, cut);
	if (used < 0 || (size_t)used > cut)
		abort();
	used = perfmap_feed(m, text + used, len - (size_t)used);
	if (used < 0)
		abort();
	return m;
}

static void compare(const struct perfmap *a, const struct perfmap *b, uint64_t addr)
{
	uint64_t as = 0, bs = 0;
	const char *an = perfmap_find(a, addr, &as), *bn = perfmap_find(b, addr, &bs);

	if (!an != !bn || (an && (strcmp(an, bn) != 0 || as != bs || as > addr)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct perfmap *whole = feed(text, size, size), *halves = feed(text, size, size / 2);
	struct perfmap_stats s;

	for (uint64_t addr = 0; addr < 256; addr++)
		compare(whole, halves, addr << (addr % 13));
	perfmap_get_stats(whole, &s);
	if (s.junk > s.lines)
		abort();
	perfmap_unref(whole);
	perfmap_unref(halves);
	return 0;
}
