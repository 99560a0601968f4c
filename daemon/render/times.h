/* When samples were taken, out of a profile's log: by parts of seconds, and by thread, processor or
 * process. Pure. */
#ifndef PFL_RENDER_TIMES_H
#define PFL_RENDER_TIMES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "daemon/render/view.h"

/* Of a query, event, from_ns, to_ns, pid and tid count; event -1: the first. Errors of all:
 * -ENOMEM; -EINVAL: no such event; -ENODATA: the profile has no log. */

/* The part of a profile's time that a question and the log have in common; monotonic. */
struct times {
	uint64_t from_ns, to_ns; /* from <= t < to */
	bool log_short;          /* the question begins before the log does */
};

#define HEATMAP_ROWS_MAX    100
#define HEATMAP_SECONDS_MAX 7200

/* A column for each second since the session's start that the times touch, a row for each equal
 * part of it. Beyond HEATMAP_SECONDS_MAX the last ones. */
struct heatmap {
	struct times times;
	uint64_t first_second;
	uint32_t seconds, rows;
	uint32_t max;      /* of samples */
	uint32_t *samples; /* [second * rows + row] */
};
/* rows: 1 to HEATMAP_ROWS_MAX. */
int heatmap_make(
	const struct profile *p, const struct view_query *q, uint32_t rows, struct heatmap *ret);
void heatmap_done(struct heatmap *h);

#define TIMELINE_COLUMNS_MAX 2000
#define TIMELINE_ROWS_MAX    32

enum timeline_by { TIMELINE_THREAD, TIMELINE_CPU, TIMELINE_PROCESS };

struct timeline_row {
	int32_t id;       /* tid, processor or pid */
	pid_t pid;        /* of a thread or process; 0: of none that is known */
	const char *name; /* lent by the profile: of a thread or process */
	uint64_t total;
	uint64_t *weights; /* by column */
};

/* The heaviest come first; what has no row of its own is in others. */
struct timeline {
	struct times times;
	uint32_t columns, row_count, others_count;
	struct timeline_row rows[TIMELINE_ROWS_MAX], others;
	uint64_t *weights; /* of all rows */
};
/* columns: 1 to TIMELINE_COLUMNS_MAX. */
int timeline_make(const struct profile *p, const struct view_query *q, enum timeline_by by,
	uint32_t columns, struct timeline *ret);
void timeline_done(struct timeline *t);

#endif
