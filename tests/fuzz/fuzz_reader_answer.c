/* What the reader sends back: the first byte is how many addresses were asked for. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/symbol/namestore.h"
#include "daemon/symbol/readerclient.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* As names are kept and handed out. */
static void use(const struct reader_result *r, uint32_t count)
{
	uint64_t addrs[256];
	struct namestore *s;
	struct name_answer a;

	for (uint32_t i = 0; i < count; i++)
		addrs[i] = i * 16;
	if (namestore_new(&s) < 0)
		return;
	if (namestore_add(s, NAMES_INLINES, addrs, count, r, NAME_FROM_DEBUGLINK) < 0 ||
		namestore_answer(s, NAMES_INLINES, addrs, count, &a) < 0)
		abort();
	for (uint32_t i = 0; i < a.starts[count]; i++)
		if (strlen(a.frames[i].name) + strlen(a.frames[i].file) > r->bytes)
			abort();
	namestore_unref(s);
	names_release(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader_result r;
	void *copy;

	if (size == 0)
		return 0;
	/* A mapping is aligned, and so is this. */
	copy = malloc(size);
	if (!copy)
		return 0;
	memcpy(copy, data + 1, size - 1);
	if (reader_answer_check(copy, size - 1, data[0], &r) == 0)
		use(&r, data[0]);
	free(copy);
	return 0;
}
