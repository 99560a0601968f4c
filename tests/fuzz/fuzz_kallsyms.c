/* /proc/kallsyms of any bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/symbol/kallsyms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kallsyms *k;
	uint64_t start;

	if (kallsyms_parse((const char *)data, size, &k) < 0)
		return 0;
	for (unsigned i = 0; i < 256; i++) {
		uint64_t addr = (i & 1 ? 0xffffffff81000000ull : 0) + ((uint64_t)i << (i % 17));
		const char *name = kallsyms_find(k, addr, &start);

		if (name && (start > addr || name[0] == 0 || kallsyms_hidden(k)))
			abort();
	}
	kallsyms_unref(k);
	return 0;
}
