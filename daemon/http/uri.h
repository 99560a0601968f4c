/* The target of a request line to a path and a query, both decoded. Pure. */
#ifndef PFL_HTTP_URI_H
#define PFL_HTTP_URI_H

#include <stddef.h>
#include "base/buf.h"

#define URI_BYTES_MAX 8192
#define URI_ITEMS_MAX 32

struct uri_item {
	const char *key, *value;
};

struct uri {
	char *storage;    /* what all pointers lead into */
	const char *host; /* of "http://host/path", else NULL */
	const char *path; /* decoded; "*" for the server itself */
	struct uri_item items[URI_ITEMS_MAX];
	unsigned item_count;
};

/* 0, or the status to refuse with: 400 or 414 with a sentence in why; 503: no memory. raw has no
 * NUL. */
int uri_parse(const char *raw, struct uri *ret_uri, struct buf *why);
void uri_done(struct uri *u);
/* NULL: not there. */
const char *uri_get(const struct uri *u, const char *key);
/* The target without that key of its query, for a redirect. */
int uri_without(const char *raw, const char *key, struct buf *into);

#endif
