/* The head of a flame graph. What does not fit beside goes below: an image viewer has no script
 * that could make room. */
#include "daemon/render/svg_head.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "daemon/render/diff.h"
#include "daemon/render/svg_label.h"
#include "daemon/render/svg_page.h"
#include "daemon/render/text.h"

#define FIRST_LINE  49
#define LINE        17
#define LEGEND_GAP  10 /* from a line's foot to the legend's boxes */
#define LEGEND_LINE 18
#define DETAIL_GAP  32 /* from the legend's foot; the script writes a name between */
#define FOOT        16
/* Tenths of a pixel that a letter takes: the mean of the widest of the usual fonts. */
#define LETTER       73
#define LEGEND_CELLS 24 /* of a name */
/* Functions that are told to have vanished, and letters of each. */
#define VANISHED_MAX   6u
#define VANISHED_CELLS 40u

static const char *const hue_labels[SVG_HUES] = {
	[SVG_USER] = "user",
	[SVG_INLINED] = "inlined",
	[SVG_JIT] = "jit",
	[SVG_KERNEL] = "kernel",
	[SVG_UNNAMED] = "unnamed or special",
	[SVG_LEVEL] = "process or thread",
};

static const char *text_of(const struct view *view, uint32_t off)
{
	return profile_text(view->profile, off);
}

static void put_text(struct buf *into, const char *text)
{
	render_xml_text(into, text, strlen(text));
}

/* ---- the lines ---- */

