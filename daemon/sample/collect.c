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

/* Of rings of the previous plan; beside the number of the ring. */
#define OF_PREVIOUS 256u

static void decoded_badly(struct capture *c, size_t len)
{
	c->stats.malformed++;
	c->stats.malformed_bytes += len;
}

/* Whose sample it is, by its ring or by its id. -1: nobody's. */
static int event_of(const struct events *e, unsigned ring, const struct event_source *source)
{
	int sole = events_sole(e, ring);

	if (sole >= 0)
		return sole;
	return source ? (int)source->event : -1;
}

static void hand_out_sample(
	struct round *r, const struct merge_source *s, const struct sample_head *head)
{
	struct capture *c = r->c;
	bool previous = s->index & OF_PREVIOUS;
	struct events *e = previous ? c->previous : c->events;
	const struct record_layout *layout;
	const struct event_source *source;
	struct record record;
	int event;

	/* By the pid alone: most samples of a CPU-wide event are of no interest. */
	if (c->members && !members_has(c->members, head->pid)) {
		c->stats.filtered++;
		return;
	}
	source = events_find(e, head->id);
	event = event_of(e, s->index % OF_PREVIOUS, source);
	if (event < 0) {
		c->stats.unknown++;
		return;
	}
	if (tasks_is_double(c, e, s->slot, (unsigned)event, head, source)) {
		c->stats.filtered++;
		return;
	}
	layout = previous ? &c->previous_layouts[event] : &c->layouts[event];
	if (record_decode(s->bytes, s->len, layout, &record) < 0) {
		decoded_badly(c, s->len);
		return;
	}
	if (!layout->period)
		record.sample.period = previous ? c->previous_period : c->options.period;
	record.sample.borrowed = !source;
	c->stats.samples++;
	r->sink->sample(r->sink->arg, &record.sample, (unsigned)event);
}

static void hand_out_sideband(struct round *r, const struct sideband *s)
{
	struct capture *c = r->c;

	c->births += s->kind == SIDEBAND_FORK;
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

/* While two plans overlap, both tell what happens to the target. */
static bool is_told_twice(const struct capture *c, const struct merge_source *s, uint64_t t_ns)
{
	if (!c->previous)
		return false;
	return s->index & OF_PREVIOUS ? t_ns > c->replanned_ns : t_ns <= c->replanned_ns;
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
	case RECORD_SIDEBAND:
		if (!is_told_twice(c, s, record.t_ns))
			hand_out_sideband(r, &record.sideband);
		break;
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

static void take_sample_heads(struct events *e)
{
	for (unsigned i = 0; i < events_slot_count(e); i++)
		for (unsigned k = 0; k < events_ring_count(e); k++)
			ring_take_head(events_slot(e, i)->samples[k]);
}

static void take_sideband_heads(struct events *e)
{
	for (unsigned i = 0; i < events_slot_count(e); i++)
		ring_take_head(events_slot(e, i)->sideband);
}

static int add_rings(struct merge *m, struct events *e, unsigned flag)
{
	int r = 0;

	for (unsigned i = 0; i < events_slot_count(e) && r == 0; i++) {
		struct slot *slot = events_slot(e, i);

		for (unsigned k = 0; k < events_ring_count(e) && r == 0; k++)
			r = merge_add(m, slot->samples[k], true, i, k | flag);
		if (r == 0)
			r = merge_add(m, slot->sideband, false, i, flag);
	}
	return r;
}

/* Sample rings first: whatever had happened to an address space when the last of these samples was
 * taken is then in the sideband rings, whose heads are taken after. */
static int take_heads(struct capture *c)
{
	int r;

	if (c->previous)
		take_sample_heads(c->previous);
	take_sample_heads(c->events);
	if (c->previous)
		take_sideband_heads(c->previous);
	take_sideband_heads(c->events);
	r = c->previous ? add_rings(c->merge, c->previous, OF_PREVIOUS) : 0;
	return r < 0 ? r : add_rings(c->merge, c->events, 0);
}

/* All that was in its rings is older than what a round leaves for the next. */
static void end_previous(struct capture *c)
{
	if (!c->previous)
		return;
	if (capture_peak(c->previous) > c->peak_before)
		c->peak_before = capture_peak(c->previous);
	events_free(MOVE(c->previous));
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
	end_previous(c);
	if (!c->stopped)
		tasks_adopt(c);
	return round.records;
}
