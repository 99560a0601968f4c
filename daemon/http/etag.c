#include "daemon/http/etag.h"

#include <string.h>

#include "daemon/http/answer.h"

/* tag stands in the list, or the list is a star. A weak mark in front does not matter here. */
static bool tag_listed(const char *list, const char *tag)
{
	size_t len = strlen(tag);

	while (*list) {
		size_t word;

		list += strspn(list, " \t,");
		if (strncmp(list, "W/", 2) == 0)
			list += 2;
		word = strcspn(list, " \t,");
		if ((word == len && memcmp(list, tag, len) == 0) || (word == 1 && *list == '*'))
			return true;
		list += word;
	}
	return false;
}

bool answer_etag(struct req *r, const char *tag)
{
	const char *list;

	answer_header(r, "ETag", "%s", tag);
	if (req_header(r, "If-None-Match", &list) != 1 || !tag_listed(list, tag))
		return false;
	answer_empty(r, 304);
	return true;
}
