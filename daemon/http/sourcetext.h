/* The text of a source file, as far as the engine's own user may read what everybody may. */
#ifndef PFL_HTTP_SOURCETEXT_H
#define PFL_HTTP_SOURCETEXT_H

#include "base/buf.h"

/* path comes from a program's debug information, which anybody can have written: what is no plain
 * file that all users may read stays unread. NULL, or why not: half a sentence. */
const char *sourcetext_read(const char *path, struct buf *into);

/* Reads line by line. All zero but the text at the begin. */
struct sourcetext_cursor {
	const struct buf *text;
	size_t at; /* where line number passed + 1 begins */
	uint32_t passed;
};
/* Line number line, from 1 and after those before; NULL: there are fewer. *ret_len without its end.
 */
const char *sourcetext_line(struct sourcetext_cursor *c, uint32_t line, size_t *ret_len);

#endif
