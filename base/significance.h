/* Whether two counts of samples differ by more than chance. Pure. */
#ifndef PFL_BASE_SIGNIFICANCE_H
#define PFL_BASE_SIGNIFICANCE_H

#include <stdbool.h>
#include <stddef.h>

/* Standard errors from which on a change counts, when so many are looked at: all of them together
 * err in one comparison of twenty that have no change. */
double significance_limit(size_t tests);
/* By how many standard errors x_b of n_b is more than x_a of n_a. shares: of all samples, by the
 * pooled test of two proportions; else rates of two exposures, by that of two Poisson counts. 0
 * where five samples are not to be expected on each side, and of shares five that are not in it:
 * either test is true of many samples alone. */
double significance_z(double x_a, double n_a, double x_b, double n_b, bool shares);
/* Also at least 2 % of the larger value: less is no change that matters, however sure it is. */
bool significance_holds(double z, double limit, double value_a, double value_b);

#endif
