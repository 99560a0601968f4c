/* The ledger in one line, and numbers as people write them. */
#include <stdio.h>
#include <time.h>

#include "daemon/render/render.h"
#include "daemon/render/text.h"
#include "daemon/tree/ledger.h"

void text_number(struct buf *into, uint64_t x)
{
	char text[26]; /* of 2^64 - 1 */
	size_t at = sizeof(text);

	for (unsigned digits = 1;; digits++) {
		text[--at] = (char)('0' + x % 10);
		x /= 10;
		if (x == 0)
			break;
		if (digits % 3 == 0)
			text[--at] = ',';
	}
	buf_append(into, text + at, sizeof(text) - at);
}

/* Says what there is some of; what is none is said only where people look for it. */
static void add_count(struct buf *into, uint64_t count, const char *what, bool always)
{
	if (count == 0 && !always)
		return;
	buf_append_str(into, " · ");
	text_number(into, count);
	buf_append_char(into, ' ');
	buf_append_str(into, what);
}

void render_ledger_line(const struct profile *p, struct buf *into)
{
	const struct ledger *l = &p->ledger;
	int whole = ledger_whole_permille(l);

	text_number(into, l->samples);
	buf_append_str(into, l->samples == 1 ? " sample" : " samples");
	add_count(into, l->lost, "lost", true);
	add_count(into, l->dropped, "dropped", false);
	add_count(into, l->throttled, "times throttled", false);
	add_count(into, l->truncated, "truncated", true);
	add_count(into, l->depth_cut, "cut in depth", false);
	add_count(into, l->budget_steps,
		l->budget_steps == 1 ? "step for its budget" : "steps for its budget", false);
	if (whole >= 0)
		buf_printf(into, " · whole stacks %d.%d %%", whole / 10, whole % 10);
}

void text_time(struct buf *into, uint64_t wall_ns)
{
	time_t seconds = (time_t)(wall_ns / 1000000000u);
	struct tm tm;

	gmtime_r(&seconds, &tm); /* 64 bits of nanoseconds end in the year 2554: it cannot fail */
	buf_printf(into, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900, tm.tm_mon + 1,
		tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)(wall_ns / 1000000u % 1000u));
}
