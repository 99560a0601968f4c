#include "daemon/http/page.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/map.h"
#include "daemon/http/answer.h"
#include "daemon/http/api.h"

static void answer_file(struct req *r, const struct page_file *file)
{
	size_t len = (size_t)(file->end - file->begin);
	char tag[40];

	snprintf(tag, sizeof(tag), "\"%016" PRIx64 "\"", hash_bytes(file->begin, len, 0));
	r->answer.cache = "no-cache"; /* may be kept, and is asked for again by its tag */
	r->answer.csp = file->csp;
	if (!answer_etag(r, tag))
		answer_fixed(r, file->type, file->begin, len);
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
