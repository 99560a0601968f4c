/* Text in the cells of a terminal: its width, and its colours. */
#ifndef PFL_CLI_CELLS_H
#define PFL_CLI_CELLS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"

enum style {
	STYLE_PLAIN,
	STYLE_BOLD,
	STYLE_DIM,
	STYLE_REVERSE,
	STYLE_RED,
	STYLE_GREEN,
	STYLE_YELLOW
};

/* Switch a style on and all off again; nothing where color is not set or for STYLE_PLAIN. */
void style_begin(struct buf *out, enum style style, bool color);
void style_end(struct buf *out, enum style style, bool color);

/* Of a character: 0 (combining), 1 or 2 (East Asian, pictures). */
unsigned cells_of_char(uint32_t code);
/* Of UTF-8; control bytes and what is no UTF-8 count as the mark that stands for them. */
unsigned cells_of(const char *text);
enum align { ALIGN_LEFT, ALIGN_RIGHT };
/* Exactly so many cells: padded, or cut with "~" at the end. Control bytes become U+FFFD. */
void cells_put(struct buf *out, const char *text, unsigned cells, enum align align);
/* As much as there is, but at most so many cells, cut with "~"; 0 is any number. Answers how many.
 */
unsigned cells_put_upto(struct buf *out, const char *text, unsigned cells);

#endif
