/* /v1/targets: what one could profile, and what it can be asked for. */
#include "daemon/http/api.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "daemon/http/answer.h"
#include "daemon/http/ask.h"
#include "daemon/http/http.h"
#include "daemon/http/json_in.h"
#include "daemon/http/json_out.h"
#include "daemon/run/javamap.h"

static const char *const kinds[] = {
	[TARGET_CLASS_PROCESS] = "process",
	[TARGET_CLASS_UNIT] = "unit",
	[TARGET_CLASS_CONTAINER] = "container",
	[TARGET_CLASS_CGROUP] = "cgroup",
	NULL,
};

#define ANY_KIND 4
#define PID_MAX  4194304

/* The body that starts a session of it. */
static void start_json(const struct target_info *t, struct buf *into)
{
	json_begin_in(into, "start", '{');
	if (t->kind == TARGET_CLASS_PROCESS)
		json_u64(into, "pid", (uint64_t)t->pid);
	else if (t->hidden)
		json_text(into, "cgroup", t->cgroup);
	else
		json_text(into, kinds[t->kind], t->name);
	json_end(into, '}');
}

static void target_json(const struct target_info *t, struct buf *into)
{
	json_begin(into, '{');
	json_text(into, "kind", kinds[t->kind]);
	if (t->kind == TARGET_CLASS_PROCESS) {
		json_u64(into, "pid", (uint64_t)t->pid);
		json_u64(into, "uid", t->uid);
	} else {
		json_null(into, "pid");
		json_null(into, "uid");
	}
	json_text(into, "name", t->name);
	json_text(into, "cgroup", t->cgroup[0] ? t->cgroup : NULL);
	json_u64(into, "processes", t->processes);
	json_u64(into, "threads", t->threads);
	json_double(into, "cpu_percent", t->cpu_percent);
	json_u64(into, "rss_bytes", t->rss_bytes);
	json_time(into, "started_at", t->started_wall_ns);
	start_json(t, into);
	json_end(into, '}');
}

void api_targets(struct req *r)
{
	static const char *const orders[] = {"cpu", "name", NULL};
	AUTO(buf_done) struct buf body = BUF_INIT;
	AUTO(free_auto) struct target_info *list = NULL;
	const char *q = uri_get(&r->uri, "q");
	unsigned order = 0, kind = ANY_KIND, count = 0, shown = 0, found = 0;
	uint64_t limit = UINT64_MAX;

	if (!ask_choice(r, "sort", orders, &order) || !ask_choice(r, "kind", kinds, &kind) ||
		!ask_u64(r, "limit", 1, 1000000, &limit))
		return;
	if (targets_list(r->http->setup.targets, &r->who, q && *q ? q : NULL, order == 1, &list,
		    &count)) {
		problem(r, 503,
			"The processes cannot be listed now; the log of the daemon says why.");
		return;
	}
	json_begin(&body, '{');
	json_begin_in(&body, "targets", '[');
	for (unsigned i = 0; i < count; i++) {
		if (kind != ANY_KIND && list[i].kind != (enum target_class)kind)
			continue;
		found++;
		if (shown < limit) {
			target_json(&list[i], &body);
			shown++;
		}
	}
	json_end(&body, ']');
	json_u64(&body, "found", found);
	json_end(&body, '}');
	answer_json(r, 200, &body);
}

void api_perfmap(struct req *r)
{
	AUTO(buf_done) struct buf message = BUF_INIT;
	AUTO(buf_done) struct buf body = BUF_INIT;
	struct hotspot_map map = {0};
	pid_t pid = r->id <= PID_MAX ? (pid_t)r->id : 0;
	int error = RUN_NOT_FOUND;

	if (json_in_nothing(r->body.data ? r->body.data : "", r->body.len, &message) < 0) {
		problem(r, 400, "%s", message.data ? message.data : "The body cannot be read.");
		return;
	}
	if (pid == 0)
		buf_printf(&message, "there is no process %" PRIu64, r->id);
	else
		error = javamap_write(r->http->setup.broker, r->http->setup.attacher, &r->who, pid,
			&map, &message);
	if (error != RUN_OK) {
		problem_of_run(r, error, &message);
		return;
	}
	json_begin(&body, '{');
	json_u64(&body, "pid", (uint64_t)pid);
	json_u64(&body, "ns_pid", (uint64_t)map.ns_pid);
	json_u64(&body, "map_bytes", map.map_bytes);
	json_end(&body, '}');
	answer_json(r, 200, &body);
}
