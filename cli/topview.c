#include "cli/topview.h"

#include <stdio.h>
#include <string.h>

#include "cli/cells.h"
#include "cli/screen.h"
#include "cli/table.h"

#define HEAD_LINES 3 /* title, ledger, heading of the table */
#define HOT        5.0
#define WARM       0.5
#define BAR_CELLS  20

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

static enum style style_of(double share)
{
	return share >= HOT ? STYLE_RED : share >= WARM ? STYLE_GREEN : STYLE_PLAIN;
}

static const struct function *find_before(const struct top_rows *rows, const struct function *f)
{
	size_t low = 0, high = rows->before_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int r = strcmp(rows->before[mid].name, f->name);

		if (r == 0)
			r = strcmp(rows->before[mid].module, f->module);
		if (r == 0)
			return &rows->before[mid];
		if (r < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

static void put_change(struct table *t, const struct top_view *v, const struct top_rows *rows,
	const struct function *f)
{
	const struct function *b = rows->before ? find_before(rows, f) : NULL;
	double now = percent(v->by_total ? f->total : f->self, rows->total), then, change;

	if (!rows->before) {
		table_cell(t, STYLE_PLAIN, "%s", "");
		return;
	}
	then = b ? percent(v->by_total ? b->total : b->self, rows->before_total) : 0;
	change = now - then;
	if (change > -0.005 && change < 0.005)
		change = 0;
	table_cell(t,
		change > 0           ? STYLE_RED
			: change < 0 ? STYLE_GREEN
				     : STYLE_DIM,
		"%+.2f", change);
}

static void put_row(struct table *t, const struct top_view *v, const struct top_rows *rows,
	const struct function *f)
{
	double self = percent(f->self, rows->total), total = percent(f->total, rows->total);

	table_cell(t, style_of(self), "%.2f%%", self);
	table_cell(t, style_of(total), "%.2f%%", total);
	if (v->changes)
		put_change(t, v, rows, f);
	table_cell(t, STYLE_PLAIN, "%s", f->name);
	table_cell(t, STYLE_DIM, "%s", f->module);
}

/* How many lines there are for functions. */
static size_t room_for_rows(const struct top_view *v)
{
	unsigned others = HEAD_LINES + (v->keys || v->typing);
	size_t room = v->height == 0 ? SIZE_MAX : v->height > others ? v->height - others : 0;

	return v->lines && v->lines < room ? v->lines : room;
}

static size_t matching(const struct top_view *v, const struct top_rows *rows)
{
	size_t n = 0;

	for (size_t i = 0; i < rows->count; i++)
		n += function_matches(&rows->f[i], v->filter);
	return n;
}

static void put_rows(struct top_view *v, const struct top_rows *rows, struct buf *out)
{
	AUTO(table_done) struct table t = {0};
	size_t room = room_for_rows(v), all = matching(v, rows), skip, put = 0;

	if (v->first + room > all)
		v->first = all > room ? (unsigned)(all - room) : 0;
	skip = v->first;
	table_column(&t, v->by_total ? "Self" : "Self v", ALIGN_RIGHT, 7);
	table_column(&t, v->by_total ? "Total v" : "Total", ALIGN_RIGHT, 7);
	if (v->changes)
		table_column(&t, "Change", ALIGN_RIGHT, 7);
	table_column_of_names(&t, "Function", v->width ? v->width / 2 : 0);
	table_column_of_names(&t, "Module", 0);
	for (size_t i = 0; i < rows->count && put < room; i++) {
		if (!function_matches(&rows->f[i], v->filter))
			continue;
		if (skip > 0) {
			skip--;
			continue;
		}
		put_row(&t, v, rows, &rows->f[i]);
		put++;
	}
	table_write(&t, v->width, v->color, out);
	while (v->height && put++ < room && !v->lines)
		buf_append_char(out, '\n');
}

static void put_bar(const struct top_view *v, struct buf *line)
{
	double part = v->elapsed_s / v->duration_s;

	buf_append_str(line, "  [");
	for (int i = 0; i < BAR_CELLS; i++)
		buf_append_char(line, i < part * BAR_CELLS ? '#' : '.');
	buf_append_str(line, "]");
}

static void put_title(const struct top_view *v, struct buf *out)
{
	AUTO(buf_done) struct buf line = BUF_INIT;

	buf_printf(&line, "%s%s  %s %.1f s", v->paused ? "[paused] " : "", v->title, v->state,
		v->elapsed_s);
	if (v->changes && v->duration_s > 0)
		put_bar(v, &line);
	buf_printf(&line, "  %s, %s: %.0f samples", v->event, v->window, v->samples);
	style_begin(out, STYLE_BOLD, v->color);
	cells_put_upto(out, line.data ? line.data : "", v->width);
	style_end(out, STYLE_BOLD, v->color);
	buf_append_char(out, '\n');
	cells_put_upto(out, v->ledger, v->width);
	buf_append_char(out, '\n');
}

static void put_keys(const struct top_view *v, struct buf *out)
{
	AUTO(buf_done) struct buf line = BUF_INIT;

	if (v->typing)
		buf_printf(&line, "filter: %s_   Enter: done  Esc: none", v->filter);
	else
		buf_printf(&line, "q quit  s by %s  p %s  / filter%s%s  arrows scroll",
			v->by_total ? "self" : "total", v->paused ? "go on" : "pause",
			v->filter[0] ? ": " : "", v->filter);
	style_begin(out, STYLE_REVERSE, v->color);
	if (v->width)
		cells_put(out, line.data ? line.data : "", v->width, ALIGN_LEFT);
	style_end(out, STYLE_REVERSE, v->color);
}

void top_layout(struct top_view *v, const struct top_rows *rows, struct buf *out)
{
	put_title(v, out);
	put_rows(v, rows, out);
	if (v->keys || v->typing) {
		put_keys(v, out);
		buf_append_char(out, '\n');
	}
}

static void type_filter(struct top_view *v, int key)
{
	size_t len = strlen(v->filter);

	if (key == KEY_ENTER) {
		v->typing = false;
	} else if (key == KEY_ESCAPE) {
		v->typing = false;
		v->filter[0] = 0;
	} else if (key == KEY_BACKSPACE && len > 0) {
		v->filter[len - 1] = 0;
	} else if (key >= ' ' && key < 127 && len + 1 < sizeof(v->filter)) {
		v->filter[len] = (char)key;
		v->filter[len + 1] = 0;
	}
	v->first = 0;
}

static void scroll(struct top_view *v, int rows)
{
	v->first = rows < 0 && v->first < (unsigned)-rows ? 0 : v->first + (unsigned)rows;
}

bool top_key(struct top_view *v, int key)
{
	int page = v->height > HEAD_LINES + 2 ? (int)v->height - HEAD_LINES - 2 : 1;

	if (key == KEY_END)
		return false;
	if (v->typing) {
		type_filter(v, key);
		return true;
	}
	switch (key) {
	case 'q': return false;
	case 's': v->by_total = !v->by_total; break;
	case 'p': v->paused = !v->paused; break;
	case '/': v->typing = true; break;
	case KEY_ESCAPE: v->filter[0] = 0; break;
	case KEY_UP: scroll(v, -1); break;
	case KEY_DOWN: scroll(v, 1); break;
	case KEY_PAGE_UP: scroll(v, -page); break;
	case KEY_PAGE_DOWN: scroll(v, page); break;
	case KEY_HOME: v->first = 0; break;
	default: break;
	}
	return true;
}
