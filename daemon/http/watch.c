#include "daemon/http/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/map.h"
#include "daemon/http/answer.h"
#include "daemon/http/api.h"
#include "daemon/http/http.h"
#include "daemon/render/delta.h"

/* A client has to keep and draw what it is told; ours may keep twice that, before it begins anew.
 */
#define NODES_SHOWN 20000u
#define NODES_TOLD  (2 * NODES_SHOWN)

struct watch {
	struct run *run;
	struct caller who;
	uint64_t id;
	struct asked asked;
	struct delta *delta;
	uint64_t head_hash;    /* of the session as it was told */
	uint64_t samples_told; /* of the session when the tree was */
	bool over;
};

AUTO_FREE_FN(struct watch, watch_free)

static void put_event(struct buf *into, const char *event, const char *json)
{
	buf_printf(into, "event: %s\ndata: ", event);
	buf_append_str(into, json);
	buf_append_str(into, "\n\n");
}

static void put_end(struct watch *w, const char *reason, struct buf *into)
{
	AUTO(buf_done) struct buf json = BUF_INIT;

	buf_printf(&json, "{\"reason\":\"%s\"}", reason);
	put_event(into, "end", json.data ? json.data : "{}");
	w->over = true;
}

static void put_head(struct watch *w, const struct profile *head, struct buf *into)
{
	AUTO(buf_done) struct buf json = BUF_INIT;
	uint64_t hash;

	session_json(head, &json);
	if (json.error || !json.data)
		return;
	hash = hash_bytes(json.data, json.len, 0);
	if (hash != w->head_hash)
		put_event(into, "session", json.data);
	w->head_hash = hash;
}

static int put_tree(struct watch *w, const struct view *view, struct buf *into)
{
	int r;

	buf_append_str(into, "event: tree\ndata: ");
	r = delta_tell(w->delta, view, into);
	buf_append_str(into, "\n\n");
	return r < 0 ? r : into->error;
}

static bool has_ended(const struct profile *p)
{
	return p->meta.ended_wall_ns != 0;
}

void watch_free(struct watch *w)
{
	if (!w)
		return;
	delta_free(w->delta);
	free(w);
}

static int get_profile(struct watch *w, struct profile **ret_profile, struct buf *message)
{
	return run_profile(w->run, &w->who, w->id, asked_needs_log(&w->asked), w->asked.inlines,
		ret_profile, message);
}

/* All at once, as refusals need a status. */
static void begin(struct watch *w, struct req *r, struct buf *into)
{
	AUTO(profile_unref_auto) struct profile *head = NULL;
	AUTO(profile_unref_auto) struct profile *p = NULL;
	AUTO(view_free_auto) struct view *view = NULL;
	AUTO(buf_done) struct buf message = {.max_bytes = 64 << 10};
	int error = run_head(w->run, &w->who, w->id, &head, &message);

	if (error == RUN_OK)
		error = get_profile(w, &p, &message);
	if (error != RUN_OK) {
		problem_of_run(r, error, &message);
		return;
	}
	if (!asked_view(r, &w->asked, p, &view))
		return;
	put_head(w, head, into);
	if (put_tree(w, view, into) < 0) {
		problem(r, 503,
			"There is no memory for this tree, or its names are too long; ask for "
			"less, as by min=0.1.");
		return;
	}
	w->samples_told = head->ledger.samples;
	/* What ran when the head was taken may have more to tell. */
	if (has_ended(head))
		put_end(w, "ended", into);
}

struct watch *watch_new(struct req *r, const struct asked *asked, struct buf *into)
{
	AUTO(watch_free_auto) struct watch *w = calloc(1, sizeof(*w));

	if (!w || delta_new(NODES_TOLD, &w->delta) < 0) {
		problem(r, 503, "There is no memory for this; try again later.");
		return NULL;
	}
	w->run = r->http->setup.run;
	w->who = r->who;
	w->id = r->id;
	w->asked = *asked;
	w->asked.view.max_shown = NODES_SHOWN;
	begin(w, r, into);
	w->asked.event = NULL; /* was the request's, and is an index now */
	return r->answer.status ? NULL : MOVE(w);
}

static int tell_tree(struct watch *w, struct buf *into)
{
	AUTO(profile_unref_auto) struct profile *p = NULL;
	AUTO(view_free_auto) struct view *view = NULL;
	AUTO(buf_done) struct buf message = {.max_bytes = 64 << 10};
	size_t before = into->len;
	int r;

	if (get_profile(w, &p, &message) != RUN_OK)
		return -EAGAIN;
	asked_fit(&w->asked, p);
	r = view_new(p, &w->asked.view, &view);
	if (r == 0)
		r = put_tree(w, view, into);
	if (r < 0 && !into->error)
		into->len = before;
	return r;
}

void watch_tell(struct watch *w, struct buf *into)
{
	AUTO(profile_unref_auto) struct profile *head = NULL;
	AUTO(buf_done) struct buf message = {.max_bytes = 64 << 10};
	int r = run_head(w->run, &w->who, w->id, &head, &message);

	if (r == RUN_NOT_FOUND)
		put_end(w, "deleted", into);
	if (r != RUN_OK)
		return;
	put_head(w, head, into);
	/* What lies within the last seconds changes by itself. */
	if (has_ended(head) || w->asked.last_s > 0 || head->ledger.samples != w->samples_told) {
		r = tell_tree(w, into);
		if (r == 0)
			w->samples_told = head->ledger.samples;
		else
			log_debug("http: a tree could not be told: %s", strerror(-r));
	}
	if (r == -ENOSPC)
		put_end(w, "too_large", into);
	else if (has_ended(head))
		put_end(w, r == 0 ? "ended" : "failed", into);
}

bool watch_is_over(const struct watch *w)
{
	return w->over;
}
