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
	RENDER_PPROF
};
/* "json", "folded", "svg", "text", "perfdata", "pprof": -EINVAL otherwise. */
int render_format_parse(const char *text, enum render_format *ret_format);
/* True when it writes single samples, which the profile must have a log of then. */
bool render_needs_log(enum render_format format);
const char *render_content_type(enum render_format format);

struct svg_options {
	unsigned width; /* pixels; 0: 1200 */
	bool icicle;    /* root at the top */
	enum { SVG_COLOR_KIND, SVG_COLOR_MODULE, SVG_COLOR_NAME } color;
};

struct render;
/* Takes the view, on failure too. svg may be NULL. */
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
