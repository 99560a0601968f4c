/* What the lines of one function have cost, out of a view that tells lines apart. Pure. */
#ifndef PFL_RENDER_SOURCELINES_H
#define PFL_RENDER_SOURCELINES_H

#include <stdbool.h>
#include <stdint.h>
#include "daemon/render/view.h"

struct source_line {
	const char *file; /* lent by the view; "": not known */
	uint32_t line;    /* 0: not known */
	uint64_t self;    /* weights: in this line; and with what it has called, recursion once */
	uint64_t total;
	uint64_t samples; /* of self */
};

/* Of the file that has most of it, where a function of that name is in several. */
struct source_lines {
	const char *file;
	struct source_line *lines; /* by line, each once */
	uint32_t count;
	uint32_t other_files;
	bool in_container; /* some process that runs it is in one */
};
/* module "": whatever it is. -ENOENT: nobody ran such a function; -ENOMEM. */
int source_lines_make(
	const struct view *v, const char *function, const char *module, struct source_lines *ret);
void source_lines_done(struct source_lines *s);

#endif
