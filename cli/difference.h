/* What differs between two profiles, function by function, by their share of each. */
#ifndef PFL_CLI_DIFFERENCE_H
#define PFL_CLI_DIFFERENCE_H

#include "cli/tree.h"

/* Shares in percent of each profile. */
struct difference {
	const char *name, *module;
	double self_a, self_b, total_a, total_b;
	bool self_significant, total_significant; /* the daemon's rule in GET /v1/diff */
};

/* Largest change first, of self or of total; the caller frees them. The texts are the trees'. */
int difference_make(const struct tree *a, const struct tree *b, bool total,
	struct difference **ret_differences, size_t *ret_count);

#endif
