/* Symbols of any bytes: what comes out is closed and within its cap. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/reader/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char out[DEMANGLE_OUT_MAX];
	char *name = malloc(size + 1);

	if (!name)
		return 0;
	memcpy(name, data, size);
	name[size] = 0;
	if (demangle(name, out) == out && strnlen(out, sizeof(out)) == sizeof(out))
		abort();
	free(name);
	return 0;
}
