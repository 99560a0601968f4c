/* One line for each stack: "frame;frame;frame COUNT", outermost first. COUNT is in samples, so that
 * the lines sum up to those of the session. The format knows no escape: see render_folded_text().
 * What was folded into the root by depth or share stands in a frame "[folded]". Of a comparison
 * each line has two counts, of base and other, as tools for differential flame graphs read them;
 * that of base is what it would be with as many samples as other has. */
#include <errno.h>
#include <string.h>

#include "daemon/render/diff.h"
#include "daemon/render/writer.h"

#define COUNT_MAX ((uint64_t)1 << 62) /* of a forged profile */

struct folded {
	const struct view *view;
	uint32_t at;       /* next node */
	struct buf prefix; /* the frames above it, each with its ';' */
	size_t *ends;      /* by depth: of prefix with the frame at that depth */
};

static void folded_end(void *state)
{
	struct folded *f = state;

	buf_done(&f->prefix);
	free(f->ends);
	free(f);
}

static int folded_start(const struct view *v, const struct svg_options *svg, void **ret_state)
{
	struct folded *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->view = v;
	f->ends = calloc(view_deepest(v) + (size_t)1, sizeof(*f->ends));
	if (!f->ends) {
		folded_end(f);
		return -ENOMEM;
	}
	*ret_state = f;
	return 0;
}

/* How many samples of base one of other's stands for. */
static uint64_t base_count(const struct diff *d, uint32_t node)
{
	const double *exposure = d->exposure;
	uint64_t samples = d->nodes[node].side[DIFF_BASE].self_samples;
	double scaled;

	if (exposure[DIFF_BASE] <= 0 || exposure[DIFF_OTHER] <= 0)
		return samples;
	scaled = (double)samples * exposure[DIFF_OTHER] / exposure[DIFF_BASE] + 0.5;
	return scaled < (double)COUNT_MAX ? (uint64_t)scaled : COUNT_MAX;
}

/* False: nothing ended there. */
static bool add_counts(const struct view *v, uint32_t node, struct buf *counts)
{
	uint64_t base, other;

	if (!v->diff) {
		buf_append_u64(counts, v->nodes[node].self_samples);
		return v->nodes[node].self_samples > 0;
	}
	base = base_count(v->diff, node);
	other = v->diff->nodes[node].side[DIFF_OTHER].self_samples;
	buf_append_u64(counts, base);
	buf_append_char(counts, ' ');
	buf_append_u64(counts, other);
	return base > 0 || other > 0;
}

static void add_line(struct folded *f, const struct view_node *n, struct buf *into)
{
	const char *name = f->view->names[n->name].text;
	AUTO(buf_done) struct buf counts = BUF_INIT;

	/* Preorder: the node's parent is the last one at the depth above. */
	f->prefix.len = n->depth > 1 ? f->ends[n->depth - 1] : 0;
	if (n->depth > 0) {
		render_folded_text(&f->prefix, name, strlen(name));
		buf_append_char(&f->prefix, ';');
	}
	f->ends[n->depth] = f->prefix.len;
	if (!add_counts(f->view, (uint32_t)(n - f->view->nodes), &counts) || counts.error)
		return;
	if (n->depth > 0)
		buf_append(into, f->prefix.data, f->prefix.len - 1);
	else
		buf_append_str(into, "[folded]");
	buf_append_char(into, ' ');
	buf_append(into, counts.data, counts.len);
	buf_append_char(into, '\n');
}

static int folded_more(void *state, struct buf *into)
{
	struct folded *f = state;
	size_t before = into->len;

	while (f->at < f->view->node_count && into->len - before < RENDER_PIECE_BYTES &&
		!into->error)
		add_line(f, &f->view->nodes[f->at++], into);
	if (f->prefix.error)
		return f->prefix.error;
	return f->at < f->view->node_count;
}

const struct writer folded_writer = {
	.name = "folded",
	.content_type = "text/plain; charset=utf-8",
	.extension = "folded",
	.start = folded_start,
	.more = folded_more,
	.end = folded_end,
};
