/* A view as one JSON object:
 *
 *   version          1
 *   session          id, name, target, state, ended_by, started_at, ended_at (null while it runs),
 * elapsed_ns, freq_hz, period, warnings: an array of sentences event, unit      "cpu-clock";
 * "nanoseconds" for clocks, else "count" total, samples   of the view: the sum of all self, in
 * units and in samples query            what was asked: pid, tid, by_process, by_thread, lines,
 * inverted, fold_templates, min_share, max_depth covers           from, to (times of day), from_ns,
 * to_ns (monotonic), log_short: true when the question reached back further than the sample log
 * does folded           weight, nodes: what min_share, max_depth and the daemon's limits moved to a
 * parent's self ledger           every field of the ledger by its name; unwind_ends is an object by
 * reason kinds            names of kinds, for name_kind processes       objects: pid, name,
 * command, cgroup, container; null: not known modules, files   strings, for name_module and
 * name_file names            the distinct frames, sorted; for each, in columns of the same length:
 * name_module, name_kind, name_file, name_line, name_unnamed (0 or 1) depth            the nodes in
 * preorder, the root first, at depth 0; for each, in columns of the same length: name, self,
 * samples_total name: index into names; self: weight of samples that ended there; samples_total:
 * samples that passed there. A node's total is the sum of self over it and the nodes after it that
 * are deeper.
 *
 * All numbers but min_share are integers and are written in full, also beyond 2^53. Depth has no
 * limit but max_depth. Columns take a quarter of the bytes that an object for each node would. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/render/diff.h"
#include "daemon/render/distinct.h"
#include "daemon/render/parts.h"
#include "daemon/render/text.h"
#include "daemon/render/writer.h"
#include "daemon/tree/ledger.h"

#define FUNCTIONS_MAX 2000u /* of a comparison: those that have changed most */

struct json {
	const struct view *view;
	struct distinct modules, files;
	struct parts parts;
	bool begun;
};

static void string(struct buf *into, const char *text)
{
	render_json_string(into, text, strlen(text));
}

static void member(struct buf *into, const char *key, const char *text)
{
	buf_printf(into, ",\"%s\":", key);
	string(into, text);
}

static void number(struct buf *into, const char *key, uint64_t value)
{
	buf_printf(into, ",\"%s\":", key);
	buf_append_u64(into, value);
}

static void truth(struct buf *into, const char *key, bool value)
{
	buf_printf(into, ",\"%s\":%s", key, value ? "true" : "false");
}

static void moment(struct buf *into, const char *key, uint64_t wall_ns)
{
	buf_printf(into, ",\"%s\":\"", key);
	text_time(into, wall_ns);
	buf_append_char(into, '"');
}

static void warnings(struct buf *into, const char *lines)
{
	bool first = true;

	buf_append_str(into, ",\"warnings\":[");
	while (*lines) {
		size_t len = strcspn(lines, "\n");

		if (len > 0) {
			buf_append_str(into, first ? "" : ",");
			render_json_string(into, lines, len);
			first = false;
		}
		lines += len + (lines[len] == '\n');
	}
	buf_append_char(into, ']');
}

static void session(struct buf *into, const struct profile *p)
{
	const struct profile_meta *m = &p->meta;

	buf_append_str(into, ",\"session\":{\"id\":");
	buf_append_u64(into, m->session_id);
	member(into, "name", profile_text(p, m->name));
	member(into, "target", profile_text(p, m->target));
	member(into, "state", profile_text(p, m->state));
	member(into, "ended_by", profile_text(p, m->ended_by));
	moment(into, "started_at", m->started_wall_ns);
	if (m->ended_wall_ns)
		moment(into, "ended_at", m->ended_wall_ns);
	else
		buf_append_str(into, ",\"ended_at\":null");
	number(into, "elapsed_ns", m->taken_ns > m->started_ns ? m->taken_ns - m->started_ns : 0);
	number(into, "freq_hz", m->freq_hz);
	number(into, "period", m->period);
	warnings(into, profile_text(p, m->warnings));
	buf_append_char(into, '}');
}

