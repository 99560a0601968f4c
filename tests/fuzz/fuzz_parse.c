/* Text to numbers and to UTF-8: any bytes, with or without an end. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int count_cpu(unsigned cpu, void *arg)
{
	unsigned *count = arg;

	if (cpu > 65535)
		abort();
	/* A list may name the same range over and over: that is the caller's time. */
	return ++*count > 100000 ? 1 : 0;
}

static void check_utf8(const char *text, size_t len)
{
	for (size_t room = 0; room < 20; room++) {
		char out[20];
		size_t n = text_utf8(text, len, out, room);

		if (room == 0 ? n != 0 : n >= room || out[n] != 0 || !text_is_utf8(out, n))
			abort();
	}
	(void)text_is_utf8(text, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	uint64_t value;
	unsigned cpus = 0;
	bool flag;

	if (!text)
		return 0;
	if (size > 0)
		memcpy(text, data, size);
	text[size] = 0;

	check_utf8((const char *)data, size);
	if (parse_u64(text, 1000, &value) == 0 && value > 1000)
		abort();
	(void)parse_hex((const char *)data, size, &value);
	(void)parse_bool(text, &flag);
	(void)parse_duration_ns(text, &value);
	(void)parse_bytes(text, &value);
	(void)parse_cpu_list(text, count_cpu, &cpus);
	free(text);
	return 0;
}
