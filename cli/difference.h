/* What differs between two profiles, function by function, by their share of each. */
#ifndef PFL_CLI_DIFFERENCE_H
#define PFL_CLI_DIFFERENCE_H

#include "cli/tree.h"

/* Shares in percent of each profile. */
struct difference {
	const char *name, *module;
	double self_a, self_b, total_a, total_b;
	double self_z, total_z; /* how many standard deviations from chance */
};

/* Beyond that, one change in twenty is by chance. */
#define DIFFERENCE_Z 1.96

/* Of two proportions: x of n samples, in each; above 0 where b has more. 0 where nothing can be
 * said. */
double difference_z(double x_a, double n_a, double x_b, double n_b);
/* Largest change first, of self or of total; the caller frees them. The texts are the trees'. */
int difference_make(const struct tree *a, const struct tree *b, bool total,
	struct difference **ret_differences, size_t *ret_count);

#endif