static void query(struct buf *into, const struct view_query *q)
{
	buf_printf(into, ",\"query\":{\"pid\":%d,\"tid\":%d", (int)q->pid, (int)q->tid);
	truth(into, "by_process", q->by_process);
	truth(into, "by_thread", q->by_thread);
	truth(into, "lines", q->lines);
	truth(into, "inverted", q->inverted);
	truth(into, "fold_templates", q->fold_templates);
	/* JSON has neither infinity nor NaN; nor does a share. */
	buf_printf(into, ",\"min_share\":%.9g,\"max_depth\":%u}",
		q->min_share > 0 && q->min_share <= 1 ? q->min_share : 0.0, q->max_depth);
}

static uint64_t wall_of(const struct profile_meta *m, uint64_t t_ns)
{
	return m->started_wall_ns + (t_ns - m->started_ns);
}

static void covers(struct buf *into, const struct view *v)
{
	const struct profile_meta *m = &v->profile->meta;

	buf_append_str(into, ",\"covers\":{\"from_ns\":");
	buf_append_u64(into, v->covers_from_ns);
	number(into, "to_ns", v->covers_to_ns);
	moment(into, "from", wall_of(m, v->covers_from_ns));
	moment(into, "to", wall_of(m, v->covers_to_ns));
	truth(into, "log_short", v->log_short);
	buf_append_str(into, "},\"folded\":{\"weight\":");
	buf_append_u64(into, v->folded_weight);
	number(into, "nodes", v->folded_nodes);
	buf_append_char(into, '}');
}

static void ledger(struct buf *into, const struct ledger *l)
{
	const char *name;
	uint64_t value;

	buf_append_str(into, ",\"ledger\":{\"unwind_ends\":{");
	for (unsigned i = 0; (name = ledger_end_name(i)); i++) {
		buf_printf(into, "%s\"%s\":", i ? "," : "", name);
		buf_append_u64(into, l->unwind_ends[i]);
	}
	buf_append_str(into, "},\"names_from\":{");
	for (unsigned i = 0; (name = ledger_source_name(i)); i++) {
		buf_printf(into, "%s\"%s\":", i ? "," : "", name);
		buf_append_u64(into, l->names_from[i]);
	}
	buf_append_char(into, '}');
	for (unsigned i = 0; ledger_field(l, i, &name, &value); i++)
		number(into, name, value);
	buf_append_char(into, '}');
}

static void kinds(struct buf *into)
{
	buf_append_str(into, ",\"kinds\":[");
	for (unsigned i = 0; i < VIEW_KIND_COUNT; i++) {
		buf_append_str(into, i ? "," : "");
		string(into, view_kind_name((enum view_kind)i));
	}
	buf_append_char(into, ']');
}

static void head(struct buf *into, const struct view *v)
{
	const struct profile *p = v->profile;
	const struct profile_event *e = &p->events[v->query.event];

	buf_append_str(into, "{\"version\":1");
	session(into, p);
	member(into, "event", profile_text(p, e->name));
	member(into, "unit", e->is_clock ? "nanoseconds" : "count");
	number(into, "total", v->total);
	number(into, "samples", v->samples);
	query(into, &v->query);
	covers(into, v);
	ledger(into, &p->ledger);
	kinds(into);
}

static void put_module_text(void *state, size_t i, struct buf *into)
{
	const struct json *j = state;

	string(into, j->modules.list[i]);
}

static void put_file_text(void *state, size_t i, struct buf *into)
{
	const struct json *j = state;

	string(into, j->files.list[i]);
}

static void put_name_text(void *state, size_t i, struct buf *into)
{
	const struct json *j = state;

	string(into, j->view->names[i].text);
}

static void put_name_module(void *state, size_t i, struct buf *into)
{
	const struct json *j = state;

	buf_append_u64(into, j->modules.of_name[i]);
}

static void put_name_kind(void *state, size_t i, struct buf *into)
{
	const struct json *j = state;

	buf_append_u64(into, j->view->names[i].kind);
}

static void put_name_file(void *state, size_t i, struct buf *into)
{
	const struct json *j = state;

	buf_append_u64(into, j->files.of_name[i]);
}

static void put_name_line(void *state, size_t i, struct buf *into)
{
	const struct json *j = state;

	buf_append_u64(into, j->view->names[i].line);
}

static void put_name_unnamed(void *state, size_t i, struct buf *into)
{
	const struct json *j = state;

	buf_append_u64(into, j->view->names[i].unnamed);
}

