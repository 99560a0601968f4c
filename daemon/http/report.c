#include "daemon/http/report.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/log.h"
#include "base/parse.h"
#include "daemon/http/answer.h"
#include "daemon/http/api.h"
#include "daemon/http/dump.h"
#include "daemon/render/render.h"
#include "daemon/run/import.h"
#include "daemon/run/naming.h"

static int ask(const struct report_setup *setup, struct req *r)
{
	AUTO(buf_done) struct buf target = BUF_INIT;
	AUTO(buf_done) struct buf why = BUF_INIT;
	int status;

	buf_printf(&target, "/?%s", setup->query);
	if (target.error)
		return target.error;
	status = uri_parse(target.data, &r->uri, &why);
	if (status == 0)
		return 0;
	problem(r, (unsigned)status, "%s", why.data ? why.data : "The question is malformed.");
	return -EINVAL;
}

static int import(const struct report_setup *setup, struct req *r, struct session **ret_session)
{
	AUTO(buf_done) struct buf message = {.max_bytes = 64 << 10};
	const char *given = uri_get(&r->uri, "name");
	char name[128] = "perf.data";
	struct import_setup import = {
		.config = setup->config,
		.broker = setup->broker,
		.names = setup->names,
		.owner = setup->owner,
		.name = name,
	};
	int error;

	if (given && *given)
		text_utf8(given, strlen(given), name, sizeof(name));
	error = import_file(&import, setup->recording_fd, ret_session, &message);
	if (error == RUN_OK)
		return 0;
	problem_of_run(r, error, &message);
	return -EINVAL;
}

static int tell_session(const struct report_setup *setup, const struct profile *head)
{
	AUTO(buf_done) struct buf body = BUF_INIT;

	session_json(head, &body);
	if (body.error)
		return body.error;
	return io_write_all(setup->session_fd, body.data, body.len);
}

static int tell_problem(const struct report_setup *setup, const struct answer *a)
{
	if (a->fixed)
		(void)io_write_all(setup->session_fd, a->fixed, a->fixed_len);
	else if (a->body.len)
		(void)io_write_all(setup->session_fd, a->body.data, a->body.len);
	return -EINVAL;
}

static int write_profile(const struct report_setup *setup, struct answer *a)
{
	int more = a->stream != NULL;
	int r = io_write_all(setup->profile_fd, a->body.data, a->body.len);

	while (r == 0 && more > 0) {
		buf_clear(&a->body);
		more = render_more(a->stream, &a->body);
		r = more < 0 ? more : a->body.error;
		if (r == 0 && a->body.len)
			r = io_write_all(setup->profile_fd, a->body.data, a->body.len);
	}
	if (r < 0)
		log_error("the profile cannot be written: %s", strerror(-r));
	return r;
}

/* The recording, and its profile with names. */
struct work {
	const struct report_setup *setup;
	struct session *session;
	struct profile *named;
};

static struct profile *name_it(void *arg, bool inlines)
{
	struct work *w = arg;
	int r = naming_apply_take(w->setup->names, MOVE(w->session->final),
		inlines ? NAMES_INLINES : NAMES_PLAIN, &w->named);

	return r < 0 ? NULL : w->named;
}

static int report(struct work *w, struct req *r)
{
	int e = ask(w->setup, r);

	if (e == 0)
		e = import(w->setup, r, &w->session);
	if (e == 0)
		dump_answer(r, name_it, w);
	if (!w->session || !w->named || r->answer.status != 200)
		return tell_problem(w->setup, &r->answer);
	session_note_names(w->session, &w->named->ledger);
	e = tell_session(w->setup, w->session->head);
	return e < 0 ? e : write_profile(w->setup, &r->answer);
}

int report_write(const struct report_setup *setup)
{
	AUTO(free_auto) struct req *r = calloc(1, sizeof(*r));
	struct work w = {.setup = setup};
	int e;

	if (!r)
		return -ENOMEM;
	e = report(&w, r);
	profile_unref(w.named);
	session_free(w.session);
	answer_done(&r->answer);
	uri_done(&r->uri);
	return e;
}
