/* The text of /proc/PID/maps, whose paths anybody may choose. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/proc/maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int check(const struct maps_entry *e, void *arg)
{
	size_t *lines = arg, len = strlen(e->path);

	if (e->start >= e->end || maps_undeleted_len(e->path) > len)
		abort();
	(*lines)++;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t good = 0, bad = 0, newlines = 0;

	if (maps_parse((const char *)data, size, check, &good, &bad) != 0)
		abort();
	for (size_t i = 0; i < size; i++)
		newlines += data[i] == '\n';
	/* Each line is one or the other. */
	if (size > 0 && good + bad != newlines + (data[size - 1] != '\n'))
		abort();
	return 0;
}