static void put_depth(void *state, size_t i, struct buf *into)
{
	const struct json *j = state;

	buf_append_u64(into, j->view->nodes[i].depth);
}

static void put_name(void *state, size_t i, struct buf *into)
{
	const struct json *j = state;

	buf_append_u64(into, j->view->nodes[i].name);
}

static void put_self(void *state, size_t i, struct buf *into)
{
	const struct json *j = state;

	buf_append_u64(into, j->view->nodes[i].self);
}

static void put_samples(void *state, size_t i, struct buf *into)
{
	const struct json *j = state;

	buf_append_u64(into, j->view->nodes[i].samples);
}

/* ---- of a comparison ---- */

static const struct diff_node *diff_node(void *state, size_t i)
{
	return &((const struct json *)state)->view->diff->nodes[i];
}

static void put_self_base(void *state, size_t i, struct buf *into)
{
	buf_append_u64(into, diff_node(state, i)->side[DIFF_BASE].self);
}

static void put_self_other(void *state, size_t i, struct buf *into)
{
	buf_append_u64(into, diff_node(state, i)->side[DIFF_OTHER].self);
}

static void put_samples_base(void *state, size_t i, struct buf *into)
{
	buf_append_u64(into, diff_node(state, i)->side[DIFF_BASE].samples);
}

static void put_samples_other(void *state, size_t i, struct buf *into)
{
	buf_append_u64(into, diff_node(state, i)->side[DIFF_OTHER].samples);
}

static void put_z(void *state, size_t i, struct buf *into)
{
	buf_printf(into, "%.2f", diff_node(state, i)->change.z);
}

static void put_significant(void *state, size_t i, struct buf *into)
{
	buf_append_u64(into, diff_node(state, i)->change.significant);
}

static void put_change(struct buf *into, const char *suffix, const struct diff_change *c)
{
	buf_printf(into, ",\"delta%s\":%.9g,\"z%s\":%.2f,\"significant%s\":%s", suffix, c->delta,
		suffix, c->z, suffix, c->significant ? "true" : "false");
}

static void put_function(void *state, size_t i, struct buf *into)
{
	const struct view *v = ((const struct json *)state)->view;
	const struct diff_function *f = &v->diff->functions[i];
	const struct diff_cell *base = &f->side[DIFF_BASE], *other = &f->side[DIFF_OTHER];

	buf_append_str(into, "{\"name\":");
	string(into, v->names[f->name].text);
	member(into, "module", v->names[f->name].module);
	number(into, "self_base", base->self);
	number(into, "self_other", other->self);
	number(into, "total_base", base->total);
	number(into, "total_other", other->total);
	number(into, "samples_base", base->samples);
	number(into, "samples_other", other->samples);
	put_change(into, "_share", &f->total);
	put_change(into, "_self", &f->self);
	buf_append_char(into, '}');
}

static size_t function_count(const void *state)
{
	uint32_t count = ((const struct json *)state)->view->diff->function_count;

	return count > FUNCTIONS_MAX ? FUNCTIONS_MAX : count;
}

static void put_side(const struct view *v, enum diff_side side, const char *key, struct buf *into)
{
	const struct view *one = v->diff->side[side];

	buf_printf(into, ",\"%s\":{\"total\":", key);
	buf_append_u64(into, one->total);
	number(into, "samples", one->samples);
	buf_printf(into, ",\"scale\":%.17g", v->diff->scale[side]);
	session(into, one->profile);
	covers(into, one);
	buf_append_char(into, '}');
}

static void diff_head(struct buf *into, const struct view *v)
{
	static const char *const norms[] = {
		[DIFF_SHARE] = "share", [DIFF_TIME] = "time", [DIFF_NONE] = "none"};
	const struct profile_event *e = &v->profile->events[v->query.event];

	buf_append_str(into, "{\"version\":1");
	put_side(v, DIFF_BASE, "base", into);
	put_side(v, DIFF_OTHER, "other", into);
	member(into, "event", profile_text(v->profile, e->name));
	member(into, "unit", e->is_clock ? "nanoseconds" : "count");
	member(into, "norm", norms[v->diff->options.norm]);
	buf_printf(into, ",\"z_limit\":%.3f", v->diff->z_limit);
	number(into, "functions_found", v->diff->function_count);
	kinds(into);
}

