/* The end of a new program's stack: what it was started with. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/proc/command.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Where the corpus has the copies begin, so that its pointers lead into them. */
#define START UINT64_C(0x7ffc00001000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char line[COMMAND_BYTES];
	const char *args;
	uint8_t *stack = malloc(size + 1);
	size_t len = 0;

	if (!stack)
		return 0;
	if (size)
		memcpy(stack, data, size);
	args = command_of_stack(stack, START, size, &len);
	if (args &&
		((const uint8_t *)args < stack || len == 0 ||
			(const uint8_t *)args + len > stack + size))
		abort();
	if (args) {
		size_t joined = command_join(args, len, true, line);

		if (joined >= COMMAND_BYTES || strlen(line) != joined)
			abort();
	}
	free(stack);
	return 0;
}
