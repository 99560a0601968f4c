#include "daemon/render/svg_page.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "daemon/render/svg_label.h"
#include "daemon/render/text.h"
#include "daemon/tree/ledger.h"

/* Made of svg_style.css and svg_script.js at build time. */
static const char style[] =
#include "daemon/render/svg_style.inc"
	;
static const char script[] =
#include "daemon/render/svg_script.inc"
	;

static const char *const hue_labels[SVG_HUES] = {
	[SVG_USER] = "user",
	[SVG_INLINED] = "inlined",
	[SVG_JIT] = "jit",
	[SVG_KERNEL] = "kernel",
	[SVG_UNNAMED] = "unnamed or special",
	[SVG_LEVEL] = "process or thread",
};

void svg_share(struct buf *into, uint64_t part, uint64_t whole)
{
	uint64_t h = whole ? (uint64_t)((double)part / (double)whole * 10000 + 0.5) : 0;

	buf_append_u64(into, h / 100);
	buf_append_char(into, '.');
	buf_append_char(into, (char)('0' + h / 10 % 10));
	buf_append_char(into, (char)('0' + h % 10));
	buf_append_char(into, '%');
}

void svg_time(struct buf *into, uint64_t ns)
{
	static const struct {
		double ns;
		const char *unit;
	} units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}};
	unsigned u = 0;
	double v;

	while (u < 3 && (double)ns < units[u].ns)
		u++;
	v = (double)ns / units[u].ns;
	buf_printf(into, "%.*f %s", u == 3 || v >= 100 ? 0 : v >= 10 ? 1 : 2, v, units[u].unit);
}

static const char *text_of(const struct view *view, uint32_t off)
{
	return profile_text(view->profile, off);
}

static void put_text(struct buf *into, const char *text)
{
	render_xml_text(into, text, strlen(text));
}

const struct profile_event *svg_event(const struct view *view)
{
	int event = view->query.event < 0 ? 0 : view->query.event;

	return &view->profile->events[event < PROFILE_EVENTS_MAX ? event : 0];
}

static const char *target_of(const struct view *view)
{
	const struct profile_meta *m = &view->profile->meta;
	const char *target = text_of(view, m->target);

	if (!target[0])
		target = text_of(view, m->name);
	return target[0] ? target : "Profile";
}

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

/* "cpu-clock at 99 Hz · 30.0 s from 2024-05-01 12:00:00 UTC · running" */
static void put_subtitle(const struct view *view, struct buf *into)
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
	buf_append_str(into, " · ");
	svg_time(into, covered_ns(view));
	put_start_time(view, into);
	if (m->ended_wall_ns == 0)
		buf_append_str(into, ", still running");
	if (name[0] && strcmp(name, target_of(view)) != 0) {
		buf_append_str(into, " · ");
		put_text(into, name);
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
	if (view->log_short)
		buf_append_str(into, " The sample log does not reach back to the time asked for.");
}

static void put_ledger_item(struct buf *into, const char *label, uint64_t n)
{
	if (n == 0)
		return;
	buf_append_str(into, label);
	buf_append_str(into, ": ");
	text_number(into, n);
	buf_append_char(into, '\n');
}

static void put_ends(const struct ledger *l, struct buf *into)
{
	const char *name;

	for (unsigned i = 0; (name = ledger_end_name(i)); i++) {
		char label[64];

		snprintf(label, sizeof(label), "User stacks unwound to: %s", name);
		put_ledger_item(into, label, l->unwind_ends[i]);
	}
}

/* The ledger line by line: the script shows it on request, screen readers read it. */
static void put_ledger(const struct view *view, const struct svg_plan *plan, struct buf *into)
{
	const struct ledger *l = &view->profile->ledger;
	const struct profile_meta *m = &view->profile->meta;

	buf_append_str(into, "<desc id=\"ledger\">");
	put_ledger_item(into, "Samples in the profile", l->samples);
	put_ledger_item(into, "Samples in this view", view->samples);
	put_ledger_item(into, "Events counted by the kernel", l->emitted);
	put_ledger_item(into, "Lost: the ring was full", l->lost);
	put_ledger_item(into, "Pauses by the kernel (throttling)", l->throttled);
	put_ledger_item(into, "Left out: not of the target", l->filtered);
	put_ledger_item(into, "Cut: the copied stack ended early", l->truncated);
	put_ledger_item(into, "Cut: more frames than are kept", l->depth_cut);
	put_ledger_item(into, "Samples of kernel threads", l->kernel_only);
	put_ledger_item(into, "Dropped: the call tree was full", l->dropped);
	put_ledger_item(into, "Records of an unknown kind", l->unknown_records);
	put_ledger_item(into, "Bytes that were no records", l->malformed_bytes);
	put_ledger_item(into, "Map and process records lost", l->sideband_lost);
	put_ledger_item(into, "Log entries overwritten", l->log_dropped);
	put_ends(l, into);
	put_ledger_item(into, "Distinct frames", l->frames_total);
	put_ledger_item(into, "Distinct frames without a name", l->frames_unnamed);
	put_ledger_item(into, "Frames drawn", plan->drawn);
	put_ledger_item(into, "Frames narrower than 0.1 px", plan->left_out);
	if (m->cost_cpu_ns) {
		buf_append_str(into, "CPU time of the profiler: ");
		svg_time(into, m->cost_cpu_ns);
		buf_append_char(into, '\n');
	}
	if (m->warnings)
		put_text(into, text_of(view, m->warnings));
	buf_append_str(into, "</desc>\n");
}