static void put_text_of(const struct json *j, const char *key, uint32_t text, struct buf *into)
{
	const char *t = profile_text(j->view->profile, text);

	buf_printf(into, ",\"%s\":", key);
	if (*t)
		render_json_string(into, t, strlen(t));
	else
		buf_append_str(into, "null");
}

static void put_process(void *state, size_t i, struct buf *into)
{
	const struct json *j = state;
	const struct profile_process *p = &j->view->profile->processes[i];

	buf_printf(into, "{\"pid\":%d", (int)p->pid);
	put_text_of(j, "name", p->comm, into);
	put_text_of(j, "command", p->command, into);
	put_text_of(j, "cgroup", p->cgroup, into);
	put_text_of(j, "container", p->container, into);
	buf_append_char(into, '}');
}

static size_t process_count(const void *state)
{
	return ((const struct json *)state)->view->profile->process_count;
}

static size_t module_count(const void *state)
{
	return ((const struct json *)state)->modules.count;
}

static size_t file_count(const void *state)
{
	return ((const struct json *)state)->files.count;
}

static size_t name_count(const void *state)
{
	return ((const struct json *)state)->view->name_count;
}

static size_t node_count(const void *state)
{
	return ((const struct json *)state)->view->node_count;
}

static const struct part parts[] = {
	{",\"processes\":", process_count, put_process},
	{",\"modules\":", module_count, put_module_text},
	{",\"files\":", file_count, put_file_text},
	{",\"names\":", name_count, put_name_text},
	{",\"name_module\":", name_count, put_name_module},
	{",\"name_kind\":", name_count, put_name_kind},
	{",\"name_file\":", name_count, put_name_file},
	{",\"name_line\":", name_count, put_name_line},
	{",\"name_unnamed\":", name_count, put_name_unnamed},
	{",\"depth\":", node_count, put_depth},
	{",\"name\":", node_count, put_name},
	{",\"self\":", node_count, put_self},
	{",\"samples_total\":", node_count, put_samples},
};

static const struct part diff_parts[] = {
	{",\"functions\":", function_count, put_function},
	{",\"modules\":", module_count, put_module_text},
	{",\"names\":", name_count, put_name_text},
	{",\"name_module\":", name_count, put_name_module},
	{",\"name_kind\":", name_count, put_name_kind},
	{",\"name_unnamed\":", name_count, put_name_unnamed},
	{",\"depth\":", node_count, put_depth},
	{",\"name\":", node_count, put_name},
	{",\"self_base\":", node_count, put_self_base},
	{",\"self_other\":", node_count, put_self_other},
	{",\"samples_base\":", node_count, put_samples_base},
	{",\"samples_other\":", node_count, put_samples_other},
	{",\"z\":", node_count, put_z},
	{",\"significant\":", node_count, put_significant},
};

static void json_end(void *state)
{
	struct json *j = state;

	distinct_done(&j->modules);
	distinct_done(&j->files);
	free(j);
}

static int json_start(const struct view *v, const struct svg_options *svg, void **ret_state)
{
	struct json *j = calloc(1, sizeof(*j));
	int r;

	if (!j)
		return -ENOMEM;
	j->view = v;
	j->parts = v->diff ? (struct parts)PARTS(diff_parts) : (struct parts)PARTS(parts);
	r = distinct_modules(v, &j->modules);
	if (r == 0)
		r = distinct_files(v, &j->files);
	if (r < 0) {
		json_end(j);
		return r;
	}
	*ret_state = j;
	return 0;
}

static int json_more(void *state, struct buf *into)
{
	struct json *j = state;
	size_t until = into->len + RENDER_PIECE_BYTES;

	if (!j->begun && j->view->diff)
		diff_head(into, j->view);
	else if (!j->begun)
		head(into, j->view);
	j->begun = true;
	if (!parts_put(&j->parts, j, into, until))
		return 1;
	buf_append_str(into, "}\n");
	return 0;
}

const struct writer json_writer = {
	.name = "json",
	.content_type = "application/json",
	.extension = "json",
	.start = json_start,
	.more = json_more,
	.end = json_end,
};
