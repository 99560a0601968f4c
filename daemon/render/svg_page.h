/* The parts of a flame graph around its boxes: ledger, style, script; its head is in svg_head.h. */
#ifndef PFL_RENDER_SVG_PAGE_H
#define PFL_RENDER_SVG_PAGE_H

#include "base/buf.h"
#include "daemon/render/svg_plan.h"
#include "daemon/render/view.h"

void svg_page_begin(const struct view *view, const struct svg_plan *plan, struct buf *into);
void svg_page_end(const struct view *view, const struct svg_plan *plan, struct buf *into);

/* What was profiled, for people. */
const char *svg_target(const struct view *view);
/* The event that the view shows. */
const struct profile_event *svg_event(const struct view *view);
/* "12.34%": of whole, 0 of nothing. */
void svg_share(struct buf *into, uint64_t part, uint64_t whole);
/* Nanoseconds for people: "1.23 s", "45.6 ms", "789 us". */
void svg_time(struct buf *into, uint64_t ns);

#endif
