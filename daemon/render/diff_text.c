/* A comparison for people at a terminal: what is compared, then the functions that have changed
 * more than chance allows, then how many others there are. */
#include "daemon/render/diff.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/render/text.h"
#include "daemon/render/writer.h"

#define ROWS_MAX     200u
#define NAME_BYTES   160u
#define MODULE_BYTES 24u

static const char *const keys[DIFF_SIDES] = {"Base", "Other"};

static void put_side(const struct view *v, enum diff_side side, struct buf *into)
{
	const struct view *one = v->diff->side[side];
	const struct profile *p = one->profile;

	buf_printf(into, "%-9ssession %llu, ", keys[side], (unsigned long long)p->meta.session_id);
	if (p->meta.name) {
		text_plain(into, profile_text(p, p->meta.name), 100);
		buf_append_str(into, ", ");
	}
	text_plain(into, profile_text(p, p->meta.target), 200);
	buf_printf(into, ": %.3f s, ", (double)(one->covers_to_ns - one->covers_from_ns) / 1e9);
	text_number(into, one->samples);
	buf_append_str(into, one->samples == 1 ? " sample" : " samples");
	buf_append_str(
		into, one->log_short ? ", less than was asked for: the log is too short\n" : "\n");
}

static void put_head(const struct view *v, struct buf *into)
{
	static const char *const norms[] = {[DIFF_SHARE] = "percent of all of each side",
		[DIFF_TIME] = "weight in each nanosecond of each side",
		[DIFF_NONE] = "weight"};
	const struct profile *p = v->profile;

	put_side(v, DIFF_BASE, into);
	put_side(v, DIFF_OTHER, into);
	buf_append_str(into, "Event    ");
	text_plain(into, profile_text(p, p->events[v->query.event].name), 100);
	buf_printf(into, ", in %s; changes of %.2f standard errors count\n\n",
		norms[v->diff->options.norm], v->diff->z_limit);
	buf_append_str(into,
		"   Self: base     other    change    Total: base     other    change        z  "
		"Module                    Function\n");
}

static void put_value(const struct diff *d, double value, bool signed_, struct buf *into)
{
	if (d->options.norm == DIFF_SHARE)
		buf_printf(into, signed_ ? " %+9.2f" : " %9.2f", 100 * value);
	else
		buf_printf(into, signed_ ? " %+9.3g" : " %9.3g", value);
}

static void put_row(const struct view *v, const struct diff_function *f, struct buf *into)
{
	const struct diff *d = v->diff;
	const struct view_name *n = &v->names[f->name];
	size_t len;

	buf_append_str(into, "   ");
	put_value(d, (double)f->side[DIFF_BASE].self / d->scale[DIFF_BASE], false, into);
	put_value(d, (double)f->side[DIFF_OTHER].self / d->scale[DIFF_OTHER], false, into);
	put_value(d, f->self.delta, true, into);
	buf_append_str(into, "    ");
	put_value(d, (double)f->side[DIFF_BASE].total / d->scale[DIFF_BASE], false, into);
	put_value(d, (double)f->side[DIFF_OTHER].total / d->scale[DIFF_OTHER], false, into);
	put_value(d, f->total.delta, true, into);
	buf_printf(into, " %+8.1f  ", f->self.significant ? f->self.z : f->total.z);
	len = text_plain(into, n->module, MODULE_BYTES);
	buf_printf(into, "%*s", (int)(len < MODULE_BYTES ? MODULE_BYTES - len : 0) + 2, "");
	text_plain(into, n->text, NAME_BYTES);
	buf_append_char(into, '\n');
}

static int diff_text_more(void *state, struct buf *into)
{
	const struct view *v = *(const struct view **)state;
	const struct diff *d = v->diff;
	uint32_t shown = 0, more = 0;

	put_head(v, into);
	for (uint32_t i = 0; i < d->function_count; i++) {
		const struct diff_function *f = &d->functions[i];

		if (!f->self.significant && !f->total.significant)
			continue;
		if (shown == ROWS_MAX) {
			more++;
			continue;
		}
		put_row(v, f, into);
		shown++;
	}
	if (more)
		buf_printf(into, "   … and %u more\n", more);
	buf_printf(into, "%s%u of %u functions have changed significantly.\n", shown ? "\n" : "",
		shown + more, d->function_count);
	return 0;
}

static int diff_text_start(const struct view *v, const struct svg_options *svg, void **ret_state)
{
	const struct view **state = malloc(sizeof(*state));

	if (!state)
		return -ENOMEM;
	*state = v;
	*ret_state = state;
	return 0;
}

const struct writer diff_text_writer = {
	.name = "text",
	.content_type = "text/plain; charset=utf-8",
	.extension = "txt",
	.start = diff_text_start,
	.more = diff_text_more,
	.end = free,
};
