/* The single samples of a view, thread by thread or process by process, for formats that hold them
 * apart, each with its stack: a node of the view, which was made with places. */
#ifndef PFL_RENDER_SERIES_H
#define PFL_RENDER_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "daemon/render/view.h"

#define SERIES_NO_THREAD UINT32_MAX

struct series {
	uint32_t process; /* PROFILE_NO_PROCESS: of none, or of all */
	uint32_t thread;  /* SERIES_NO_THREAD: not by thread */
	size_t first, count;
	uint64_t weight;
};

struct series_sample {
	uint64_t t_ns, weight; /* t_ns 0 when they are not timed: then one for each stack */
	uint32_t node;         /* of the view; 0: all of its stack was folded */
};

/* Invariant: the samples of a series follow each other in order, and in the order of their time. */
struct series_set {
	const struct view *view;
	bool timed;         /* out of the log */
	struct series *all; /* none is empty; the heaviest first */
	uint32_t count;
	uint32_t *order;  /* of samples: index in the log, or node of the profile */
	uint32_t *parent; /* by node of the view */
};

/* By thread, process or not at all, as the view's question says. The view outlives it. -ENOMEM. */
int series_make(const struct view *v, struct series_set *s);
void series_done(struct series_set *s);
struct series_sample series_sample(const struct series_set *s, size_t i);

/* "comm (tid)", "comm (pid)", and of a thread among several processes both. */
void series_name(const struct series_set *s, const struct series *one, struct buf *into);
/* What the profile is of, and its ledger, in one line. */
void series_title(const struct view *v, struct buf *into);

#endif
