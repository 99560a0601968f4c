#include "cli/difference.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define LEAST_SAMPLES 5    /* for the test to hold */
#define LEAST_PART    0.02 /* of the larger value: less is no change that matters */
#define ERROR_RATE    0.05

double difference_limit(size_t tests)
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

double difference_z(double x_a, double n_a, double x_b, double n_b)
{
	double p, fewer = n_a < n_b ? n_a : n_b;

	if (n_a <= 0 || n_b <= 0)
		return 0;
	p = (x_a + x_b) / (n_a + n_b);
	if (!(p * fewer >= LEAST_SAMPLES && (1 - p) * fewer >= LEAST_SAMPLES))
		return 0;
	return (x_b / n_b - x_a / n_a) / sqrt(p * (1 - p) * (1 / n_a + 1 / n_b));
}

static bool is_significant(double z, double limit, double share_a, double share_b)
{
	return fabs(z) >= limit && fabs(share_b - share_a) >= LEAST_PART * fmax(share_a, share_b);
}

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

static struct difference difference_of(
	const struct function_pair *pair, const struct tree *a, const struct tree *b, double limit)
{
	static const struct function none = {.name = "", .module = ""};
	const struct function *x = pair->a ? pair->a : &none, *y = pair->b ? pair->b : &none;

	struct difference d = {
		.name = pair->a ? x->name : y->name,
		.module = pair->a ? x->module : y->module,
		.self_a = percent(x->self, a->total),
		.self_b = percent(y->self, b->total),
		.total_a = percent(x->total, a->total),
		.total_b = percent(y->total, b->total),
	};
	double self = difference_z(x->self_samples, a->samples, y->self_samples, b->samples);
	double total = difference_z(x->total_samples, a->samples, y->total_samples, b->samples);

	d.self_significant = is_significant(self, limit, d.self_a, d.self_b);
	d.total_significant = is_significant(total, limit, d.total_a, d.total_b);
	return d;
}

static int compare(
	double change_x, double change_y, const struct difference *x, const struct difference *y)
{
	double a = fabs(change_x), b = fabs(change_y);
	int r;

	if (a != b)
		return a > b ? -1 : 1;
	r = strcmp(x->name, y->name);
	return r ? r : strcmp(x->module, y->module);
}

static int by_self(const void *a, const void *b)
{
	const struct difference *x = a, *y = b;

	return compare(x->self_b - x->self_a, y->self_b - y->self_a, x, y);
}

static int by_total(const void *a, const void *b)
{
	const struct difference *x = a, *y = b;

	return compare(x->total_b - x->total_a, y->total_b - y->total_a, x, y);
}

int difference_make(const struct tree *a, const struct tree *b, bool total,
	struct difference **ret_differences, size_t *ret_count)
{
	AUTO(free_auto) struct function *fa = NULL, *fb = NULL;
	AUTO(free_auto) struct function_pair *pairs = NULL;
	struct difference *d;
	double limit;
	size_t a_count = 0, b_count = 0, count = 0;
	int r = tree_functions(a, &fa, &a_count);

	if (r == 0)
		r = tree_functions(b, &fb, &b_count);
	if (r == 0)
		r = functions_join(fa, a_count, fb, b_count, &pairs, &count);
	if (r < 0)
		return r;
	d = calloc(count + 1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	limit = difference_limit(count);
	for (size_t i = 0; i < count; i++)
		d[i] = difference_of(&pairs[i], a, b, limit);
	qsort(d, count, sizeof(*d), total ? by_total : by_self);
	*ret_differences = d;
	*ret_count = count;
	return 0;
}
