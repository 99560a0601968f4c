#include "daemon/http/request.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

int req_header(const struct req *r, const char *name, const char **ret_value)
{
	const char *value = NULL;
	size_t len = strlen(name);

	for (unsigned i = 0; i < r->header_count; i++) {
		const struct header *h = &r->headers[i];

		if (h->name_len != len || strncasecmp(h->name, name, len) != 0)
			continue;
		if (value)
			return -EEXIST;
		value = h->value;
	}
	if (!value)
		return 0;
	*ret_value = value;
	return 1;
}

bool req_has_header(const struct req *r, const char *name)
{
	const char *value;

	return req_header(r, name, &value) != 0;
}
