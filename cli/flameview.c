#include "cli/flameview.h"

#include <errno.h>
#include <string.h>

#include "base/map.h"
#include "cli/cells.h"

#define PARTS      8 /* of a cell */
#define NAME_LEAST 3 /* cells; a shorter name tells nothing */
#define INK        16
#define TONES      4
#define BLANK      UINT32_MAX

/* Of the 256 colours of a terminal: the hues of the picture in SVG. */
static const unsigned char tones[][TONES] = {
	[TREE_GROUP] = {252, 250, 251, 253},
	[TREE_USER] = {215, 222, 209, 221},
	[TREE_KERNEL] = {110, 117, 74, 111},
	[TREE_JIT] = {115, 121, 79, 114},
	[TREE_INLINED] = {229, 228, 227, 230},
	[TREE_SPECIAL] = {248, 247, 249, 246},
};
static const unsigned char hues[] = {
	215, 222, 110, 117, 115, 121, 229, 182, 175, 150, 180, 216, 152, 189, 223, 186};

static unsigned color_of(const struct flame_view *v, const struct tree_name *n, unsigned shift)
{
	const char *text = v->color == FLAME_MODULE ? n->module : n->text;
	uint64_t hash = hash_bytes(text, strlen(text), 0);

	if (n->kind == TREE_GROUP || v->color == FLAME_KIND)
		return tones[n->kind][(hash + shift) % TONES];
	return hues[(hash + shift) % sizeof(hues)];
}

/* One level: which node each part of a cell belongs to. */
struct level {
	uint32_t *owner; /* width * PARTS; BLANK: none */
	bool has_cell;   /* one of them is at least a cell wide */
};

struct drawing {
	const struct flame_view *view;
	const struct tree *tree;
	struct level *levels;
	uint32_t level_count;
	size_t parts; /* of a line */
};

static void drawing_done(struct drawing *d)
{
	for (uint32_t i = 0; d->levels && i < d->level_count; i++)
		free(d->levels[i].owner);
	free(d->levels);
}

static int make_levels(struct drawing *d)
{
	for (size_t i = 0; i < d->tree->node_count; i++)
		if (d->tree->nodes[i].depth >= d->level_count)
			d->level_count = d->tree->nodes[i].depth + 1;
	d->levels = calloc((size_t)d->level_count + 1, sizeof(*d->levels));
	return d->levels ? 0 : -ENOMEM;
}

/* Sums of a hostile file may be anything. */
static size_t whole_part(const struct drawing *d, double at)
{
	if (!(at > 0))
		return 0;
	return at < (double)d->parts ? (size_t)(at + 0.5) : d->parts;
}

static int paint(struct drawing *d, uint32_t node, double from, double to)
{
	struct level *l = &d->levels[d->tree->nodes[node].depth];
	size_t first = whole_part(d, from), last = whole_part(d, to);

	if (first >= last)
		return 0;
	if (!l->owner) {
		l->owner = malloc(d->parts * sizeof(*l->owner));
		if (!l->owner)
			return -ENOMEM;
		memset(l->owner, 0xff, d->parts * sizeof(*l->owner));
	}
	l->has_cell = l->has_cell || last - first >= PARTS;
	for (size_t i = first; i < last; i++)
		l->owner[i] = node;
	return 0;
}

/* Children stand side by side from where their parent begins. */
static int place_nodes(struct drawing *d)
{
	const struct tree *t = d->tree;
	double scale =
		t->node_count && t->nodes[0].total > 0 ? (double)d->parts / t->nodes[0].total : 0;
	AUTO(free_auto) double *next = calloc((size_t)d->level_count + 2, sizeof(*next));
	int r = 0;

	if (!next)
		return -ENOMEM;
	for (size_t i = 0; i < t->node_count && r == 0; i++) {
		uint32_t depth = t->nodes[i].depth;
		double from = next[depth], to = from + t->nodes[i].total * scale;

		r = paint(d, (uint32_t)i, from, to);
		next[depth] = to;
		next[depth + 1] = from;
	}
	return r;
}

/* ---- with colours ---- */

struct pen {
	int fg, bg; /* -1: the terminal's own */
};

static void set_pen(struct pen *pen, int fg, int bg, struct buf *out)
{
	if (pen->fg == fg && pen->bg == bg)
		return;
	buf_append_str(out, "\033[0");
	if (fg >= 0)
		buf_printf(out, ";38;5;%d", fg);
	if (bg >= 0)
		buf_printf(out, ";48;5;%d", bg);
	buf_append_char(out, 'm');
	*pen = (struct pen){fg, bg};
}

/* The colour of each node of a level, apart from its neighbour's on the left. */
static void choose_colors(const struct drawing *d, const struct level *l, int *colors)
{
	int before = -1;

	for (size_t i = 0; i < d->parts; i++) {
		const struct tree_name *name;

		colors[i] = -1;
		if (l->owner[i] == BLANK) {
			before = -1;
			continue;
		}
		if (i > 0 && l->owner[i] == l->owner[i - 1]) {
			colors[i] = colors[i - 1];
			continue;
		}
		name = &d->tree->names[d->tree->nodes[l->owner[i]].name];
		colors[i] = (int)color_of(d->view, name, 0);
		if (colors[i] == before)
			colors[i] = (int)color_of(d->view, name, 1);
		before = colors[i];
	}
}

