/* Files that are part of the program. */
#ifndef PFL_HTTP_PAGE_H
#define PFL_HTTP_PAGE_H

#include <stddef.h>

struct page_file {
	const char *type;
	const char *begin, *end;
	const char *gzip_begin, *gzip_end; /* the same, packed */
	const char *csp;                   /* NULL: nothing may load */
};

/* In page_files.c, by the assembler. */
extern const struct page_file page_file_index, page_file_script, page_file_style, page_file_icon,
	page_file_login, page_file_openapi;

struct req;
/* Answers a browser that has no token with a form for it. */
void page_login(struct req *r);

#endif
