/* A view for people at a terminal: what it is of, the functions by their share, then the tree. */
#include "daemon/render/text.h"

#include <errno.h>
#include <string.h>

#include "daemon/render/writer.h"

#define MIN_PERMYRIAD 50u /* rows below 0.5 % are left out */
#define ROWS_MAX      100u
#define NAME_BYTES    160u
#define MODULE_BYTES  24u
#define INDENTED      40u /* levels; deeper ones say their depth */

struct row {
	uint32_t name;
	uint64_t self, total, samples;
};

struct text {
	const struct view *view;
	struct row *rows; /* by share, after text_start() */
	uint32_t row_count, shown, at;
	enum { HEAD, ROWS, TREE } part;
};

static void text_end(void *state)
{
	struct text *t = state;

	free(t->rows);
	free(t);
}

static bool is_function(const struct view_name *n)
{
	return n->kind != VIEW_ROOT && n->kind != VIEW_PROCESS && n->kind != VIEW_THREAD;
}

/* Sums by name. A function that calls itself counts once for each stack: where it stands first. */
static int sum_rows(struct text *t)
{
	const struct view *v = t->view;
	AUTO(free_auto) uint32_t *path = malloc((view_deepest(v) + (size_t)1) * sizeof(*path));
	AUTO(free_auto) uint32_t *above = calloc(v->name_count, sizeof(*above));
	uint32_t depth = 0;

	if (!path || !above)
		return -ENOMEM;
	for (uint32_t i = 0; i < v->node_count; i++) {
		const struct view_node *n = &v->nodes[i];
		struct row *row = &t->rows[n->name];

		while (depth > n->depth)
			above[path[--depth]]--;
		row->self += n->self;
		if (above[n->name]++ == 0) {
			row->total += n->total;
			row->samples += n->samples;
		}
		path[depth++] = n->name;
	}
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->self != y->self)
		return x->self < y->self ? 1 : -1;
	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return (x->name > y->name) - (x->name < y->name);
}

static unsigned permyriad(const struct text *t, uint64_t part)
{
	if (t->view->total == 0)
		return 0;
	return (unsigned)((unsigned __int128)part * 10000 / t->view->total);
}

static void sort_rows(struct text *t)
{
	const struct view *v = t->view;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < v->name_count; i++) {
		t->rows[i].name = i;
		if (is_function(&v->names[i]) && t->rows[i].samples > 0)
			t->rows[kept++] = t->rows[i];
	}
	t->row_count = kept;
	qsort(t->rows, kept, sizeof(*t->rows), compare_rows);
	/* The rows with little self may still have much below them. */
	for (uint32_t i = 0; i < kept && t->shown < ROWS_MAX; i++) {
		if (permyriad(t, t->rows[i].self) >= MIN_PERMYRIAD ||
			permyriad(t, t->rows[i].total) >= MIN_PERMYRIAD)
			t->rows[t->shown++] = t->rows[i];
	}
}

static int text_start(const struct view *v, const struct svg_options *svg, void **ret_state)
{
	struct text *t = calloc(1, sizeof(*t));
	int r = -ENOMEM;

	if (!t)
		return -ENOMEM;
	t->view = v;
	t->rows = calloc(v->name_count + (size_t)1, sizeof(*t->rows));
	if (t->rows)
		r = sum_rows(t);
	if (r < 0) {
		text_end(t);
		return r;
	}
	sort_rows(t);
	*ret_state = t;
	return 0;
}

size_t text_plain(struct buf *into, const char *text, size_t max)
{
	size_t before = into->len;

	/* Escaping makes a byte five at most: no need to look at all of a very long name. */
	render_plain_text(into, text, strnlen(text, max + 1));
	if (into->error || into->len - before <= max)
		return into->len - before;
	into->len = before + max - 3;
	while (into->len > before && ((unsigned char)into->data[into->len] & 0xc0) == 0x80)
		into->len--;
	into->data[into->len] = 0;
	buf_append_str(into, "…");
	return into->len - before;
}

static void put_share(struct buf *into, const struct text *t, uint64_t part)
{
	unsigned p = permyriad(t, part);

	buf_printf(into, "%5u.%02u", p / 100, p % 100);
}

static void put_line(struct buf *into, const char *key, const char *text)
{
	buf_printf(into, "%-9s", key);
	text_plain(into, text, 400);
	buf_append_char(into, '\n');
}

static void put_warnings(struct buf *into, const char *lines)
{
	while (*lines) {
		size_t len = strcspn(lines, "\n");

		if (len > 0) {
			buf_append_str(into, "Warning  ");
			render_plain_text(into, lines, len);
			buf_append_char(into, '\n');
		}
		lines += len + (lines[len] == '\n');
	}
}

