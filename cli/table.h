/* A table of text, as wide as its columns need or as the terminal is. */
#ifndef PFL_CLI_TABLE_H
#define PFL_CLI_TABLE_H

#include "cli/cells.h"

#define TABLE_COLUMNS 12

struct table {
	struct table_column {
		const char *title; /* the caller's, for as long as the table is there */
		enum align align;
		unsigned least;  /* cells */
		bool may_shrink; /* where the whole is too wide */
	} columns[TABLE_COLUMNS];
	unsigned column_count;
	struct table_cell {
		char *text;
		enum style style;
	} * cells; /* row by row */
	size_t count, room;
	bool failed; /* no memory */
};

void table_done(struct table *t);
void table_column(struct table *t, const char *title, enum align align, unsigned least);
/* The same, left, for names: what gives way where there is no room. */
void table_column_of_names(struct table *t, const char *title, unsigned least);
/* The next cell; rows fill from left to right. */
void table_cell(struct table *t, enum style style, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The heading and the rows, a line each, at most so many cells wide (0: any width). */
void table_write(const struct table *t, unsigned width, bool color, struct buf *out);

#endif
