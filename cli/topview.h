/* What top and watch show: a head, the functions, and a line about keys. */
#ifndef PFL_CLI_TOPVIEW_H
#define PFL_CLI_TOPVIEW_H

#include "cli/tree.h"

#define TOP_FILTER_BYTES 64

struct top_view {
	const char *title;  /* what is profiled */
	const char *state;  /* "running" or how it ended */
	const char *ledger; /* one line: what is missing */
	const char *event, *window;
	double elapsed_s, samples; /* of the session, of the window */
	double duration_s;         /* 0: until it is stopped */
	bool by_total, paused;
	bool changes; /* with what changed since the window before */
	bool keys;    /* there is a line about keys */
	bool typing;  /* the filter */
	char filter[TOP_FILTER_BYTES];
	unsigned first;         /* rows that are scrolled away */
	unsigned lines;         /* 0: as many as there is room for */
	unsigned width, height; /* 0, 0: a page without end */
	bool color;
};

/* f: sorted, those of the window; total: its weight. before: those of the window before, by name,
 * with their weight; NULL: none. Clamps v->first to what is there. */
struct top_rows {
	const struct function *f;
	size_t count;
	double total;
	const struct function *before;
	size_t before_count;
	double before_total;
};
void top_layout(struct top_view *v, const struct top_rows *rows, struct buf *out);
/* Takes a key of screen_key(). False: it asks for the end. */
bool top_key(struct top_view *v, int key);

#endif
