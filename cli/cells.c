#include "cli/cells.h"

#include <string.h>

#include "base/parse.h"

#define TEXT_BYTES 4096 /* longer texts are cut: no terminal is that wide */

static const char *const style_codes[] = {
	[STYLE_BOLD] = "\033[1m",
	[STYLE_DIM] = "\033[2m",
	[STYLE_REVERSE] = "\033[7m",
	[STYLE_RED] = "\033[31m",
	[STYLE_GREEN] = "\033[32m",
	[STYLE_YELLOW] = "\033[33m",
};

void style_begin(struct buf *out, enum style style, bool color)
{
	if (color && style != STYLE_PLAIN)
		buf_append_str(out, style_codes[style]);
}

void style_end(struct buf *out, enum style style, bool color)
{
	if (color && style != STYLE_PLAIN)
		buf_append_str(out, "\033[0m");
}

unsigned cells_of_char(uint32_t code)
{
	static const struct range {
		uint32_t first, last;
	} wide[] = {{0x1100, 0x115f}, {0x2e80, 0xa4cf}, {0xac00, 0xd7a3}, {0xf900, 0xfaff},
		{0xfe30, 0xfe6f}, {0xff00, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1f64f},
		{0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};

	if ((code >= 0x300 && code <= 0x36f) || (code >= 0x200b && code <= 0x200f) ||
		(code >= 0xfe00 && code <= 0xfe0f))
		return 0;
	for (unsigned i = 0; i < sizeof(wide) / sizeof(*wide); i++)
		if (code >= wide[i].first && code <= wide[i].last)
			return 2;
	return 1;
}

/* How many bytes of clean text fill at most so many cells; *ret_cells: how many they do. */
static size_t fitting(const char *text, size_t len, unsigned cells, unsigned *ret_cells)
{
	unsigned used = 0;
	size_t at = 0;

	while (at < len) {
		uint32_t code = 0;
		size_t n = utf8_char(text + at, len - at, &code);
		unsigned width = cells_of_char(code);

		if (n == 0 || used + width > cells)
			break;
		used += width;
		at += n;
	}
	*ret_cells = used;
	return at;
}

static unsigned put_cut(struct buf *out, const char *text, unsigned cells)
{
	char clean[TEXT_BYTES];
	size_t len = text_utf8(text, strlen(text), clean, sizeof(clean)), fits;
	unsigned used;

	fits = fitting(clean, len, cells, &used);
	if (fits == len) {
		buf_append(out, clean, len);
		return used;
	}
	if (cells == 0)
		return 0;
	fits = fitting(clean, len, cells - 1, &used);
	buf_append(out, clean, fits);
	buf_append_char(out, '~');
	return used + 1;
}

unsigned cells_of(const char *text)
{
	char clean[TEXT_BYTES];
	size_t len = text_utf8(text, strlen(text), clean, sizeof(clean));
	unsigned used;

	(void)fitting(clean, len, UINT32_MAX, &used);
	return used;
}

static void pad(struct buf *out, unsigned cells)
{
	while (cells-- > 0)
		buf_append_char(out, ' ');
}

void cells_put(struct buf *out, const char *text, unsigned cells, enum align align)
{
	unsigned used;

	if (align == ALIGN_RIGHT) {
		used = cells_of(text);
		pad(out, used < cells ? cells - used : 0);
		put_cut(out, text, cells);
		return;
	}
	used = put_cut(out, text, cells);
	pad(out, cells - used);
}

unsigned cells_put_upto(struct buf *out, const char *text, unsigned cells)
{
	return put_cut(out, text, cells ? cells : UINT32_MAX);
}
