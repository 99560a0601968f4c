#include "daemon/http/page.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/map.h"
#include "daemon/http/answer.h"
#include "daemon/http/etag.h"
#include "daemon/http/api.h"

/* Whether a list of codings, as in "gzip, deflate;q=0.5", has gzip and does not refuse it. */
static bool list_has_gzip(const char *list)
{
	while (*list) {
		size_t len;

		list += strspn(list, " \t,");
		len = strcspn(list, ",");
		if (len >= 4 && strncasecmp(list, "gzip", 4) == 0 && strchr(" \t;,", list[4])) {
			const char *q = memmem(list, len, "q=", 2);

			return !q || strtod(q + 2, NULL) > 0;
		}
		list += len;
	}
	return false;
}

/* Packed if the client takes that; a 304 if it has it. */
static void answer_file(struct req *r, const struct page_file *file)
{
	size_t len = (size_t)(file->end - file->begin);
	const char *codings;
	bool packed = req_header(r, "Accept-Encoding", &codings) == 1 && list_has_gzip(codings);
	char tag[40];

	/* Other bytes have another tag. */
	snprintf(tag, sizeof(tag), "\"%016" PRIx64 "%s\"", hash_bytes(file->begin, len, 0),
		packed ? "-gzip" : "");
	r->answer.cache = "no-cache"; /* may be kept, and is asked for again by its tag */
	r->answer.csp = file->csp;
	answer_header(r, "Vary", "Accept-Encoding");
	if (answer_etag(r, tag))
		return;
	if (packed) {
		answer_header(r, "Content-Encoding", "gzip");
		answer_fixed(r, file->type, file->gzip_begin,
			(size_t)(file->gzip_end - file->gzip_begin));
	} else {
		answer_fixed(r, file->type, file->begin, len);
	}
}

void page_index(struct req *r)
{
	answer_file(r, &page_file_index);
}

void page_script(struct req *r)
{
	answer_file(r, &page_file_script);
}

void page_style(struct req *r)
{
	answer_file(r, &page_file_style);
}

void page_icon(struct req *r)
{
	answer_file(r, &page_file_icon);
}

void page_openapi(struct req *r)
{
	answer_file(r, &page_file_openapi);
}

void page_login(struct req *r)
{
	const struct page_file *file = &page_file_login;

	r->answer.csp = file->csp;
	answer_fixed(r, file->type, file->begin, (size_t)(file->end - file->begin));
	r->answer.status = 401;
}
