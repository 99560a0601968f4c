#include <string.h>

#include "daemon/render/render.h"

#define REPLACEMENT 0xfffdu
#define REPLACED    "\xef\xbf\xbd"
#define FOLDED_SEMI "\xef\xbc\x9b" /* U+FF1B */

/* The length of the character at text, 1 to 4, and its code point; 0: no valid UTF-8 begins there.
 */
static size_t decode(const unsigned char *text, size_t len, uint32_t *ret_cp)
{
	static const uint32_t smallest[5] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = text[0] < 0x80 ? 1
		: text[0] < 0xc2  ? 0
		: text[0] < 0xe0  ? 2
		: text[0] < 0xf0  ? 3
		: text[0] < 0xf5  ? 4
				  : 0;
	uint32_t cp = n == 1 ? text[0] : text[0] & (0x7fu >> n);

	if (n == 0 || n > len)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		cp = cp << 6 | (text[i] & 0x3fu);
	}
	if (cp < smallest[n] || cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
		return 0;
	*ret_cp = cp;
	return n;
}

static void replace(struct buf *into, const unsigned char *text, size_t len)
{
	static const char hex[] = "0123456789ABCDEF";

	for (size_t i = 0; i < len; i++) {
		char out[] = REPLACED "00";

		out[3] = hex[text[i] >> 4];
		out[4] = hex[text[i] & 15];
		buf_append(into, out, 5);
	}
}

/* What a format does with a character: 0: goes as it is; -1: is replaced; else *ret_instead stands
 * for it. */
typedef int (*escape_fn)(
	uint32_t cp, const unsigned char *text, size_t len, const char **ret_instead);

/* What every format takes as it is: nearly all of a usual name. */
static const bool plain[256] = {
	['a' ... 'z'] = true,
	['A' ... 'Z'] = true,
	['0' ... '9'] = true,
	[' '] = true,
	['_'] = true,
	[':'] = true,
	['.'] = true,
	[','] = true,
	['('] = true,
	[')'] = true,
	['['] = true,
	[']'] = true,
	['+'] = true,
	['-'] = true,
	['*'] = true,
	['/'] = true,
	['='] = true,
	['$'] = true,
	['@'] = true,
	['~'] = true,
};

static void escape(struct buf *into, const char *raw, size_t len, escape_fn fn)
{
	const unsigned char *text = (const unsigned char *)raw;
	size_t kept = 0, at = 0;

	while (at < len) {
		const char *instead = NULL;
		uint32_t cp = 0;
		size_t n;
		int what;

		if (plain[text[at]]) {
			at++;
			continue;
		}
		n = decode(text + at, len - at, &cp);
		what = n == 0 || cp == REPLACEMENT ? -1 : fn(cp, text + at, len - at, &instead);

		n += n == 0;
		if (what == 0) {
			at += n;
			continue;
		}
		buf_append(into, raw + kept, at - kept);
		if (what < 0)
			replace(into, text + at, n);
		else
			buf_append_str(into, instead);
		kept = at += n;
	}
	buf_append(into, raw + kept, len - kept);
}

static int escape_json(uint32_t cp, const unsigned char *text, size_t len, const char **ret_instead)
{
	static const char *const controls[32] = {"\\u0000", "\\u0001", "\\u0002", "\\u0003",
		"\\u0004", "\\u0005", "\\u0006", "\\u0007", "\\b", "\\t", "\\n", "\\u000b", "\\f",
		"\\r", "\\u000e", "\\u000f", "\\u0010", "\\u0011", "\\u0012", "\\u0013", "\\u0014",
		"\\u0015", "\\u0016", "\\u0017", "\\u0018", "\\u0019", "\\u001a", "\\u001b",
		"\\u001c", "\\u001d", "\\u001e", "\\u001f"};

	if (cp < 32)
		*ret_instead = controls[cp];
	else if (cp == '"')
		*ret_instead = "\\\"";
	else if (cp == '\\')
		*ret_instead = "\\\\";
	else if (cp == '<' && len > 1 && (text[1] == '/' || text[1] == '!'))
		*ret_instead = "\\u003c";
	else if (cp == 0x7f)
		*ret_instead = "\\u007f";
	return *ret_instead != NULL;
}

void render_json_string(struct buf *into, const char *text, size_t len)
{
	buf_append_char(into, '"');
	escape(into, text, len, escape_json);
	buf_append_char(into, '"');
}

static int escape_xml(uint32_t cp, const unsigned char *text, size_t len, const char **ret_instead)
{
	switch (cp) {
	case '&': *ret_instead = "&amp;"; return 1;
	case '<': *ret_instead = "&lt;"; return 1;
	case '>': *ret_instead = "&gt;"; return 1;
	case '"': *ret_instead = "&quot;"; return 1;
	case '\'': *ret_instead = "&#39;"; return 1;
	/* As they are, a parser would turn them into blanks in an attribute. */
	case '\t': *ret_instead = "&#9;"; return 1;
	case '\n': *ret_instead = "&#10;"; return 1;
	case '\r': *ret_instead = "&#13;"; return 1;
	default: break;
	}
	/* No character of XML 1.0, not even as a reference; the last are legal and yet discouraged.
	 */
	if (cp < 32 || cp == 0xfffe || cp == 0xffff || (cp >= 0x7f && cp < 0xa0))
		return -1;
	return 0;
}

void render_xml_text(struct buf *into, const char *text, size_t len)
{
	escape(into, text, len, escape_xml);
}

static int escape_label(
	uint32_t cp, const unsigned char *text, size_t len, const char **ret_instead)
{
	switch (cp) {
	case '\\': *ret_instead = "\\\\"; return 1;
	case '"': *ret_instead = "\\\""; return 1;
	case '\n': *ret_instead = "\\n"; return 1;
	default: return cp < 32 || cp == 0x7f ? -1 : 0;
	}
}

void render_label_value(struct buf *into, const char *text, size_t len)
{
	escape(into, text, len, escape_label);
}

/* Control characters of both sets, line and paragraph separators, marks that turn the direction. */
static bool unprintable(uint32_t cp)
{
	return cp < 32 || (cp >= 0x7f && cp < 0xa0) || cp == 0x200e || cp == 0x200f ||
		(cp >= 0x2028 && cp <= 0x202e) || (cp >= 0x2066 && cp <= 0x2069);
}

static int escape_plain(
	uint32_t cp, const unsigned char *text, size_t len, const char **ret_instead)
{
	return unprintable(cp) ? -1 : 0;
}

void render_plain_text(struct buf *into, const char *text, size_t len)
{
	escape(into, text, len, escape_plain);
}

static int escape_folded(
	uint32_t cp, const unsigned char *text, size_t len, const char **ret_instead)
{
	/* A name that holds the full-width one itself must not read the same. */
	if (unprintable(cp) || cp == 0xff1b)
		return -1;
	if (cp == ';')
		*ret_instead = FOLDED_SEMI;
	return *ret_instead != NULL;
}

void render_folded_text(struct buf *into, const char *text, size_t len)
{
	escape(into, text, len, escape_folded);
}
