#include "daemon/http/page.h"

#include "base/embed.h"

/* Paths are those of the source tree, seen from the folder of the build, where the packed ones are.
 */
#define EMBED(name, folder, file)                                          \
	EMBED_FILE(page_bytes_##name, PFL_SOURCE_DIR "/" folder "/" file); \
	EMBED_FILE(page_gzip_##name, "daemon/http/" file ".gz")

#define BYTES_OF(name) \
	page_bytes_##name, page_bytes_##name##_end, page_gzip_##name, page_gzip_##name##_end

EMBED(index, "web/dist", "index.html");
EMBED(script, "web/dist", "app.js");
EMBED(style, "web/dist", "app.css");
EMBED(icon, "web/dist", "favicon.svg");
EMBED(login, "web/dist", "login.html");
EMBED(openapi, "proto", "openapi.yaml");

#define INDEX_POLICY                                                                  \
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "   \
	"connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; " \
	"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
#define LOGIN_POLICY                                                                          \
	"default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action " \
	"'self'; frame-ancestors 'none'"

const struct page_file page_file_index = {
	"text/html; charset=utf-8", BYTES_OF(index), INDEX_POLICY};
const struct page_file page_file_script = {
	"text/javascript; charset=utf-8", BYTES_OF(script), NULL};
const struct page_file page_file_style = {"text/css; charset=utf-8", BYTES_OF(style), NULL};
const struct page_file page_file_icon = {
	"image/svg+xml", BYTES_OF(icon), "default-src 'none'; sandbox"};
const struct page_file page_file_login = {
	"text/html; charset=utf-8", BYTES_OF(login), LOGIN_POLICY};
const struct page_file page_file_openapi = {"application/yaml", BYTES_OF(openapi), NULL};