static void put_total(const struct text *t, struct buf *into)
{
	const struct view *v = t->view;
	const struct profile *p = v->profile;
	const struct profile_event *e = &p->events[v->query.event];

	buf_append_str(into, "Event    ");
	text_plain(into, profile_text(p, e->name), 100);
	buf_append_str(into, ", ");
	text_number(into, v->samples);
	buf_append_str(into, v->samples == 1 ? " sample, " : " samples, ");
	if (e->is_clock)
		buf_printf(into, "%llu.%03u s\n", (unsigned long long)(v->total / 1000000000u),
			(unsigned)(v->total / 1000000u % 1000u));
	else {
		text_number(into, v->total);
		buf_append_str(into, " events\n");
	}
}

static void put_head(const struct text *t, struct buf *into)
{
	const struct view *v = t->view;
	const struct profile *p = v->profile;

	buf_printf(into, "%-9s%llu", "Session", (unsigned long long)p->meta.session_id);
	if (p->meta.name) {
		buf_append_str(into, ", ");
		text_plain(into, profile_text(p, p->meta.name), 200);
	}
	buf_append_char(into, '\n');
	put_line(into, "Target", profile_text(p, p->meta.target));
	buf_printf(into, "%-9s", "Started");
	text_time(into, p->meta.started_wall_ns);
	buf_append_char(into, '\n');
	put_total(t, into);
	buf_printf(into, "%-9s", "Ledger");
	render_ledger_line(p, into);
	buf_append_char(into, '\n');
	put_warnings(into, profile_text(p, p->meta.warnings));
	if (v->log_short)
		put_line(into, "Warning", "the sample log does not reach back as far as was asked");
	buf_append_str(into,
		"\n  Self %  Total %     Samples  Kind     Module                    Function\n");
}

static void put_padded(struct buf *into, const char *text, size_t width)
{
	size_t n = text_plain(into, text, width);

	buf_printf(into, "%*s", (int)(n < width ? width - n : 0) + 2, "");
}

static void put_function(struct buf *into, const struct view_name *n)
{
	text_plain(into, n->text, NAME_BYTES);
	if (n->file[0]) {
		buf_append_str(into, " at ");
		text_plain(into, n->file, NAME_BYTES);
		buf_printf(into, ":%u", n->line);
	}
	buf_append_char(into, '\n');
}

static void put_row(const struct text *t, const struct row *row, struct buf *into)
{
	const struct view_name *n = &t->view->names[row->name];

	put_share(into, t, row->self);
	put_share(into, t, row->total);
	buf_printf(into, "%12llu  %-7s  ", (unsigned long long)row->samples,
		view_kind_name((enum view_kind)n->kind));
	put_padded(into, n->module, MODULE_BYTES);
	put_function(into, n);
}

static void put_rest(const struct text *t, struct buf *into)
{
	if (t->shown < t->row_count) {
		buf_append_str(into, "   … and ");
		text_number(into, t->row_count - t->shown);
		buf_append_str(into, " more\n");
	}
	buf_append_str(into, "\n Total %   Self %  Tree (what has less than 0.5 % is left out)\n");
}

static void put_node(const struct text *t, const struct view_node *n, struct buf *into)
{
	if (permyriad(t, n->total) < MIN_PERMYRIAD && n->depth > 0)
		return;
	put_share(into, t, n->total);
	buf_append_char(into, ' ');
	put_share(into, t, n->self);
	buf_printf(into, "  %*s", (int)(2 * (n->depth < INDENTED ? n->depth : INDENTED)), "");
	if (n->depth > INDENTED)
		buf_printf(into, "%u: ", n->depth);
	put_function(into, &t->view->names[n->name]);
}

static int text_more(void *state, struct buf *into)
{
	struct text *t = state;
	size_t until = into->len + RENDER_PIECE_BYTES;

	if (t->part == HEAD) {
		put_head(t, into);
		t->part = ROWS;
	}
	if (t->part == ROWS) {
		for (uint32_t i = 0; i < t->shown; i++)
			put_row(t, &t->rows[i], into);
		put_rest(t, into);
		t->part = TREE;
	}
	for (; t->at < t->view->node_count; t->at++) {
		if (into->len >= until || into->error)
			return 1;
		put_node(t, &t->view->nodes[t->at], into);
	}
	return 0;
}

const struct writer text_writer = {
	.name = "text",
	.content_type = "text/plain; charset=utf-8",
	.extension = "txt",
	.start = text_start,
	.more = text_more,
	.end = text_end,
};
