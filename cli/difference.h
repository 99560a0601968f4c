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

/* How many standard errors are beyond chance where so many functions are tested: all of them
 * together err in one comparison of twenty. */
double difference_limit(size_t tests);
/* Standard errors of two proportions: x of n samples, in each; above 0 where b has more. 0 where
 * fewer than five samples are to be expected of either kind, in it or not. */
double difference_z(double x_a, double n_a, double x_b, double n_b);
/* Largest change first, of self or of total; the caller frees them. The texts are the trees'. */
int difference_make(const struct tree *a, const struct tree *b, bool total,
	struct difference **ret_differences, size_t *ret_count);

#endif
