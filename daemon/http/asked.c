#include "daemon/http/asked.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/cleanup.h"
#include "daemon/http/answer.h"

#define LAST_S_MAX 1e9
#define DEPTH_MAX  100000

static bool ask_levels(struct req *r, struct asked *a)
{
	struct view_query *view = &a->view;
	const char *list = uri_get(&r->uri, "by");

	a->by_given = list != NULL;
	while (list && *list) {
		size_t len = strcspn(list, ",");

		if (len == 7 && memcmp(list, "process", 7) == 0) {
			view->by_process = true;
		} else if (len == 6 && memcmp(list, "thread", 6) == 0) {
			view->by_thread = true;
		} else if (len == 4 && memcmp(list, "none", 4) == 0) {
			view->by_process = view->by_thread = false;
		} else {
			problem(r, 400,
				"The query value by must be process, thread, both with a comma "
				"between, or none.");
			return false;
		}
		list += len + (list[len] == ',');
	}
	return true;
}

static bool ask_ids(struct req *r, struct view_query *view)
{
	uint64_t pid = 0, tid = 0;

	if (!ask_u64(r, "pid", 1, INT_MAX, &pid) || !ask_u64(r, "thread", 1, INT_MAX, &tid))
		return false;
	view->pid = (pid_t)pid;
	view->tid = (pid_t)tid;
	return true;
}

static bool ask_time(struct req *r, struct asked *a)
{
	if (!ask_moment(r, "from", &a->from) || !ask_moment(r, "to", &a->to) ||
		!ask_double(r, "last", 0.001, LAST_S_MAX, &a->last_s))
		return false;
	if (a->last_s > 0 && (a->from.given || a->to.given)) {
		problem(r, 400, "Give either last, or from and to.");
		return false;
	}
	return true;
}

bool asked_samples(struct req *r, struct asked *a)
{
	a->view.event = -1;
	a->event = uri_get(&r->uri, "event");
	return ask_ids(r, &a->view) && ask_time(r, a);
}

bool asked_read(struct req *r, struct asked *a)
{
	uint64_t depth = 0;
	double percent = 0;

	if (!ask_levels(r, a) || !asked_samples(r, a) ||
		!ask_u64(r, "depth", 1, DEPTH_MAX, &depth) || !ask_bool(r, "inline", &a->inlines) ||
		!ask_bool(r, "inverted", &a->view.inverted) ||
		!ask_bool(r, "fold_templates", &a->view.fold_templates) ||
		!ask_double(r, "min", 0, 100, &percent))
		return false;
	a->view.min_share = percent / 100;
	a->view.max_depth = (uint32_t)depth;
	return true;
}

bool asked_lines(struct req *r, struct asked *a)
{
	if (!ask_bool(r, "lines", &a->view.lines))
		return false;
	a->inlines |= a->view.lines;
	return true;
}

bool asked_needs_log(const struct asked *a)
{
	return a->from.given || a->to.given || a->last_s > 0 || view_query_needs_log(&a->view);
}

bool asked_event(struct req *r, const struct profile *p, const char *name, int *ret_index)
{
	AUTO(buf_done) struct buf names = BUF_INIT;

	if (!name)
		return true;
	for (uint32_t i = 0; i < p->event_count; i++) {
		const char *event = profile_text(p, p->events[i].name);

		if (strcmp(event, name) == 0) {
			*ret_index = (int)i;
			return true;
		}
		buf_printf(&names, "%s%s", i ? ", " : "", event);
	}
	problem(r, 400, "The session has no event \"%.95s\"; it has: %s.", name,
		names.data ? names.data : "none");
	return false;
}

/* A moment on the clock of the samples; before the start: the start. */
static uint64_t to_mono(const struct profile_meta *m, const struct ask_moment *moment)
{
	if (!moment->is_wall)
		return m->started_ns + moment->ns;
	if (moment->ns < m->started_wall_ns)
		return m->started_ns;
	return m->started_ns + (moment->ns - m->started_wall_ns);
}

void asked_fit(struct asked *a, const struct profile *p)
{
	const struct profile_meta *m = &p->meta;
	struct view_query *view = &a->view;

	if (!a->by_given)
		view->by_process = p->process_count > 1;
	if (a->last_s > 0) {
		uint64_t ns = (uint64_t)(a->last_s * 1e9);

		/* 0 would mean all, and asking for all needs no log. */
		view->from_ns =
			m->taken_ns > ns && m->taken_ns - ns > m->started_ns ? m->taken_ns - ns : 0;
	}
	if (a->from.given)
		view->from_ns = to_mono(m, &a->from);
	if (a->to.given)
		view->to_ns = to_mono(m, &a->to);
}

void asked_refuse_view(struct req *r, int error)
{
	if (error == -ENODATA)
		problem(r, 422,
			"This session has kept no log of its samples, so that time ranges and "
			"threads cannot be told apart; ask without from, to, last, thread and "
			"by=thread, and for none of perfdata, firefox and chrome.");
	else
		problem(r, 503, "There is no memory for this view; ask for less, as by min=0.1.");
}

bool asked_range(struct req *r, struct asked *a, const struct profile *p)
{
	asked_fit(a, p);
	if (!a->to.given || a->view.to_ns > a->view.from_ns)
		return true;
	problem(r, 400, "The range is empty: to must be later than from.");
	return false;
}

bool asked_view(struct req *r, struct asked *a, const struct profile *p, struct view **ret_view)
{
	int error;

	if (!asked_event(r, p, a->event, &a->view.event) || !asked_range(r, a, p))
		return false;
	error = view_new(p, &a->view, ret_view);
	if (error < 0)
		asked_refuse_view(r, error);
	return error == 0;
}
