/* Two views laid upon each other: what has grown, what has shrunk, and what of that is more than
 * chance. Pure. */
#ifndef PFL_RENDER_DIFF_H
#define PFL_RENDER_DIFF_H

#include <stdbool.h>
#include <stdint.h>
#include "daemon/render/view.h"

enum diff_side { DIFF_BASE, DIFF_OTHER, DIFF_SIDES };

/* What weights are divided by, so that two of them compare. */
enum diff_norm {
	DIFF_SHARE, /* all weight of its side: rate, duration and number of processors do not matter
		     */
	DIFF_TIME,  /* nanoseconds that its side covers */
	DIFF_NONE   /* 1 */
};

struct diff_options {
	enum diff_norm norm;
	enum diff_side width; /* whose weights the view has */
	bool any_module;      /* names are the same whatever their modules */
	double min_share;     /* subtrees with less on both sides are folded */
};

struct diff_cell {
	uint64_t self, total; /* weights */
	uint64_t self_samples, samples;
};

struct diff_change {
	double delta; /* other's less base's, each divided by its scale */
	double z;     /* in standard errors of no change; 0: too few samples to tell */
	bool significant;
};

struct diff_node {
	struct diff_cell side[DIFF_SIDES];
	struct diff_change change; /* of its total */
};

/* A function that calls itself counts once for each stack. */
struct diff_function {
	uint32_t name; /* of the view */
	struct diff_cell side[DIFF_SIDES];
	struct diff_change self, total;
};

/* Belongs to the view that diff_new() makes, whose diff it is. */
struct diff {
	struct diff_options options;
	struct view *side[DIFF_SIDES];
	double scale[DIFF_SIDES];
	/* Samples that its side would have of a function with all the weight (DIFF_SHARE), or with
	 * one unit of it for each unit of the scale. */
	double exposure[DIFF_SIDES];
	double z_limit;                  /* from here on significant, see base/significance.h */
	struct diff_node *nodes;         /* those of the view, one for each */
	struct diff_function *functions; /* those whose own share has changed most come first */
	uint32_t function_count;
};

/* Names are the same when text and module are, whether inlined or not; of processes and threads,
 * without their numbers. Takes both views, on failure too. The view has the nodes of both, with the
 * weights of options->width. -ENOMEM; -ENOSPC: names take too much. */
int diff_new(struct view *base, struct view *other, const struct diff_options *options,
	struct view **ret_view);
void diff_free(struct diff *d);

/* By how much, for a colour: -4 to 4; 0: not significantly. */
int diff_step(const struct diff_change *change);

#endif
