/* /debug/pprof/: what "go tool pprof" asks of a service in Go, of this machine's programs. */
#include "daemon/http/api.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "daemon/http/answer.h"
#include "daemon/http/ask.h"
#include "daemon/http/dump.h"
#include "daemon/http/http.h"

#define SECONDS_DEFAULT 30.0
#define SECONDS_MIN     0.1
#define SECONDS_MAX     3600.0
#define RETRY_NS        ((uint64_t)100000000)

/* ---- profile: a session that runs for one answer ---- */

static void forget(struct req *r)
{
	AUTO(buf_done) struct buf message = {.max_bytes = 64 << 10};

	(void)run_delete(r->http->setup.run, &r->who, r->id, &message);
}

/* The profile of the session, which has run for as long as it should. */
static void make(struct req *r)
{
	AUTO(profile_unref_auto) struct profile *p = NULL, *head = NULL;
	AUTO(buf_done) struct buf message = {.max_bytes = 64 << 10};
	struct dump d = {.format = RENDER_PPROF};
	struct run *run = r->http->setup.run;
	int error;

	/* The query was fine when the session began. */
	d.asked.view.event = -1;
	if (!ask_bool(r, "lines", &d.asked.view.lines))
		return;
	error = run_stop(run, &r->who, r->id, &head, &message);
	if (error == RUN_OK)
		error = run_profile(run, &r->who, r->id, false, d.asked.view.lines, &p, &message);
	if (error != RUN_OK) {
		problem_of_run(r, error, &message);
		return;
	}
	dump_open(r, &d, p);
	answer_header(r, "Content-Disposition", "attachment; filename=\"profile.pb.gz\"");
	if (r->answer.stream)
		dump_first_piece(r, &d);
}

static void finish(struct req *r, bool gone)
{
	if (gone) {
		forget(r);
		problem(r, 503,
			"Too many profiles are being waited for, or the daemon stops; try again in "
			"a "
			"moment.");
		return;
	}
	if (!http_enter(&r->http->heavy, HTTP_HEAVY_MAX)) {
		answer_later(r, finish, time_mono_ns() + RETRY_NS);
		return;
	}
	make(r);
	http_leave(&r->http->heavy);
	forget(r);
}

static bool ask_profile(struct req *r, struct session_request *q, double *ret_seconds)
{
	uint64_t pid = 0;
	bool lines;

	*ret_seconds = SECONDS_DEFAULT;
	if (!ask_double(r, "seconds", SECONDS_MIN, SECONDS_MAX, ret_seconds) ||
		!ask_u64(r, "pid", 1, INT_MAX, &pid) || !ask_bool(r, "lines", &lines))
		return false;
	session_request_defaults(q);
	q->target = pid ? RUN_PID : RUN_ALL;
	q->pids[0] = (pid_t)pid;
	q->pid_count = pid ? 1 : 0;
	memcpy(q->name, "pprof", sizeof("pprof"));
	return true;
}

void api_pprof_profile(struct req *r)
{
	AUTO(free_auto) struct session_request *q = calloc(1, sizeof(*q));
	AUTO(profile_unref_auto) struct profile *head = NULL;
	AUTO(buf_done) struct buf message = {.max_bytes = 64 << 10};
	double seconds;
	int error;

	if (!q) {
		problem(r, 503, "There is no memory for this; try again later.");
		return;
	}
	if (!ask_profile(r, q, &seconds))
		return;
	if (strcmp(r->method_text, "HEAD") == 0) {
		answer_take(r, 200, render_content_type(RENDER_PPROF), &message);
		return;
	}
	error = run_start(r->http->setup.run, &r->who, q, &head, &message);
	if (error != RUN_OK) {
		problem_of_run(r, error, &message);
		return;
	}
	r->id = head->meta.session_id;
	answer_later(r, finish, time_mono_ns() + (uint64_t)(seconds * 1e9));
}

/* ---- the rest ---- */

/* What somebody who came here by hand may want. The sessions are those that he may see. */
void api_pprof_index(struct req *r)
{
	AUTO(buf_done) struct buf page = BUF_INIT, message = BUF_INIT;
	struct profile **heads = NULL;
	unsigned count = 0;
	int error = run_list(r->http->setup.run, &r->who, &heads, &count);

	if (error != RUN_OK) {
		problem_of_run(r, error, &message);
		return;
	}
	buf_append_str(&page,
		"<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>/debug/pprof/"
		"</title><h1>/debug/pprof/</h1><p>For go tool pprof.</p><ul>"
		"<li><a href=\"/debug/pprof/profile?seconds=30\">profile</a>: the whole machine "
		"for "
		"so many seconds; with pid=N one process, with lines=1 files and lines"
		"<li><a href=\"/debug/pprof/cmdline\">cmdline</a>"
		"<li><a href=\"/debug/pprof/symbol\">symbol</a></ul><h2>Sessions</h2><ul>");
	for (unsigned i = 0; i < count; i++) {
		const char *target = profile_text(heads[i], heads[i]->meta.target);

		buf_printf(&page, "<li><a href=\"/v1/sessions/%" PRIu64 "/profile?format=pprof\">",
			heads[i]->meta.session_id);
		buf_printf(&page, "%" PRIu64 ": ", heads[i]->meta.session_id);
		render_xml_text(&page, target, strlen(target));
		buf_append_str(&page, "</a>");
		profile_unref(heads[i]);
	}
	free(heads);
	buf_append_str(&page, "</ul>\n");
	answer_take(r, 200, "text/html; charset=utf-8", &page);
}

/* Readers look here for functions that a profile has no names for. Those of ours have all that can
 * be known, and addresses that are the profile's own: there is nothing to look up. */
void api_pprof_symbol(struct req *r)
{
	static const char none[] = "num_symbols: 0\n";

	answer_fixed(r, "text/plain; charset=utf-8", none, sizeof(none) - 1);
}

void api_pprof_cmdline(struct req *r)
{
	answer_fixed(r, "text/plain; charset=utf-8", program_invocation_name,
		strlen(program_invocation_name));
}
