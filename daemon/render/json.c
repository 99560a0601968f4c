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
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "daemon/render/text.h"
#include "daemon/render/writer.h"
#include "daemon/tree/intern.h"
#include "daemon/tree/ledger.h"

/* Distinct strings, and which of them each name has. */
struct column {
	const char **list;
	uint32_t count;
	uint32_t *of_name;
};

struct json {
	const struct view *view;
	struct column modules, files;
	unsigned part;
	uint32_t at; /* in the array of this part */
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
	buf_append_str(into, ",\"kinds\":[");
	for (unsigned i = 0; i < VIEW_KIND_COUNT; i++) {
		buf_append_str(into, i ? "," : "");
		string(into, view_kind_name((enum view_kind)i));
	}
	buf_append_char(into, ']');
}

static void put_module_text(const struct json *j, uint32_t i, struct buf *into)
{
	string(into, j->modules.list[i]);
}

static void put_file_text(const struct json *j, uint32_t i, struct buf *into)
{
	string(into, j->files.list[i]);
}

static void put_name_text(const struct json *j, uint32_t i, struct buf *into)
{
	string(into, j->view->names[i].text);
}

static void put_name_module(const struct json *j, uint32_t i, struct buf *into)
{
	buf_append_u64(into, j->modules.of_name[i]);
}

static void put_name_kind(const struct json *j, uint32_t i, struct buf *into)
{
	buf_append_u64(into, j->view->names[i].kind);
}

static void put_name_file(const struct json *j, uint32_t i, struct buf *into)
{
	buf_append_u64(into, j->files.of_name[i]);
}

static void put_name_line(const struct json *j, uint32_t i, struct buf *into)
{
	buf_append_u64(into, j->view->names[i].line);
}

static void put_name_unnamed(const struct json *j, uint32_t i, struct buf *into)
{
	buf_append_u64(into, j->view->names[i].unnamed);
}

static void put_depth(const struct json *j, uint32_t i, struct buf *into)
{
	buf_append_u64(into, j->view->nodes[i].depth);
}

static void put_name(const struct json *j, uint32_t i, struct buf *into)
{
	buf_append_u64(into, j->view->nodes[i].name);
}

static void put_self(const struct json *j, uint32_t i, struct buf *into)
{
	buf_append_u64(into, j->view->nodes[i].self);
}

static void put_samples(const struct json *j, uint32_t i, struct buf *into)
{
	buf_append_u64(into, j->view->nodes[i].samples);
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

static void put_process(const struct json *j, uint32_t i, struct buf *into)
{
	const struct profile_process *p = &j->view->profile->processes[i];

	buf_printf(into, "{\"pid\":%d", (int)p->pid);
	put_text_of(j, "name", p->comm, into);
	put_text_of(j, "command", p->command, into);
	put_text_of(j, "cgroup", p->cgroup, into);
	put_text_of(j, "container", p->container, into);
	buf_append_char(into, '}');
}

enum counted { PROCESSES, MODULES, FILES, NAMES, NODES };

/* The arrays, one after the other. */
static const struct part {
	const char *key;
	enum counted counted;
	void (*put)(const struct json *j, uint32_t i, struct buf *into);
} parts[] = {
	{"processes", PROCESSES, put_process},
	{"modules", MODULES, put_module_text},
	{"files", FILES, put_file_text},
	{"names", NAMES, put_name_text},
	{"name_module", NAMES, put_name_module},
	{"name_kind", NAMES, put_name_kind},
	{"name_file", NAMES, put_name_file},
	{"name_line", NAMES, put_name_line},
	{"name_unnamed", NAMES, put_name_unnamed},
	{"depth", NODES, put_depth},
	{"name", NODES, put_name},
	{"self", NODES, put_self},
	{"samples_total", NODES, put_samples},
};

#define PART_COUNT (sizeof(parts) / sizeof(parts[0]))

static uint32_t count_of(const struct json *j, enum counted counted)
{
	switch (counted) {
	case PROCESSES: return j->view->profile->process_count;
	case MODULES: return j->modules.count;
	case FILES: return j->files.count;
	case NAMES: return j->view->name_count;
	default: return j->view->node_count;
	}
}

static int find_or_add(struct column *c, struct index *index, const char *text, uint32_t *ret_id)
{
	uint64_t hash = hash_bytes(text, strlen(text), 0);
	size_t cursor = hash;
	int r;

	while ((*ret_id = index_next(index, hash, &cursor)) != INDEX_NONE) {
		if (strcmp(c->list[*ret_id], text) == 0)
			return 0;
	}
	r = index_room(index);
	if (r < 0)
		return r;
	index_put(index, hash, c->count);
	c->list[c->count] = text;
	*ret_id = c->count++;
	return 0;
}

static int column_init(struct column *c, const struct view *v, bool files)
{
	struct index index = {0};
	int r = 0;

	c->list = malloc((v->name_count + (size_t)1) * sizeof(*c->list));
	c->of_name = malloc((v->name_count + (size_t)1) * sizeof(*c->of_name));
	if (!c->list || !c->of_name)
		return -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < v->name_count; i++) {
		const struct view_name *n = &v->names[i];

		r = find_or_add(c, &index, files ? n->file : n->module, &c->of_name[i]);
	}
	index_done(&index);
	return r;
}

static void json_end(void *state)
{
	struct json *j = state;

	free(j->modules.list);
	free(j->modules.of_name);
	free(j->files.list);
	free(j->files.of_name);
	free(j);
}

static int json_start(const struct view *v, const struct svg_options *svg, void **ret_state)
{
	struct json *j = calloc(1, sizeof(*j));
	int r;

	if (!j)
		return -ENOMEM;
	j->view = v;
	r = column_init(&j->modules, v, false);
	if (r == 0)
		r = column_init(&j->files, v, true);
	if (r < 0) {
		json_end(j);
		return r;
	}
	*ret_state = j;
	return 0;
}

/* As much of this part as fits the piece. True: the part is complete. */
static bool put_part(struct json *j, struct buf *into, size_t until)
{
	const struct part *part = &parts[j->part];
	uint32_t count = count_of(j, part->counted);

	if (j->at == 0)
		buf_printf(into, ",\"%s\":[", part->key);
	for (; j->at < count; j->at++) {
		if (into->len >= until || into->error)
			return false;
		if (j->at > 0)
			buf_append_char(into, ',');
		part->put(j, j->at, into);
	}
	buf_append_char(into, ']');
	return true;
}

static int json_more(void *state, struct buf *into)
{
	struct json *j = state;
	size_t until = into->len + RENDER_PIECE_BYTES;

	if (j->part == 0 && j->at == 0)
		head(into, j->view);
	for (; j->part < PART_COUNT; j->part++) {
		if (!put_part(j, into, until))
			return 1;
		j->at = 0;
	}
	buf_append_str(into, "}\n");
	return 0;
}

const struct writer json_writer = {
	.name = "json",
	.content_type = "application/json",
	.start = json_start,
	.more = json_more,
	.end = json_end,
};
