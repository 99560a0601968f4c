#include "cli/difference.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/significance.h"

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
	double self =
		significance_z(x->self_samples, a->samples, y->self_samples, b->samples, true);
	double total =
		significance_z(x->total_samples, a->samples, y->total_samples, b->samples, true);

	d.self_significant = significance_holds(self, limit, d.self_a, d.self_b);
	d.total_significant = significance_holds(total, limit, d.total_a, d.total_b);
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
	limit = significance_limit(count);
	for (size_t i = 0; i < count; i++)
		d[i] = difference_of(&pairs[i], a, b, limit);
	qsort(d, count, sizeof(*d), total ? by_total : by_self);
	*ret_differences = d;
	*ret_count = count;
	return 0;
}