static void put_swatch(struct buf *into, unsigned *x, const char *class, const char *label)
{
	size_t at;

	buf_printf(into,
		"<rect x=\"%u\" y=\"76\" width=\"11\" height=\"11\" rx=\"2\" class=\"%s\"/>"
		"<text x=\"%u\" y=\"86\">",
		*x, class, *x + 16);
	at = into->len;
	svg_label(label, false, 24, into);
	/* Columns of a font that is not fixed: the mean of letters, a little more for bytes of
	 * others. */
	*x += 16 + (unsigned)(into->len - at) * 7 + 16;
	buf_append_str(into, "</text>\n");
}

static void put_hue_legend(const struct svg_plan *plan, struct buf *into)
{
	unsigned x = SVG_MARGIN;

	buf_append_str(into, "<g id=\"legend-kind\" class=\"legend ck\">\n");
	for (unsigned i = 0; i < SVG_HUES; i++) {
		char class[16];

		if (!hue_labels[i] || !plan->hue_used[i])
			continue;
		snprintf(class, sizeof(class), "%c1", svg_hue_letter(i));
		put_swatch(into, &x, class, hue_labels[i]);
	}
	buf_append_str(into, "</g>\n");
}

/* Heaviest first, as far as the width reaches. */
static void put_module_legend(
	const struct view *view, const struct svg_plan *plan, struct buf *into)
{
	unsigned x = SVG_MARGIN, room = plan->options.width - 200;
	bool shown[SVG_MODULE_HUES] = {false};

	buf_append_str(into, "<g id=\"legend-module\" class=\"legend cm\">\n");
	for (unsigned n = 0; n < SVG_MODULE_HUES && x < room; n++) {
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
		put_swatch(into, &x, class, view->names[plan->module_name[best]].module);
	}
	if (plan->module_others && x < room)
		put_swatch(into, &x, "m12", "other modules");
	buf_append_str(into, "</g>\n");
}

static void put_name_legend(struct buf *into)
{
	unsigned x = SVG_MARGIN;

	buf_append_str(into, "<g id=\"legend-name\" class=\"legend cn\">\n");
	put_swatch(into, &x, "n3", "a shade for each name");
	buf_append_str(into, "</g>\n");
}

static void put_head(const struct view *view, const struct svg_plan *plan, struct buf *into)
{
	unsigned width = plan->options.width;

	buf_printf(into,
		"<g id=\"head\">\n<rect class=\"bg\" width=\"%u\" height=\"%u\"/>\n"
		"<text class=\"title\" x=\"%u\" y=\"30\">",
		width, SVG_HEAD - 2, SVG_MARGIN);
	svg_label(target_of(view), false, (width - 2 * SVG_MARGIN) / 11, into);
	buf_printf(into, "</text>\n<text class=\"sub\" x=\"%u\" y=\"49\">", SVG_MARGIN);
	put_subtitle(view, into);
	buf_printf(into, "</text>\n<text class=\"sub\" id=\"ledger-line\" x=\"%u\" y=\"66\">",
		SVG_MARGIN);
	render_ledger_line(view->profile, into);
	buf_append_str(into, "</text>\n");
	put_hue_legend(plan, into);
	put_module_legend(view, plan, into);
	put_name_legend(into);
	buf_printf(into, "<text class=\"sub\" id=\"detail\" x=\"%u\" y=\"118\">", SVG_MARGIN);
	put_omissions(view, plan, into);
	buf_append_str(into, "</text>\n</g>\n");
}

static void put_tenths(struct buf *into, uint32_t tenths)
{
	buf_printf(into, "%u.%u", tenths / 10, tenths % 10);
}

/* What the script has to know is in attributes: no text of a profile is ever part of a program. */
static void put_graph_begin(const struct view *view, const struct svg_plan *plan, struct buf *into)
{
	buf_printf(into,
		"<g id=\"graph\" transform=\"translate(%u,%u)\" font-size=\"%u\" data-row=\"",
		SVG_MARGIN, SVG_HEAD, plan->font ? plan->font : 12);
	put_tenths(into, plan->row);
	buf_append_str(into, "\" data-gap=\"");
	put_tenths(into, plan->gap);
	buf_printf(into,
		"\" data-font=\"%u\" data-rows=\"%u\" data-clock=\"%d\" data-icicle=\"%d\">\n",
		plan->font, plan->rows, svg_event(view)->is_clock, plan->options.icicle);
}

static uint32_t height_of(const struct svg_plan *plan)
{
	return SVG_HEAD + (plan->rows * plan->row + 9) / 10 + SVG_MARGIN;
}

void svg_page_begin(const struct view *view, const struct svg_plan *plan, struct buf *into)
{
	static const char *const schemes[] = {
		[SVG_COLOR_KIND] = "ck", [SVG_COLOR_MODULE] = "cm", [SVG_COLOR_NAME] = "cn"};
	unsigned width = plan->options.width, height = height_of(plan);

	buf_append_str(into, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	buf_printf(into,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
		"viewBox=\"0 0 %u %u\" class=\"flame %s\" role=\"img\">\n<title>",
		width, height, width, height, schemes[plan->options.color]);
	put_text(into, target_of(view));
	buf_append_str(into, " · flame graph</title>\n");
	put_ledger(view, plan, into);
	buf_append_str(into, "<style>\n");
	buf_append(into, style, sizeof(style) - 1);
	buf_printf(into, "</style>\n<rect class=\"bg\" id=\"paper\" width=\"%u\" height=\"%u\"/>\n",
		width, height);
	put_graph_begin(view, plan, into);
}

void svg_page_end(const struct view *view, const struct svg_plan *plan, struct buf *into)
{
	buf_append_str(into, "</g>\n");
	put_head(view, plan, into);
	buf_append_str(into, "<script><![CDATA[\n");
	buf_append(into, script, sizeof(script) - 1);
	buf_append_str(into, "]]></script>\n</svg>\n");
}
