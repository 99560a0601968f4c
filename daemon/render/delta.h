/* A tree that somebody follows while it grows: what he was told, and with each new view what he has
 * to be told beyond that. Pure. */
#ifndef PFL_RENDER_DELTA_H
#define PFL_RENDER_DELTA_H

#include <stdint.h>
#include "base/buf.h"
#include "base/cleanup.h"
#include "daemon/render/view.h"

struct delta;
/* max_nodes: once so many were told, all begins anew. */
int delta_new(uint32_t max_nodes, struct delta **ret_delta);
void delta_free(struct delta *d);
AUTO_FREE_FN(struct delta, delta_free)

/* Appends one JSON object without line ends:
 *
 *   reset            true: forget all that was told before
 *   event, unit, total, samples, folded, log_short   as in the JSON of a profile
 *   modules          strings; their indexes go on from those told before, as all below do
 *   names            [text, module or -1, index of its kind]: names that are new
 *   nodes            [parent, name]: nodes that are new; 0 is the root, whose parent and name
 *                    are 0
 *   self             [node, weight, samples]: of samples that ended there, where that has changed.
 *                    Node by node the whole value, which may be less than before
 *
 * Names of one text, module and kind are one, whatever their file and line. -ENOSPC: the names take
 * more than DELTA_TEXT_MAX; -ENOMEM. After a failure, and an error of into, the next begins anew.
 */
#define DELTA_TEXT_MAX ((size_t)16 << 20)
int delta_tell(struct delta *d, const struct view *v, struct buf *into);

#endif
