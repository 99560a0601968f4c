/* A flame graph of characters. */
#ifndef PFL_CLI_FLAMEVIEW_H
#define PFL_CLI_FLAMEVIEW_H

#include "cli/tree.h"

enum flame_color { FLAME_PLAIN, FLAME_KIND, FLAME_MODULE, FLAME_NAME };

struct flame_view {
	unsigned width;         /* cells */
	enum flame_color color; /* FLAME_PLAIN: frames are apart by bars */
	bool blocks;            /* the terminal has characters for eighths of a cell */
	bool icicle;            /* the root is at the top */
};

/* A line for each level that has a frame of at least a cell. -ENOMEM, or what out says. */
int flame_draw(const struct flame_view *v, const struct tree *t, struct buf *out);
/* A line that says what the colours of FLAME_KIND stand for. */
void flame_legend(struct buf *out);

#endif
