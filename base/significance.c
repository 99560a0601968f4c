#include "base/significance.h"

#include <math.h>

#define LEAST_SAMPLES 5
#define LEAST_PART    0.02
#define ERROR_RATE    0.05

double significance_limit(size_t tests)
{
	double low = 1.96, high = 20, error = ERROR_RATE / (tests ? (double)tests : 1);

	for (int i = 0; i < 60; i++) {
		double z = (low + high) / 2;

		if (erfc(z / sqrt(2)) > error)
			low = z;
		else
			high = z;
	}
	return high;
}

double significance_z(double x_a, double n_a, double x_b, double n_b, bool shares)
{
	double p, rest, fewer = n_a < n_b ? n_a : n_b;

	if (n_a <= 0 || n_b <= 0)
		return 0;
	p = (x_a + x_b) / (n_a + n_b);
	rest = shares ? 1 - p : 1;
	if (!(p * fewer >= LEAST_SAMPLES && (!shares || rest * fewer >= LEAST_SAMPLES)))
		return 0;
	return (x_b / n_b - x_a / n_a) / sqrt(p * rest * (1 / n_a + 1 / n_b));
}

bool significance_holds(double z, double limit, double value_a, double value_b)
{
	return fabs(z) >= limit && fabs(value_b - value_a) >= LEAST_PART * fmax(value_a, value_b);
}
