#include "daemon/render/svg_page.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "daemon/render/svg_head.h"
#include "daemon/render/text.h"
#include "daemon/tree/ledger.h"

/* Made of svg_style.css and svg_script.js at build time. */
static const char style[] =
#include "daemon/render/svg_style.inc"
	;
static const char script[] =
#include "daemon/render/svg_script.inc"
	;

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
		uint64_t ns;
		const char *name;
	} units[] = {{1000000000, " s"}, {1000000, " ms"}, {1000, " µs"}, {1, " ns"}};
	unsigned u = 0, parts;
	uint64_t unit, v;

	while (u < 3 && ns < units[u].ns)
		u++;
	unit = units[u].ns;
	/* Three digits say enough. */
	parts = u == 3 || ns / unit >= 100 ? 1 : ns / unit >= 10 ? 10 : 100;
	v = parts == 1 ? ns / unit + (ns % unit >= unit / 2 && unit > 1)
		       : (ns * parts + unit / 2) / unit;
	buf_append_u64(into, v / parts);
	if (parts > 1)
		buf_append_char(into, '.');
	if (parts == 100)
		buf_append_char(into, (char)('0' + v / 10 % 10));
	if (parts > 1)
		buf_append_char(into, (char)('0' + v % 10));
	buf_append_str(into, units[u].name);
}

static const char *text_of(const struct view *view, uint32_t off)
{
	return profile_text(view->profile, off);
}

static void put_text(struct buf *into, const char *text)
{
	render_xml_text(into, text, strlen(text));
}

const char *svg_target(const struct view *view)
{
	const struct profile_meta *m = &view->profile->meta;
	const char *target = text_of(view, m->target);

	if (!target[0])
		target = text_of(view, m->name);
	return target[0] ? target : "Profile";
}

const struct profile_event *svg_event(const struct view *view)
{
	int event = view->query.event < 0 ? 0 : view->query.event;

	return &view->profile->events[event < PROFILE_EVENTS_MAX ? event : 0];
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

static void put_tenths(struct buf *into, uint32_t tenths)
{
	buf_printf(into, "%u.%u", tenths / 10, tenths % 10);
}

/* What the script has to know is in attributes: no text of a profile is ever part of a program. */
static void put_graph_begin(const struct view *view, const struct svg_plan *plan, struct buf *into)
{
	buf_printf(into,
		"<g id=\"graph\" transform=\"translate(%u,%u)\" font-size=\"%u\" data-row=\"",
		SVG_MARGIN, plan->head, plan->font ? plan->font : 12);
	put_tenths(into, plan->row);
	buf_append_str(into, "\" data-gap=\"");
	put_tenths(into, plan->gap);
	buf_printf(into,
		"\" data-font=\"%u\" data-rows=\"%u\" data-clock=\"%d\" data-icicle=\"%d\">\n",
		plan->font, plan->rows, svg_event(view)->is_clock, plan->options.icicle);
}

static uint32_t height_of(const struct svg_plan *plan)
{
	return plan->head + (plan->rows * plan->row + 9) / 10 + SVG_MARGIN;
}

void svg_page_begin(const struct view *view, const struct svg_plan *plan, struct buf *into)
{
	static const char *const schemes[] = {
		[SVG_COLOR_KIND] = "ck", [SVG_COLOR_MODULE] = "cm", [SVG_COLOR_NAME] = "cn"};
	unsigned width = plan->options.width, height = height_of(plan);

	buf_append_str(into, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	buf_printf(into,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
		"viewBox=\"0 0 %u %u\" class=\"flame %s%s\" role=\"img\">\n<title>",
		width, height, width, height, schemes[plan->options.color],
		view->diff ? " compared" : "");
	put_text(into, svg_target(view));
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
	svg_head(view, plan, into);
	buf_append_str(into, "<script><![CDATA[\n");
	buf_append(into, script, sizeof(script) - 1);
	buf_append_str(into, "]]></script>\n</svg>\n");
}
