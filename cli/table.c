#include "cli/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GAP         2
#define NAMES_LEAST 8

void table_done(struct table *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->cells[i].text);
	free(t->cells);
	*t = (struct table){0};
}

void table_column(struct table *t, const char *title, enum align align, unsigned least)
{
	if (t->column_count < TABLE_COLUMNS)
		t->columns[t->column_count++] = (struct table_column){title, align, least, false};
}

void table_column_of_names(struct table *t, const char *title, unsigned least)
{
	table_column(t, title, ALIGN_LEFT, least);
	t->columns[t->column_count - 1].may_shrink = true;
}

static bool make_room(struct table *t)
{
	size_t room = t->room ? 2 * t->room : 64;
	struct table_cell *cells;

	if (t->count < t->room)
		return true;
	cells = realloc(t->cells, room * sizeof(*cells));
	if (!cells)
		return false;
	t->cells = cells;
	t->room = room;
	return true;
}

void table_cell(struct table *t, enum style style, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	if (!text || !make_room(t)) {
		free(text);
		t->failed = true;
		return;
	}
	t->cells[t->count++] = (struct table_cell){text, style};
}

static void measure(const struct table *t, unsigned *widths)
{
	for (unsigned c = 0; c < t->column_count; c++) {
		unsigned title = cells_of(t->columns[c].title);

		widths[c] = title > t->columns[c].least ? title : t->columns[c].least;
	}
	for (size_t i = 0; i < t->count; i++) {
		unsigned cells = cells_of(t->cells[i].text), c = (unsigned)(i % t->column_count);

		if (cells > widths[c])
			widths[c] = cells;
	}
}

static unsigned sum_of(const struct table *t, const unsigned *widths)
{
	unsigned all = GAP * (t->column_count - 1);

	for (unsigned c = 0; c < t->column_count; c++)
		all += widths[c];
	return all;
}

/* The widest column of names gives a cell, until it fits or none has any to give. */
static void shrink(const struct table *t, unsigned *widths, unsigned width)
{
	for (unsigned all = sum_of(t, widths); all > width; all--) {
		unsigned widest = t->column_count;

		for (unsigned c = 0; c < t->column_count; c++)
			if (t->columns[c].may_shrink && widths[c] > NAMES_LEAST &&
				(widest == t->column_count || widths[c] > widths[widest]))
				widest = c;
		if (widest == t->column_count)
			return;
		widths[widest]--;
	}
}

/* Without blanks at the end of the line. */
static void put_one(struct buf *out, const char *text, unsigned cells, enum align align, bool last)
{
	if (last && align == ALIGN_LEFT)
		cells_put_upto(out, text, cells);
	else
		cells_put(out, text, cells, align);
}

/* The columns that the line has room for; the last one is cut where it ends. */
static void put_line(const struct table *t, const unsigned *widths, unsigned width,
	const struct table_cell *cells, bool color, struct buf *out)
{
	unsigned left = width;

	for (unsigned c = 0; c < t->column_count; c++) {
		enum style style = cells ? cells[c].style : STYLE_PLAIN;
		unsigned cut = widths[c] < left ? widths[c] : left;

		style_begin(out, style, color);
		put_one(out, cells ? cells[c].text : t->columns[c].title, cut, t->columns[c].align,
			c + 1 == t->column_count);
		style_end(out, style, color);
		left -= cut;
		if (c + 1 == t->column_count || left <= GAP)
			break;
		buf_append_str(out, "  ");
		left -= GAP;
	}
}

void table_write(const struct table *t, unsigned width, bool color, struct buf *out)
{
	unsigned widths[TABLE_COLUMNS];

	if (t->column_count == 0)
		return;
	if (width == 0)
		width = UINT32_MAX;
	measure(t, widths);
	shrink(t, widths, width);
	style_begin(out, STYLE_BOLD, color);
	put_line(t, widths, width, NULL, color, out);
	style_end(out, STYLE_BOLD, color);
	buf_append_char(out, '\n');
	for (size_t i = 0; i + t->column_count <= t->count; i += t->column_count) {
		put_line(t, widths, width, t->cells + i, color, out);
		buf_append_char(out, '\n');
	}
}
