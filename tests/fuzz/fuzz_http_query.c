/* Targets of request lines, and the times and hosts that stand in requests. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "daemon/http/ask.h"
#include "daemon/http/uri.h"
#include "daemon/http/vet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text)
{
	if (!text_is_utf8(text, strlen(text)))
		abort();
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			abort();
}

static void check_uri(const char *raw)
{
	AUTO(buf_done) struct buf why = BUF_INIT;
	AUTO(buf_done) struct buf without = BUF_INIT;
	AUTO(buf_done) struct buf again_why = BUF_INIT;
	struct uri u, again;
	int status = uri_parse(raw, &u, &why);

	if (status) {
		if (status != 400 && status != 414)
			abort();
		return;
	}
	check_text(u.path);
	for (unsigned i = 0; i < u.item_count; i++) {
		check_text(u.items[i].key);
		check_text(u.items[i].value);
		if (uri_get(&u, u.items[i].key) != u.items[i].value)
			abort();
	}
	/* What is left without the token is a target still, and has none. */
	if (uri_without(raw, "token", &without) < 0)
		abort();
	if (uri_parse(without.data, &again, &again_why) == 0) {
		if (strchr(raw, '%') == NULL && uri_get(&again, "token"))
			abort();
		uri_done(&again);
	} else {
		abort();
	}
	uri_done(&u);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *raw = strndup((const char *)data, size);
	uint64_t ns;
	char name[64];

	if (!raw)
		return 0;
	check_uri(raw);
	ask_parse_rfc3339(raw, &ns);
	if (vet_host_split(raw, name, sizeof(name)) && strlen(name) >= sizeof(name))
		abort();
	free(raw);
	return 0;
}
