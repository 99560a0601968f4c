/* The head of a flame graph: title, what was sampled and how, legend. */
#ifndef PFL_RENDER_SVG_HEAD_H
#define PFL_RENDER_SVG_HEAD_H

#include <stdint.h>
#include "base/buf.h"
#include "daemon/render/svg_plan.h"
#include "daemon/render/view.h"

/* In pixels, for plan->head: SVG_HEAD, and more where the width needs more lines. */
uint32_t svg_head_height(const struct view *view, const struct svg_plan *plan);
void svg_head(const struct view *view, const struct svg_plan *plan, struct buf *into);

#endif
