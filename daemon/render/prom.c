#include "daemon/render/prom.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "daemon/render/render.h"

#define OPENMETRICS "application/openmetrics-text"

/* The q of one element of an Accept header, in thousandths; -1: another type. */
static int quality(const char *element, size_t len, const char *type)
{
	size_t type_len = strlen(type);
	const char *end = element + len, *at;
	double q;

	while (element < end && (*element == ' ' || *element == '\t'))
		element++;
	if ((size_t)(end - element) < type_len || strncasecmp(element, type, type_len) != 0)
		return -1;
	at = element + type_len;
	if (at < end && *at != ';' && *at != ' ' && *at != '\t')
		return -1;
	for (; at < end; at++) {
		if (*at != ';')
			continue;
		while (at + 1 < end && (at[1] == ' ' || at[1] == '\t'))
			at++;
		if (end - at < 4 || strncasecmp(at + 1, "q=", 2) != 0)
			continue;
		q = strtod(at + 3, NULL);
		return q >= 0 && q <= 1 ? (int)(q * 1000) : 0;
	}
	return 1000;
}

enum prom_format prom_format_accept(const char *accept)
{
	int open = -1, text = -1;

	while (accept && *accept) {
		size_t len = strcspn(accept, ",");
		int q = quality(accept, len, OPENMETRICS);

		open = q > open ? q : open;
		q = quality(accept, len, "text/plain");
		text = q > text ? q : text;
		accept += len + (accept[len] == ',');
	}
	return open > 0 && open >= text ? PROM_OPENMETRICS : PROM_TEXT;
}

const char *prom_content_type(enum prom_format format)
{
	if (format == PROM_OPENMETRICS)
		return OPENMETRICS "; version=1.0.0; charset=utf-8";
	return "text/plain; version=0.0.4; charset=utf-8";
}

void prom_begin(struct prom *p, enum prom_format format, struct buf *into)
{
	*p = (struct prom){.format = format, .into = into};
}

void prom_family(struct prom *p, enum prom_type type, const char *name, const char *help)
{
	static const char *const types[] = {
		[PROM_COUNTER] = "counter",
		[PROM_GAUGE] = "gauge",
		[PROM_HISTOGRAM] = "histogram",
	};
	/* OpenMetrics names a family of counters without the ending that its samples have. */
	const char *end = type == PROM_COUNTER && p->format == PROM_TEXT ? "_total" : "";

	p->type = type;
	p->family = name;
	buf_printf(p->into, "# HELP %s%s ", name, end);
	render_label_value(p->into, help, strlen(help));
	buf_printf(p->into, "\n# TYPE %s%s %s\n", name, end, types[type]);
}

/* "name_end{a="b"," up to where the value goes. more: one more label. */
static void put_series(struct prom *p, const char *end, const struct prom_label *labels,
	unsigned count, const char *more_name, const char *more_value)
{
	unsigned all = count + (more_name != NULL);

	buf_append_str(p->into, p->family);
	buf_append_str(p->into, end);
	for (unsigned i = 0; i < all; i++) {
		const char *name = i < count ? labels[i].name : more_name;
		const char *value = i < count ? labels[i].value : more_value;

		buf_printf(p->into, "%c%s=\"", i ? ',' : '{', name);
		render_label_value(p->into, value, strlen(value));
		buf_append_char(p->into, '"');
	}
	buf_append_str(p->into, all ? "} " : " ");
}

/* The fewest digits that read back as the same; a whole number keeps ".0", which OpenMetrics wants
 * of bounds. */
static const char *format_double(double x, char *out, size_t room)
{
	if (isnan(x))
		return "NaN";
	if (isinf(x))
		return x > 0 ? "+Inf" : "-Inf";
	if (fabs(x) < 1e15 && x == (double)(int64_t)x) {
		snprintf(out, room, "%.1f", x);
		return out;
	}
	for (int digits = 1; digits <= 17; digits++) {
		snprintf(out, room, "%.*g", digits, x);
		if (strtod(out, NULL) == x)
			break;
	}
	return out;
}

static void put_double(struct prom *p, double x)
{
	char text[40];

	buf_append_str(p->into, format_double(x, text, sizeof(text)));
	buf_append_char(p->into, '\n');
}

static const char *ending(const struct prom *p)
{
	return p->type == PROM_COUNTER ? "_total" : "";
}

void prom_u64(struct prom *p, const struct prom_label *labels, unsigned count, uint64_t value)
{
	put_series(p, ending(p), labels, count, NULL, NULL);
	buf_append_u64(p->into, value);
	buf_append_char(p->into, '\n');
}

void prom_double(struct prom *p, const struct prom_label *labels, unsigned count, double value)
{
	put_series(p, ending(p), labels, count, NULL, NULL);
	put_double(p, value);
}

void prom_histogram(struct prom *p, const struct prom_label *labels, unsigned count,
	const double *bounds, const uint64_t *counts, unsigned bound_count, double sum)
{
	uint64_t all = 0;

	for (unsigned i = 0; i <= bound_count; i++) {
		char bound[40];

		all += counts[i];
		put_series(p, "_bucket", labels, count, "le",
			i < bound_count ? format_double(bounds[i], bound, sizeof(bound)) : "+Inf");
		buf_append_u64(p->into, all);
		buf_append_char(p->into, '\n');
	}
	put_series(p, "_sum", labels, count, NULL, NULL);
	put_double(p, sum);
	put_series(p, "_count", labels, count, NULL, NULL);
	buf_append_u64(p->into, all);
	buf_append_char(p->into, '\n');
}

int prom_end(struct prom *p)
{
	if (p->format == PROM_OPENMETRICS)
		buf_append_str(p->into, "# EOF\n");
	return p->into->error;
}
