/* The flame graph: one SVG file that needs nothing else. It reads well without its script, in an
 * image viewer; with it, in a browser, one can zoom, search, flip and recolour it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/render/diff.h"
#include "daemon/render/svg_head.h"
#include "daemon/render/svg_label.h"
#include "daemon/render/svg_page.h"
#include "daemon/render/svg_plan.h"
#include "daemon/render/text.h"
#include "daemon/render/writer.h"

/* Where the siblings at one depth have got to. */
struct edge {
	uint64_t next;  /* where the next child begins */
	uint64_t drawn; /* where the script takes it to begin: what was left out is not in the file
			 */
};

enum phase { PHASE_BEGIN, PHASE_NODES, PHASE_END, PHASE_DONE };

struct svg {
	const struct view *view;
	struct svg_plan plan;
	struct edge *edges;    /* by depth */
	uint32_t at;           /* node */
	uint32_t hidden_depth; /* nodes deeper than this one are below one that is left out */
	enum phase phase;
	bool is_clock;
};

static void svg_end(void *state)
{
	struct svg *w = state;

	svg_plan_done(&w->plan);
	free(w->edges);
	free(w);
}

static int svg_start(const struct view *v, const struct svg_options *options, void **ret_state)
{
	struct svg *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	w->view = v;
	w->hidden_depth = UINT32_MAX;
	w->is_clock = svg_event(v)->is_clock;
	r = svg_plan_init(&w->plan, v, options);
	if (r == 0) {
		w->plan.head = svg_head_height(v, &w->plan);
		w->edges = calloc(w->plan.rows + (size_t)1, sizeof(*w->edges));
		r = w->edges ? 0 : -ENOMEM;
	}
	if (r < 0) {
		svg_end(w);
		return r;
	}
	*ret_state = w;
	return 0;
}

static void put_tenths(struct buf *into, uint32_t tenths)
{
	buf_append_u64(into, tenths / 10);
	if (tenths % 10) {
		buf_append_char(into, '.');
		buf_append_char(into, (char)('0' + tenths % 10));
	}
}

static void put_attribute(struct buf *into, const char *name, uint32_t tenths)
{
	buf_append_str(into, name);
	put_tenths(into, tenths);
}

/* By how much a node of a comparison has changed, and not by what it is. */
static void put_change_class(struct buf *into, const struct diff_change *change)
{
	buf_append_char(into, 'd');
	buf_append_u64(into, (unsigned)(diff_step(change) + 4));
}

static void put_class(struct buf *into, const struct svg_paint *paint)
{
	char class[] = {svg_hue_letter(paint->hue), (char)('0' + paint->shade)};

	buf_append(into, class, sizeof(class));
	if (paint->hue == SVG_ROOT || paint->hue == SVG_LEVEL)
		return;
	buf_append_str(into, " m");
	buf_append_u64(into, paint->module);
	if (paint->hue == SVG_UNNAMED)
		return;
	buf_append_str(into, " n");
	buf_append_u64(into, paint->name);
}

static void put_more(struct buf *into, const char *text)
{
	buf_append_str(into, " · ");
	render_xml_text(into, text, strlen(text));
}

/* "12.34% of base, 45.60% of other, z 5.3" */
static void put_change(const struct diff *d, const struct diff_node *n, struct buf *into)
{
	const struct view *base = d->side[DIFF_BASE], *other = d->side[DIFF_OTHER];

	buf_append_str(into, " · ");
	svg_share(into, n->side[DIFF_BASE].total, base->total);
	buf_append_str(into, " of base, ");
	svg_share(into, n->side[DIFF_OTHER].total, other->total);
	buf_append_str(into, " of other");
	if (n->change.significant)
		buf_printf(into, ", z %+.1f", n->change.z);
	else
		buf_append_str(into, ", no significant change");
}

/* "name (1,234 samples, 12.34%)" is the form that tools for flame graphs read back; what else is
 * known stands on a second line. */
static void put_title(const struct svg *w, const struct view_node *n, struct buf *into)
{
	const struct view_name *name = &w->view->names[n->name];

	buf_append_str(into, "<title>");
	render_xml_text(into, name->text, strlen(name->text));
	buf_append_str(into, " (");
	text_number(into, n->samples);
	buf_append_str(into, n->samples == 1 ? " sample, " : " samples, ");
	svg_share(into, n->total, w->view->total);
	buf_append_str(into, ")\n");
	if (w->is_clock) {
		svg_time(into, n->total);
	} else {
		text_number(into, n->total);
		buf_append_str(into, " events");
	}
	if (n->self) {
		buf_append_str(into, " · self ");
		svg_share(into, n->self, w->view->total);
	}
	if (name->kind == VIEW_INLINED)
		put_more(into, "inlined");
	if (name->module[0])
		put_more(into, name->module);
	if (name->file[0]) {
		put_more(into, name->file);
		if (name->line) {
			buf_append_char(into, ':');
			buf_append_u64(into, name->line);
		}
	}
	if (w->view->diff)
		put_change(w->view->diff, &w->view->diff->nodes[n - w->view->nodes], into);
	buf_append_str(into, "</title>");
}