/* A cell that two share: the left one's part of it. */
static void put_shared(const struct drawing *d, const int *colors, struct pen *pen, struct buf *out)
{
	static const char *const blocks[] = {" ", "\xe2\x96\x8f", "\xe2\x96\x8e", "\xe2\x96\x8d",
		"\xe2\x96\x8c", "\xe2\x96\x8b", "\xe2\x96\x8a", "\xe2\x96\x89"};
	int left = colors[0], right = colors[PARTS - 1];
	unsigned n = 1;

	while (n < PARTS - 1 && colors[n] == left)
		n++;
	if (!d->view->blocks || left == right) {
		set_pen(pen, -1, colors[PARTS / 2], out);
		buf_append_char(out, ' ');
	} else if (left < 0) {
		/* The terminal's own colour is no ink. */
		set_pen(pen, -1, n > PARTS / 2 ? -1 : right, out);
		buf_append_char(out, ' ');
	} else {
		set_pen(pen, left, right, out);
		buf_append_str(out, blocks[n]);
	}
}

/* How many cells from there on are the same node's, whole. */
static size_t whole_cells(const uint32_t *owner, size_t left)
{
	size_t n = 0;

	while (n + PARTS <= left) {
		for (size_t i = 0; i < PARTS; i++)
			if (owner[n + i] != owner[0])
				return n / PARTS;
		n += PARTS;
	}
	return n / PARTS;
}

static void put_name(const struct drawing *d, uint32_t node, size_t cells, struct buf *out)
{
	const char *text = node == BLANK ? "" : d->tree->names[d->tree->nodes[node].name].text;

	if (cells >= NAME_LEAST)
		cells_put(out, text, (unsigned)cells, ALIGN_LEFT);
	else
		for (size_t i = 0; i < cells; i++)
			buf_append_char(out, ' ');
}

static int put_colored(const struct drawing *d, const struct level *l, struct buf *out)
{
	AUTO(free_auto) int *colors = calloc(d->parts, sizeof(*colors));
	struct pen pen = {-1, -1};
	size_t at = 0;

	if (!colors)
		return -ENOMEM;
	choose_colors(d, l, colors);
	while (at < d->parts) {
		size_t cells = whole_cells(l->owner + at, d->parts - at);

		if (cells == 0) {
			put_shared(d, colors + at, &pen, out);
			at += PARTS;
			continue;
		}
		set_pen(&pen, colors[at] < 0 ? -1 : INK, colors[at], out);
		put_name(d, l->owner[at], cells, out);
		at += cells * PARTS;
	}
	set_pen(&pen, -1, -1, out);
	return 0;
}

/* ---- without ---- */

/* A bar where a frame begins, its name behind it; where nothing follows, one where it ends. */
static void put_plain(const struct drawing *d, const struct level *l, struct buf *out)
{
	size_t cells = d->parts / PARTS, x = 0;

	while (x < cells) {
		uint32_t node = l->owner[x * PARTS + PARTS / 2];
		size_t end = x + 1;

		while (end < cells && l->owner[end * PARTS + PARTS / 2] == node)
			end++;
		if (node == BLANK) {
			bool ends_here = x > 0;

			buf_append_char(out, ends_here ? '|' : ' ');
			for (size_t i = x + 1; i < end; i++)
				buf_append_char(out, ' ');
		} else {
			buf_append_char(out, '|');
			put_name(d, node, end - x - 1, out);
		}
		x = end;
	}
}

static void cut_blanks(struct buf *out)
{
	while (out->len > 0 && out->data[out->len - 1] == ' ')
		out->data[--out->len] = 0;
}

static int put_level(const struct drawing *d, uint32_t depth, struct buf *out)
{
	const struct level *l = &d->levels[depth];
	int r = 0;

	if (!l->owner || !l->has_cell)
		return 0;
	if (d->view->color == FLAME_PLAIN) {
		put_plain(d, l, out);
		cut_blanks(out);
	} else {
		r = put_colored(d, l, out);
	}
	buf_append_char(out, '\n');
	return r;
}

int flame_draw(const struct flame_view *v, const struct tree *t, struct buf *out)
{
	AUTO(drawing_done)
	struct drawing d = {.view = v, .tree = t, .parts = (size_t)v->width * PARTS};
	int r = make_levels(&d);

	if (r == 0)
		r = place_nodes(&d);
	for (uint32_t i = 0; i < d.level_count && r == 0; i++)
		r = put_level(&d, v->icicle ? i : d.level_count - 1 - i, out);
	return r == 0 ? out->error : r;
}

void flame_legend(struct buf *out)
{
	static const struct {
		enum tree_kind kind;
		const char *name;
	} kinds[] = {{TREE_USER, "user"}, {TREE_KERNEL, "kernel"}, {TREE_JIT, "JIT"},
		{TREE_INLINED, "inlined"}};

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		buf_printf(out, "\033[38;5;%d;48;5;%dm %s \033[0m ", INK, tones[kinds[i].kind][0],
			kinds[i].name);
	buf_append_char(out, '\n');
}
