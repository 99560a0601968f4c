/* Metrics as text for Prometheus: the classic text format and OpenMetrics, from one description.
 * Names and helps are the caller's own and plain; label values may hold any byte. */
#ifndef PFL_RENDER_PROM_H
#define PFL_RENDER_PROM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"

enum prom_format { PROM_TEXT, PROM_OPENMETRICS };
enum prom_type { PROM_COUNTER, PROM_GAUGE, PROM_HISTOGRAM };

struct prom_label {
	const char *name, *value;
};

struct prom {
	enum prom_format format;
	enum prom_type type; /* of the family at hand */
	const char *family;
	struct buf *into;
};

/* By an Accept header (NULL: none): OpenMetrics only for those who ask for it at least as much. */
enum prom_format prom_format_accept(const char *accept);
const char *prom_content_type(enum prom_format format);

/* into is lent until prom_end(). */
void prom_begin(struct prom *p, enum prom_format format, struct buf *into);
/* Begins a family, all of whose samples follow before the next one begins; each family once. name
 * has no "_total": it is added to counters, where the format wants it. name is lent while the
 * family lasts. */
void prom_family(struct prom *p, enum prom_type type, const char *name, const char *help);
/* One sample of a counter or gauge. */
void prom_u64(struct prom *p, const struct prom_label *labels, unsigned count, uint64_t value);
void prom_double(struct prom *p, const struct prom_label *labels, unsigned count, double value);
/* counts[i] are those at most bounds[i] and more than the bound before, counts[bound_count] those
 * above all; not cumulative: that is done here. Bounds ascend; sum is of all values. */
void prom_histogram(struct prom *p, const struct prom_label *labels, unsigned count,
	const double *bounds, const uint64_t *counts, unsigned bound_count, double sum);
/* The buffer's error, or 0. */
int prom_end(struct prom *p);

#endif
