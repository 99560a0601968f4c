/* The modules, or the source files, of a view's names, each once. */
#ifndef PFL_RENDER_DISTINCT_H
#define PFL_RENDER_DISTINCT_H

#include <stdint.h>
#include "daemon/render/view.h"

struct distinct {
	const char **list; /* of the view */
	uint32_t count;
	uint32_t *of_name; /* index into list */
};

/* -ENOMEM: half made, for distinct_done(). */
int distinct_modules(const struct view *v, struct distinct *d);
int distinct_files(const struct view *v, struct distinct *d);
void distinct_done(struct distinct *d);

#endif
