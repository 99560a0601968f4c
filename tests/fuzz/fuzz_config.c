/* The text of a configuration file; after the first line, if that has an "=", the same as a
 * setting. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "daemon/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void set_one(struct config *c, const char *text)
{
	AUTO(buf_done) struct buf message = BUF_INIT;
	char setting[256];
	size_t len = strcspn(text, "\n");

	if (len >= sizeof(setting))
		return;
	memcpy(setting, text, len);
	setting[len] = 0;
	assert((config_set_text(c, setting, &message) < 0) == (message.len > 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(buf_done) struct buf message = BUF_INIT;
	AUTO(buf_done) struct buf text = BUF_INIT;
	struct config c;

	config_defaults(&c, true);
	buf_append(&text, data, size);
	assert((config_parse(&c, text.data ? text.data : "", size, &message) < 0) ==
		(message.len > 0));
	set_one(&c, text.data ? text.data : "");
	/* Whatever was said, each setting is within its range. */
	assert(c.stack_bytes >= 512 && c.stack_bytes <= 65528);
	assert(c.max_freq_hz >= 1 && c.max_freq_hz <= 100000);
	assert(memchr(c.listen, 0, sizeof(c.listen)) && memchr(c.user, 0, sizeof(c.user)));
	return 0;
}
