/* Folded stacks, as flame graph tools hand them on, into a call tree: each line is
 * "frame;frame;frame COUNT", outermost first. A frame that ends in "_[k]", "_[j]" or "_[i]" is one
 * of the kernel, of JIT code, or inlined. */
#ifndef PFL_TREE_FOLDEDIN_H
#define PFL_TREE_FOLDEDIN_H

#include "base/buf.h"
#include "daemon/tree/calltree.h"

#define FOLDEDIN_FRAMES_MAX 65536u /* of one stack */

struct foldedin_stats {
	uint64_t lines;       /* empty ones too */
	uint64_t stacks;      /* lines with one */
	uint64_t fractions;   /* counts that were rounded: "2.5" */
	uint64_t two_numbers; /* stacks with a number before their count, as files of differences
				 have */
};

/* Whoever reads along: what lies before at will not be looked at again. False: end here. */
typedef bool (*foldedin_progress_fn)(void *arg, size_t at);

/* Books the stacks of a text on event 0 below process. What the tree cannot take is on "[dropped]".
 * -EBADMSG: why reads "line 7 has no count at its end", and the tree has what was before it;
 * -ECANCELED: progress said so; -ENOMEM. */
int foldedin_read(const char *text, size_t len, struct calltree *t, uint32_t process,
	foldedin_progress_fn progress, void *arg, struct foldedin_stats *ret_stats,
	struct buf *why);

#endif
