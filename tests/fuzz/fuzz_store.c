/* Profile files: any bytes as a file; and as a body whose sums are right. What is accepted holds
 * together, and is the same after another round through the format. */
#include <stdint.h>

#include "tests/fuzz/forge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void round_trip(const struct profile *p)
{
	AUTO(profile_unref_auto) struct profile *back = NULL;
	AUTO(buf_done) struct buf first = BUF_INIT, second = BUF_INIT;

	if (profile_check(p) < 0 || store_encode(p, &first) < 0 ||
		store_decode(first.data, first.len, false, &back) < 0 ||
		store_encode(back, &second) < 0)
		abort();
	if (first.len != second.len || memcmp(first.data, second.data, first.len) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile *p = NULL;

	if (store_decode(data, size, true, &p) == 0)
		profile_unref(p);
	p = NULL;
	if (store_decode(data, size, false, &p) == 0)
		round_trip(p);
	profile_unref(p);
	p = NULL;
	if (size > 0 && forge_profile(data + 1, size - 1, data[0], &p) == 0)
		round_trip(p);
	profile_unref(p);
	return 0;
}