static void put_start_time(const struct view *view, struct buf *into)
{
	const struct profile_meta *m = &view->profile->meta;
	uint64_t wall = m->started_wall_ns;
	struct tm tm;
	time_t t;

	if (view->covers_from_ns > m->started_ns)
		wall += view->covers_from_ns - m->started_ns;
	t = (time_t)(wall / 1000000000);
	if (wall == 0 || !gmtime_r(&t, &tm))
		return;
	buf_printf(into, " from %04d-%02d-%02d %02d:%02d:%02d UTC", tm.tm_year + 1900,
		tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
}

static uint64_t covered_ns(const struct view *view)
{
	const struct profile_meta *m = &view->profile->meta;

	if (view->covers_to_ns > view->covers_from_ns)
		return view->covers_to_ns - view->covers_from_ns;
	return m->taken_ns > m->started_ns ? m->taken_ns - m->started_ns : 0;
}

/* "session 7 (morning), 30.0 s from 2024-05-01 12:00:00 UTC" */
static void put_side(const struct view *view, unsigned columns, struct buf *into)
{
	const struct profile_meta *m = &view->profile->meta;
	const char *name = text_of(view, m->name);

	buf_append_str(into, "session ");
	buf_append_u64(into, m->session_id);
	if (name[0]) {
		buf_append_str(into, " (");
		svg_label(name, false, columns, into);
		buf_append_char(into, ')');
	}
	buf_append_str(into, ", ");
	svg_time(into, covered_ns(view));
	put_start_time(view, into);
}

/* "Other: session 8, … · Base: session 7, …" */
static void put_sides(const struct diff *d, unsigned columns, struct buf *into)
{
	static const char *const names[DIFF_SIDES] = {"Base: ", "Other: "};
	enum diff_side wide = d->options.width, thin = wide == DIFF_BASE ? DIFF_OTHER : DIFF_BASE;

	buf_append_str(into, names[wide]);
	put_side(d->side[wide], columns, into);
	buf_append_str(into, " (widths) · ");
	buf_append_str(into, names[thin]);
	put_side(d->side[thin], columns, into);
}

/* What has no width here, as it is on the other side alone: the heaviest. */
static void put_vanished(const struct view *view, struct buf *into)
{
	const struct diff *d = view->diff;
	enum diff_side wide = d->options.width, thin = wide == DIFF_BASE ? DIFF_OTHER : DIFF_BASE;
	unsigned shown = 0;

	for (uint32_t i = 0; i < d->function_count && shown < VANISHED_MAX; i++) {
		const struct diff_function *f = &d->functions[i];

		if (f->side[wide].samples || !f->total.significant)
			continue;
		buf_append_str(into,
			shown++                      ? ", "
				: wide == DIFF_OTHER ? " Gone: "
						     : " New, and not drawn: ");
		svg_label(view->names[f->name].text, true, VANISHED_CELLS, into);
		buf_append_char(into, ' ');
		svg_share(into, f->side[thin].total, d->side[thin]->total);
	}
	if (shown)
		buf_append_char(into, '.');
}

/* "cpu-clock at 99 Hz · 30.0 s from 2024-05-01 12:00:00 UTC · running" */
static void put_subtitle(const struct view *view, unsigned columns, struct buf *into)
{
	const struct profile_meta *m = &view->profile->meta;
	const char *name = text_of(view, m->name);

	put_text(into, text_of(view, svg_event(view)->name));
	if (m->freq_hz) {
		buf_append_str(into, " at ");
		text_number(into, m->freq_hz);
		buf_append_str(into, " Hz");
	} else if (m->period) {
		buf_append_str(into, " every ");
		text_number(into, m->period);
	}
	if (covered_ns(view)) {
		buf_append_str(into, " · ");
		svg_time(into, covered_ns(view));
	}
	put_start_time(view, into);
	if (m->ended_wall_ns == 0)
		buf_append_str(into, ", still running");
	if (name[0] && strcmp(name, svg_target(view)) != 0) {
		buf_append_str(into, " · ");
		svg_label(name, false, columns, into);
	}
}

/* What this picture does not show, though the profile holds it. */
static void put_omissions(const struct view *view, const struct svg_plan *plan, struct buf *into)
{
	if (view->samples == 0) {
		buf_append_str(into, "No samples.");
	} else if (plan->left_out == 0) {
		buf_append_str(into, "All frames are drawn.");
	} else {
		text_number(into, plan->left_out);
		buf_append_str(into, plan->left_out == 1 ? " frame" : " frames");
		buf_append_str(into, " narrower than 0.1 px left out, with ");
		svg_share(into, plan->left_out_weight, view->total);
		buf_append_str(into, " of the samples in them.");
	}
	if (view->folded_nodes) {
		buf_append_char(into, ' ');
		text_number(into, view->folded_nodes);
		buf_append_str(into, " smaller or deeper ones folded into their callers (");
		svg_share(into, view->folded_weight, view->total);
		buf_append_str(into, ").");
	}
	if (view->diff)
		put_vanished(view, into);
	if (view->log_short)
		buf_append_str(into, " The sample log does not reach back to the time asked for.");
}

static unsigned columns_of(const struct svg_plan *plan)
{
	return (plan->options.width - 2 * SVG_MARGIN) * 10 / LETTER;
}

/* Of XML text: an entity is one letter. */
static unsigned count_letters(const char *xml, size_t len)
{
	unsigned letters = 0;

	for (size_t i = 0; i < len; i++) {
		if (xml[i] == '&')
			while (i + 1 < len && xml[i] != ';')
				i++;
		letters += (xml[i] & 0xc0) != 0x80;
	}
	return letters;
}

static bool is_dot(const char *word, size_t len)
{
	return len == strlen("·") && memcmp(word, "·", len) == 0;
}

/* As many words as fit, one at least. Returns their bytes. */
static size_t line_length(const char *xml, unsigned columns)
{
	size_t len = 0, next;
	unsigned used = 0;

	for (;;) {
		next = len + strcspn(xml + len, " ");
		used += count_letters(xml + len, next - len) + 1;
		if (len > 0 && used > columns + 1)
			return len - 1;
		if (xml[next] == '\0')
			return next;
		len = next + 1;
	}
}

/* Writes XML text in lines of that many letters, from y on; into may be NULL. Returns how many. */
static unsigned put_lines(const char *xml, unsigned columns, unsigned y, struct buf *into)
{
	unsigned lines = 0;

	do {
		size_t len = line_length(xml, columns), shown = len;

		/* What is told apart by a line needs no dot. */
		if (xml[len] && len >= strlen(" ·") && is_dot(xml + len - strlen("·"), strlen("·")))
			shown = len - strlen(" ·");
		if (into && lines == 0 && xml[len] == '\0') {
			buf_append(into, xml, shown);
		} else if (into) {
			/* The class tells the script that a dot was here. */
			buf_printf(into, "<tspan x=\"%d\" y=\"%u\"%s>", SVG_MARGIN,
				y + lines * LINE, shown < len ? " class=\"dot\"" : "");
			buf_append(into, xml, shown);
			buf_append_str(into, "</tspan>");
		}
		lines++;
		xml += len;
		if (*xml == ' ')
			xml++;
		if (is_dot(xml, strcspn(xml, " ")) && xml[strlen("·")] == ' ')
			xml += strlen("· ");
	} while (*xml);
	return lines;
}

static unsigned put_paragraph(const struct buf *xml, const struct svg_plan *plan, const char *id,
	unsigned y, struct buf *into)
{
	const char *text = xml->data && !xml->error ? xml->data : "";
	unsigned lines;

	if (into)
		buf_printf(into, "<text class=\"sub\" id=\"%s\" x=\"%d\" y=\"%u\">", id, SVG_MARGIN,
			y);
	lines = put_lines(text, columns_of(plan), y, into);
	if (into)
		buf_append_str(into, "</text>\n");
	return lines;
}

/* ---- the legend ---- */

/* Where the next swatch goes. into NULL: nothing is written. */
struct legend {
	struct buf *into;
	unsigned x, y, width, rows;
};

static unsigned swatch_width(const char *label)
{
	unsigned letters = count_letters(label, strlen(label));

	return 16 + (letters > LEGEND_CELLS ? LEGEND_CELLS : letters) * 7 + 16;
}

static void put_swatch(struct legend *l, const char *class, const char *label)
{
	unsigned width = swatch_width(label);

	if (l->x > SVG_MARGIN && l->x + width > l->width) {
		l->x = SVG_MARGIN;
		l->y += LEGEND_LINE;
		l->rows++;
	}
	if (l->into) {
		buf_printf(l->into,
			"<rect x=\"%u\" y=\"%u\" width=\"11\" height=\"11\" rx=\"2\" class=\"%s\"/>"
			"<text x=\"%u\" y=\"%u\">",
			l->x, l->y, class, l->x + 16, l->y + 10);
		svg_label(label, false, LEGEND_CELLS, l->into);
		buf_append_str(l->into, "</text>\n");
	}
	l->x += width;
}

static void put_hues(const struct svg_plan *plan, struct legend *l)
{
	for (unsigned i = 0; i < SVG_HUES; i++) {
		char class[16];

		if (!hue_labels[i] || !plan->hue_used[i])
			continue;
		snprintf(class, sizeof(class), "%c1", svg_hue_letter(i));
		put_swatch(l, class, hue_labels[i]);
	}
}

/* Of a comparison, whatever the colouring: boxes have no others. */
static void put_steps(struct legend *l)
{
	put_swatch(l, "d0", "shrunk by 10 % of all");
	put_swatch(l, "d2", "by 1 %");
	put_swatch(l, "d4", "no significant change");
	put_swatch(l, "d6", "grown by 1 %");
	put_swatch(l, "d8", "by 10 % and more");
}

/* Heaviest first. */
static void put_modules(const struct view *view, const struct svg_plan *plan, struct legend *l)
{
	bool shown[SVG_MODULE_HUES] = {false};

	for (unsigned n = 0; n < SVG_MODULE_HUES; n++) {
		int best = -1;
		char class[16];

		for (int i = 0; i < SVG_MODULE_HUES; i++)
			if (plan->module_name[i] != SVG_NO_NAME && !shown[i] &&
				(best < 0 || plan->module_self[i] > plan->module_self[best]))
				best = i;
		if (best < 0)
			break;
		shown[best] = true;
		snprintf(class, sizeof(class), "m%d", best);
		put_swatch(l, class, view->names[plan->module_name[best]].module);
	}
	if (plan->module_others)
		put_swatch(l, "m12", "other modules");
}

/* The legends of all colourings lie on the same place: the style shows one. Returns the rows of
 * that one. */
static unsigned put_legends(
	const struct view *view, const struct svg_plan *plan, unsigned y, struct buf *into)
{
	static const char *const heads[] = {"<g id=\"legend-kind\" class=\"legend ck\">\n",
		"<g id=\"legend-module\" class=\"legend cm\">\n",
		"<g id=\"legend-name\" class=\"legend cn\">\n"};
	static const unsigned colors[] = {
		[SVG_COLOR_KIND] = 0, [SVG_COLOR_MODULE] = 1, [SVG_COLOR_NAME] = 2};
	unsigned rows = 1;

	for (unsigned i = 0; i < 3; i++) {
		struct legend l = {into, SVG_MARGIN, y, plan->options.width - SVG_MARGIN, 1};

		if (into)
			buf_append_str(into, heads[i]);
		if (view->diff)
			put_steps(&l);
		else if (i == 0)
			put_hues(plan, &l);
		else if (i == 1)
			put_modules(view, plan, &l);
		else
			put_swatch(&l, "n3", "a shade for each name");
		if (into)
			buf_append_str(into, "</g>\n");
		if (i == colors[plan->options.color])
			rows = l.rows;
	}
	return rows;
}

/* ---- all of it ---- */

/* Writes what is below the title. Returns the height of the head; into may be NULL. */
static unsigned put_below_title(
	const struct view *view, const struct svg_plan *plan, struct buf *into)
{
	AUTO(buf_done) struct buf text = BUF_INIT;
	unsigned y = FIRST_LINE;

	if (view->diff)
		put_sides(view->diff, columns_of(plan), &text);
	else
		put_subtitle(view, columns_of(plan), &text);
	y += LINE * put_paragraph(&text, plan, "subtitle", y, into);
	buf_clear(&text);
	render_ledger_line(view->profile, &text);
	y += LINE * put_paragraph(&text, plan, "ledger-line", y, into);
	y += LEGEND_GAP - LINE;
	y += LEGEND_LINE * put_legends(view, plan, y, into);
	y += 10 - LEGEND_LINE + DETAIL_GAP;
	buf_clear(&text);
	put_omissions(view, plan, &text);
	y += LINE * put_paragraph(&text, plan, "detail", y, into);
	return y - LINE + FOOT;
}

uint32_t svg_head_height(const struct view *view, const struct svg_plan *plan)
{
	return put_below_title(view, plan, NULL);
}

void svg_head(const struct view *view, const struct svg_plan *plan, struct buf *into)
{
	unsigned width = plan->options.width;

	buf_printf(into,
		"<g id=\"head\">\n<rect class=\"bg\" width=\"%u\" height=\"%u\"/>\n"
		"<text class=\"title\" x=\"%u\" y=\"30\">",
		width, plan->head - 2, SVG_MARGIN);
	svg_label(svg_target(view), false, (width - 2 * SVG_MARGIN) / 11, into);
	buf_append_str(into, "</text>\n");
	put_below_title(view, plan, into);
	buf_append_str(into, "</g>\n");
}
