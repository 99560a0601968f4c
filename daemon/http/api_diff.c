/* /v1/diff: two sessions, or two times of sessions, compared. */
#include "daemon/http/api.h"

#include <string.h>

#include "base/cleanup.h"
#include "daemon/http/answer.h"
#include "daemon/http/dump.h"
#include "daemon/http/http.h"
#include "daemon/render/diff.h"

/* One of the two. */
struct compared {
	const char *key, *from, *to; /* of the query */
	uint64_t id;
	struct asked asked;
};

struct comparison {
	struct dump dump; /* its question is what both sides have in common */
	struct diff_options options;
	struct compared side[DIFF_SIDES];
};

static bool ask_side(struct req *r, const struct asked *common, struct compared *side)
{
	side->asked = *common;
	if (!uri_get(&r->uri, side->key)) {
		problem(r, 400,
			"The query needs base and other: the ids of two sessions, or twice of "
			"one with times of each (base_from, base_to, other_from, other_to).");
		return false;
	}
	return ask_u64(r, side->key, 1, UINT64_MAX, &side->id) &&
		ask_moment(r, side->from, &side->asked.from) &&
		ask_moment(r, side->to, &side->asked.to);
}

static bool ask_options(struct req *r, struct diff_options *o)
{
	static const char *const norms[] = {
		[DIFF_SHARE] = "share", [DIFF_TIME] = "time", [DIFF_NONE] = "none", NULL};
	static const char *const sides[] = {[DIFF_BASE] = "base", [DIFF_OTHER] = "other", NULL};
	unsigned norm = DIFF_SHARE, width = DIFF_OTHER;
	bool modules = true;

	if (!ask_choice(r, "norm", norms, &norm) || !ask_choice(r, "widths", sides, &width) ||
		!ask_bool(r, "modules", &modules))
		return false;
	o->norm = norm;
	o->width = width;
	o->any_module = !modules;
	return true;
}

static bool ask(struct req *r, struct comparison *c)
{
	struct asked *a = &c->dump.asked;

	if (!dump_ask(r, &c->dump) || !ask_options(r, &c->options))
		return false;
	if (!render_is_for_browsers(c->dump.format)) {
		problem(r, 400, "A comparison comes as json, folded, svg or text.");
		return false;
	}
	/* Processes of two runs are not the same ones: they are told apart only if that is asked
	 * for. What is light on one side alone is folded when both are laid upon each other. */
	a->by_given = true;
	c->options.min_share = a->view.min_share;
	a->view.min_share = 0;
	return ask_side(r, a, &c->side[DIFF_BASE]) && ask_side(r, a, &c->side[DIFF_OTHER]);
}

static struct view *get_view(struct req *r, struct compared *side)
{
	AUTO(profile_unref_auto) struct profile *p = NULL;
	AUTO(buf_done) struct buf message = {.max_bytes = 64 << 10};
	struct view *v = NULL;
	int error = run_profile(r->http->setup.run, &r->who, side->id,
		asked_needs_log(&side->asked), side->asked.inlines, &p, &message);

	if (error != RUN_OK)
		problem_of_run(r, error, &message);
	else if (!asked_view(r, &side->asked, p, &v))
		v = NULL;
	return v;
}

static const char *event_of(const struct view *v)
{
	return profile_text(v->profile, v->profile->events[v->query.event].name);
}

static bool check_events(struct req *r, const struct view *base, const struct view *other)
{
	if (strcmp(event_of(base), event_of(other)) == 0)
		return true;
	problem(r, 400,
		"The first event of base is %.95s, that of other %.95s; name one that both have, "
		"as "
		"event=.",
		event_of(base), event_of(other));
	return false;
}

static void open_stream(struct req *r, struct comparison *c)
{
	AUTO(view_free_auto) struct view *base = get_view(r, &c->side[DIFF_BASE]);
	AUTO(view_free_auto) struct view *other = base ? get_view(r, &c->side[DIFF_OTHER]) : NULL;
	struct view *both = NULL;
	int error;

	if (!base || !other || !check_events(r, base, other))
		return;
	error = diff_new(MOVE(base), MOVE(other), &c->options, &both);
	if (error == 0)
		error = render_new(c->dump.format, both, &c->dump.svg, &r->answer.stream);
	if (error < 0)
		problem(r, 503,
			"There is no memory for this comparison; ask for less, as by depth=50.");
}

void api_diff(struct req *r)
{
	struct comparison c = {.dump = {.format = RENDER_JSON},
		.side = {{.key = "base", .from = "base_from", .to = "base_to"},
			{.key = "other", .from = "other_from", .to = "other_to"}}};

	if (!ask(r, &c))
		return;
	if (r->http->streams >= HTTP_STREAMS_MAX) {
		problem(r, 503, "Other profiles are being sent just now; try again in a moment.");
		return;
	}
	if (!http_enter_heavy(r))
		return;
	open_stream(r, &c);
	if (r->answer.stream) {
		if (c.dump.format == RENDER_SVG)
			r->answer.csp = DUMP_SVG_POLICY;
		dump_first_piece(r, &c.dump);
	}
	http_leave_heavy(r);
}
