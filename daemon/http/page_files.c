#include "daemon/http/page.h"

/* The assembler takes the bytes in; paths are those of the source tree, from the folder of the
 * build. */
#define EMBED(name, path)                                                            \
	__asm__(".pushsection .rodata\n"                                             \
		".balign 16\n"                                                       \
		"page_bytes_" #name ":\n"                                            \
		".incbin \"" PFL_SOURCE_DIR "/" path "\"\n"                          \
		"page_bytes_" #name "_end:\n"                                        \
		".byte 0\n"                                                          \
		".popsection\n");                                                    \
	extern const char page_bytes_##name[] __attribute__((visibility("hidden"))); \
	extern const char page_bytes_##name##_end[] __attribute__((visibility("hidden")))

EMBED(index, "web/index.html");
EMBED(script, "web/app.js");
EMBED(style, "web/app.css");
EMBED(icon, "web/favicon.svg");
EMBED(openapi, "proto/openapi.yaml");

#define INDEX_POLICY                                                                  \
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "   \
	"connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; " \
	"frame-ancestors 'none'; require-trusted-types-for 'script'"

const struct page_file page_file_index = {
	"text/html; charset=utf-8", page_bytes_index, page_bytes_index_end, INDEX_POLICY};
const struct page_file page_file_script = {
	"text/javascript; charset=utf-8", page_bytes_script, page_bytes_script_end, NULL};
const struct page_file page_file_style = {
	"text/css; charset=utf-8", page_bytes_style, page_bytes_style_end, NULL};
const struct page_file page_file_icon = {
	"image/svg+xml", page_bytes_icon, page_bytes_icon_end, "default-src 'none'; sandbox"};
const struct page_file page_file_openapi = {
	"application/yaml", page_bytes_openapi, page_bytes_openapi_end, NULL};
