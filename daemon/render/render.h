/* Writers: a view in, bytes out, in pieces, for a streaming answer. Each escapes for its own
 * format; names may hold any byte. */
#ifndef PFL_RENDER_RENDER_H
#define PFL_RENDER_RENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "daemon/render/view.h"

enum render_format {
	RENDER_JSON,
	RENDER_FOLDED,
	RENDER_SVG,
	RENDER_TEXT,
	RENDER_PERFDATA,
	RENDER_PPROF,
	RENDER_SPEEDSCOPE,
	RENDER_FIREFOX,
	RENDER_CHROME,
	RENDER_HTML
};
/* "json", "folded", "svg", "text", "perfdata", "pprof", "speedscope", "firefox", "chrome",
 * "html": -EINVAL otherwise. */
int render_format_parse(const char *text, enum render_format *ret_format);
/* All of them, with commas and an "or" between, for people. */
void render_format_names(struct buf *into);

/* What it makes of single samples, of which the profile may have a log. */
enum render_log {
	RENDER_LOG_UNUSED,
	RENDER_LOG_WELCOME, /* threads in the order of time, if there is one and nobody says
			       otherwise */
	RENDER_LOG_NEEDED
};
enum render_log render_log(enum render_format format);
/* Makes of a question what the format needs of its view. has_log: of the profile; by_given: whoever
 * asks has said how to tell apart. */
void render_fit_query(
	enum render_format format, bool has_log, bool by_given, struct view_query *query);
const char *render_content_type(enum render_format format);
/* What a file's name ends in, without the dot: "svg", "pb.gz". */
const char *render_extension(enum render_format format);
/* True for what a browser shows by itself; the rest is to be saved. */
bool render_is_for_browsers(enum render_format format);

struct svg_options {
	unsigned width; /* pixels; 0: 1200 */
	bool icicle;    /* root at the top */
	enum { SVG_COLOR_KIND, SVG_COLOR_MODULE, SVG_COLOR_NAME } color;
};

struct render;
/* Takes the view, on failure too. svg may be NULL. A view that compares is for json, folded, svg
 * and text alone. */
int render_new(enum render_format format, struct view *view, const struct svg_options *svg,
	struct render **ret_render);
void render_free(struct render *r);
AUTO_FREE_FN(struct render, render_free)
/* Appends some more (about 64 KiB) to into. 1: there is more; 0: done; negative errno. */
int render_more(struct render *r, struct buf *into);

/* The ledger in one line for people: "9,812 samples · 0 lost · 12 truncated · whole stacks 99.1 %".
 */
void render_ledger_line(const struct profile *p, struct buf *into);

/* Names may hold any byte. What a format cannot hold becomes U+FFFD followed by the byte's two hex
 * digits, and so does each byte of a U+FFFD that was there before: two different names stay
 * different in each format. */

/* JSON, for every writer of it in the daemon: quoted, valid UTF-8, control bytes as \u00XX. "</"
 * and "<!" come as \u003c/ and \u003c!, so that the text may stand inside a script element. */
void render_json_string(struct buf *into, const char *text, size_t len);
/* Text for XML, element or attribute. Tab, newline and return are kept, as character references. */
void render_xml_text(struct buf *into, const char *text, size_t len);
/* A label value for Prometheus, without the quotes. */
void render_label_value(struct buf *into, const char *text, size_t len);
/* One line for a terminal: no control bytes, no line ends, nothing that turns the direction of
 * writing. */
void render_plain_text(struct buf *into, const char *text, size_t len);
/* A frame of a folded stack: as plain text, with the full-width U+FF1B for ';'. */
void render_folded_text(struct buf *into, const char *text, size_t len);

#endif
