/* What a frame is called in a view, and which frames are called the same. Belongs to view.c. */
#ifndef PFL_RENDER_LABELS_H
#define PFL_RENDER_LABELS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "daemon/render/view.h"
#include "daemon/tree/intern.h"

struct label_path {
	uint32_t at, count; /* in labels.path */
};

struct labels {
	const struct profile *profile;
	bool lines, fold_templates; /* as in the query */
	bool kernel_named;          /* some kernel frame has a name */
	struct arena *arena;
	struct view_name *names; /* a label is an index into it; 0 is the root's */
	uint32_t count, cap;
	struct index index;
	uint32_t *path; /* labels of frames, outermost first */
	uint32_t path_count, path_cap;
	struct label_path *of_frame; /* count 0: not asked for yet */
	uint32_t *of_process;        /* 0: not asked for yet */
	uint32_t *of_thread;
	uint32_t *process_times; /* 2: the second of its pid and comm; made when first needed */
};

/* The arena keeps what is made here; names is the caller's to take. */
int labels_init(
	struct labels *l, const struct profile *p, const struct view_query *q, struct arena *arena);
void labels_done(struct labels *l);
/* One label, and more where inlined functions stand above it. */
int labels_of_frame(struct labels *l, uint32_t frame, struct label_path *ret_path);
/* "comm (pid)". A second process that had the same pid and comm in its time reads "comm (pid) #2".
 */
int labels_of_process(struct labels *l, uint32_t process, uint32_t *ret_label);
int labels_of_thread(struct labels *l, uint32_t thread, uint32_t *ret_label);
/* The label of all kernel functions while the kernel hides their names. */
bool labels_are_hidden(const struct labels *l, uint32_t label);
/* The order of siblings. */
int labels_compare(const struct view_name *a, const struct view_name *b);

#endif
