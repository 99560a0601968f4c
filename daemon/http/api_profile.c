/* /v1/sessions/ID/profile and flamegraph.svg: a dump, in one of the formats. */
#include "daemon/http/api.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "daemon/http/answer.h"
#include "daemon/http/dump.h"
#include "daemon/http/etag.h"
#include "daemon/http/http.h"
#include "daemon/render/render.h"
#include "daemon/tree/ledger.h"

/* An ended session does not change any more, so that its dumps have a tag; unless names of JIT code
 * are missing, which may come when the program ends. */
static bool tag_ended(struct req *r, const struct profile *head, enum render_format format)
{
	const struct profile_meta *m = &head->meta;
	const uint64_t *from = head->ledger.names_from;
	AUTO(buf_done) struct buf key = BUF_INIT;
	char tag[40];

	if (m->ended_wall_ns == 0 || (from[LEDGER_FROM_JITDUMP] && from[LEDGER_FROM_NOTHING]))
		return false;
	buf_printf(&key, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %s %s", m->session_id,
		m->started_wall_ns, m->ended_wall_ns, r->raw, profile_text(head, m->name));
	if (key.error)
		return false;
	snprintf(tag, sizeof(tag), "\"%016" PRIx64 "\"", hash_bytes(key.data, key.len, 0));
	r->answer.cache = "private, no-cache";
	if (!answer_etag(r, tag))
		return false;
	/* Browsers put the headers of "not modified" in place of those that they have kept. */
	if (format == RENDER_SVG)
		r->answer.csp = DUMP_SVG_POLICY;
	return true;
}

/* With a place among the heavy ones taken. */
static void make(struct req *r, struct dump *d)
{
	AUTO(profile_unref_auto) struct profile *p = NULL;
	AUTO(buf_done) struct buf message = {.max_bytes = 64 << 10};
	bool with_log = asked_needs_log(&d->asked) || render_log(d->format) != RENDER_LOG_UNUSED;
	int error = run_profile(
		r->http->setup.run, &r->who, r->id, with_log, d->asked.inlines, &p, &message);

	if (error == RUN_OK)
		dump_open(r, d, p);
	else
		problem_of_run(r, error, &message);
}

static void dump(struct req *r, struct dump *d)
{
	if (r->http->streams >= HTTP_STREAMS_MAX) {
		problem(r, 503, "Other profiles are being sent just now; try again in a moment.");
		return;
	}
	if (!http_enter_heavy(r))
		return;
	make(r, d);
	if (r->answer.stream) {
		if (d->format == RENDER_SVG)
			r->answer.csp = DUMP_SVG_POLICY;
		answer_header(r, "Content-Disposition", "%s; filename=\"profile-%" PRIu64 ".%s\"",
			render_is_for_browsers(d->format) ? "inline" : "attachment", r->id,
			render_extension(d->format));
		dump_first_piece(r, d);
	}
	http_leave_heavy(r);
}

static void answer_profile(struct req *r, enum render_format format)
{
	AUTO(profile_unref_auto) struct profile *head = NULL;
	AUTO(buf_done) struct buf message = {.max_bytes = 64 << 10};
	struct dump d = {.format = format};
	int error;

	if (!dump_ask(r, &d))
		return;
	error = run_head(r->http->setup.run, &r->who, r->id, &head, &message);
	if (error != RUN_OK)
		problem_of_run(r, error, &message);
	else if (!tag_ended(r, head, d.format))
		dump(r, &d);
}

void api_profile(struct req *r)
{
	answer_profile(r, RENDER_JSON);
}

void api_flamegraph(struct req *r)
{
	if (uri_get(&r->uri, "format"))
		problem(r, 400,
			"flamegraph.svg is SVG always; other formats are at .../profile?format=.");
	else
		answer_profile(r, RENDER_SVG);
}
