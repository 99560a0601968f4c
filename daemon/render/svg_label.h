/* Short forms of function names for boxes that cannot hold them whole. */
#ifndef PFL_RENDER_SVG_LABEL_H
#define PFL_RENDER_SVG_LABEL_H

#include <stdbool.h>
#include "base/buf.h"

#define SVG_LABEL_MIN_CELLS 3

/* Appends name as XML text in at most cells columns of a fixed-width font; nothing when cells is
 * under SVG_LABEL_MIN_CELLS. code: a function's name, of which return type, arguments, scopes and
 * template arguments may go before letters are cut. The script has the same rules. */
void svg_label(const char *name, bool code, unsigned cells, struct buf *into);

#endif
