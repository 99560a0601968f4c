/* The rounds: what is in the rings goes to the sink, in the order of its time. */
#include "daemon/sample/collect.h"

#include <errno.h>

#include "base/io.h"
#include "daemon/sample/capture.h"

/* A record is stamped before it is seen in its ring, and whoever writes it may be interrupted
 * between: what is younger than this waits for the next round, when all that is older will be
 * there. */
#define SLACK_NS UINT64_C(1000000)

struct round {
	struct capture *c;
	const struct capture_sink *sink;
	int records;
};

static void decoded_badly(struct capture *c, size_t len)
{
	c->stats.malformed++;
	c->stats.malformed_bytes += len;
}

/* Whose sample it is, by its ring or by its id. -1: nobody's. */
static int event_of(
	const struct capture *c, const struct merge_source *s, const struct event_source *source)
{
	int sole = events_sole(c->events, s->index);

	if (sole >= 0)
		return sole;
	return source ? (int)source->event : -1;
}

static void hand_out_sample(
	struct round *r, const struct merge_source *s, const struct sample_head *head)
{
	struct capture *c = r->c;
	const struct event_source *source;
	struct record record;
	int event;

	/* By the pid alone: most samples of a CPU-wide event are of no interest. */
	if (c->members && !members_has(c->members, head->pid)) {
		c->stats.filtered++;
		return;
	}
	source = events_find(c->events, head->id);
	event = event_of(c, s, source);
	if (event < 0) {
		c->stats.unknown++;
		return;
	}
	if (tasks_is_double(c, s->slot, (unsigned)event, head, source)) {
		c->stats.filtered++;
		return;
	}
	if (record_decode(s->bytes, s->len, &c->layouts[event], &record) < 0) {
		decoded_badly(c, s->len);
		return;
	}
	if (!c->layouts[event].period)
		record.sample.period = c->options.period;
	record.sample.borrowed = !source;
	c->stats.samples++;
	r->sink->sample(r->sink->arg, &record.sample, (unsigned)event);
}

static void hand_out_sideband(struct round *r, const struct sideband *s)
{
	struct capture *c = r->c;

	if (c->covered)
		members_follow(c->covered, s);
	if (!c->members || members_follow(c->members, s))
		r->sink->sideband(r->sink->arg, s);
}

static void count_lost(struct capture *c, const struct merge_source *s, const struct record *record)
{
	if (!s->sampling)
		c->stats.sideband_lost += record->lost.count;
	else if (record->lost.by_hardware)
		c->lost_by_hardware += record->lost.count;
	else
		c->lost_records += record->lost.count;
}

static void hand_out_other(struct round *r, const struct merge_source *s)
{
	const struct record_layout layout = {.sampling = s->sampling};
	struct capture *c = r->c;
	struct record record;

	if (record_decode(s->bytes, s->len, &layout, &record) < 0) {
		decoded_badly(c, s->len);
		return;
	}
	switch (record.kind) {
	case RECORD_SIDEBAND: hand_out_sideband(r, &record.sideband); break;
	case RECORD_LOST: count_lost(c, s, &record); break;
	case RECORD_THROTTLE: c->stats.throttled++; break;
	case RECORD_UNKNOWN: c->stats.unknown++; break;
	case RECORD_SAMPLE:
	case RECORD_UNTHROTTLE:
	case RECORD_OTHER: break;
	}
}

static void hand_out(struct round *r, const struct merge_source *s)
{
	struct sample_head head;

	r->records++;
	if (s->sampling && record_sample_head(s->bytes, s->len, &head))
		hand_out_sample(r, s, &head);
	else
		hand_out_other(r, s);
}

/* Sample rings first: whatever had happened to an address space when the last of these samples was
 * taken is then in the sideband rings, whose heads are taken after. */
static int take_heads(struct capture *c)
{
	unsigned slots = events_slot_count(c->events), rings = events_ring_count(c->events);
	int r = 0;

	for (unsigned i = 0; i < slots; i++)
		for (unsigned k = 0; k < rings; k++)
			ring_take_head(events_slot(c->events, i)->samples[k]);
	for (unsigned i = 0; i < slots; i++)
		ring_take_head(events_slot(c->events, i)->sideband);
	for (unsigned i = 0; i < slots && r == 0; i++) {
		struct slot *slot = events_slot(c->events, i);

		for (unsigned k = 0; k < rings && r == 0; k++)
			r = merge_add(c->merge, slot->samples[k], true, i, k);
		if (r == 0)
			r = merge_add(c->merge, slot->sideband, false, i, 0);
	}
	return r;
}

int capture_round(struct capture *c, const struct capture_sink *sink)
{
	struct round round = {.c = c, .sink = sink};
	const struct merge_source *s;
	int r;

	merge_begin(c->merge, c->stopped ? UINT64_MAX : time_mono_ns() - SLACK_NS);
	r = take_heads(c);
	if (r < 0)
		return r;
	while ((s = merge_next(c->merge, &c->stats.malformed_bytes)))
		hand_out(&round, s);
	c->stats.records += (uint64_t)round.records;
	c->read_since_reap = true;
	if (!c->stopped)
		tasks_adopt(c);
	return round.records;
}