static bool is_code(const struct view_name *name)
{
	return name->kind == VIEW_USER || name->kind == VIEW_KERNEL || name->kind == VIEW_JIT ||
		name->kind == VIEW_INLINED;
}

static void put_label(const struct svg *w, const struct view_name *name, uint32_t x, uint32_t y,
	uint32_t width, struct buf *into)
{
	/* A fixed-width letter is 0.6 of its height wide, and 3 px stay free on each side. */
	uint32_t cells = w->plan.font && width > 60 ? (width - 60) / (w->plan.font * 6) : 0;

	if (cells < SVG_LABEL_MIN_CELLS)
		return;
	put_attribute(into, "<text x=\"", x + 30);
	put_attribute(into, "\" y=\"", y + w->plan.row * 7 / 10);
	buf_append_str(into, name->kind == VIEW_INLINED ? "\" class=\"il\">" : "\">");
	svg_label(name->text, is_code(name), cells, into);
	buf_append_str(into, "</text>");
}

static void put_box(const struct svg *w, const struct view_node *n, uint64_t start, uint64_t gap,
	struct buf *into)
{
	const struct svg_plan *p = &w->plan;
	const struct view_name *name = &w->view->names[n->name];
	uint32_t x = svg_plan_x(p, w->view, start);
	uint32_t width = w->view->total ? svg_plan_x(p, w->view, start + n->total) - x : p->inner;
	uint32_t level = p->options.icicle ? n->depth : p->rows - 1 - n->depth;
	uint32_t y = level * p->row;

	buf_append_str(into, "<rect class=\"");
	if (w->view->diff && n->depth > 0)
		put_change_class(into, &w->view->diff->nodes[n - w->view->nodes].change);
	else
		put_class(into, &p->paints[n->name]);
	buf_append_str(into, "\" data-w=\"");
	buf_append_u64(into, n->depth);
	buf_append_char(into, ' ');
	buf_append_u64(into, n->total);
	if (gap) {
		buf_append_char(into, ' ');
		buf_append_u64(into, gap);
	}
	put_attribute(into, "\" x=\"", x);
	put_attribute(into, "\" y=\"", y);
	/* A hair of paper between neighbours, where they are wide enough to spare it. */
	put_attribute(into, "\" width=\"", width >= 30 ? width - 6 : width);
	put_attribute(into, "\" height=\"", p->row - p->gap);
	buf_append_str(into, width >= 80 && p->font ? "\" rx=\"2\">" : "\">");
	put_title(w, n, into);
	buf_append_str(into, "</rect>");
	put_label(w, name, x, y, width, into);
	buf_append_char(into, '\n');
}

static void put_node(struct svg *w, const struct view_node *n, struct buf *into)
{
	struct edge *edge;
	uint64_t start;

	if (n->depth > w->hidden_depth)
		return;
	w->hidden_depth = UINT32_MAX;
	/* Its parent is drawn: the edges reach as deep as this. */
	edge = &w->edges[n->depth];
	if (n->total < w->plan.min_weight) {
		w->hidden_depth = n->depth;
		edge->next += n->total;
		return;
	}
	start = edge->next;
	put_box(w, n, start, start - edge->drawn, into);
	edge->next = edge->drawn = start + n->total;
	edge[1].next = edge[1].drawn = start;
}

static int svg_more(void *state, struct buf *into)
{
	struct svg *w = state;
	size_t enough = into->len + RENDER_PIECE_BYTES;

	if (w->phase == PHASE_BEGIN) {
		svg_page_begin(w->view, &w->plan, into);
		w->phase = PHASE_NODES;
	}
	while (w->phase == PHASE_NODES && into->len < enough && !into->error) {
		if (w->at == w->view->node_count)
			w->phase = PHASE_END;
		else
			put_node(w, &w->view->nodes[w->at++], into);
	}
	if (w->phase == PHASE_END) {
		svg_page_end(w->view, &w->plan, into);
		w->phase = PHASE_DONE;
	}
	return w->phase != PHASE_DONE;
}

const struct writer svg_writer = {
	.name = "svg",
	.content_type = "image/svg+xml; charset=utf-8",
	.extension = "svg",
	.start = svg_start,
	.more = svg_more,
	.end = svg_end,
};
