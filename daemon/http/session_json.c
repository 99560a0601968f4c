/* A session as the API shows it. */
#include "daemon/http/api.h"

#include <string.h>
#include <cjson/cJSON.h>

#include "base/cleanup.h"
#include "daemon/http/json_out.h"
#include "daemon/tree/ledger.h"
#include "daemon/tree/profile.h"

AUTO_FREE_FN(cJSON, cJSON_Delete)

/* The members of an object that run wrote as text, and a store may have kept for long. */
static void members_json(const char *object, struct buf *into)
{
	AUTO(cJSON_Delete_auto) cJSON *parsed = cJSON_Parse(object);
	const cJSON *member;

	cJSON_ArrayForEach (member, parsed) {
		AUTO(free_auto) char *text = cJSON_PrintUnformatted(member);

		if (text && member->string)
			json_raw(into, member->string, text);
	}
}

static void target_json(const char *object, struct buf *into)
{
	json_begin_in(into, "target", '{');
	members_json(object, into);
	json_end(into, '}');
}

static void text_or_null(struct buf *into, const char *key, const char *text)
{
	json_text(into, key, *text ? text : NULL);
}

static void warnings_json(const char *lines, struct buf *into)
{
	json_begin_in(into, "warnings", '[');
	while (*lines) {
		size_t len = strcspn(lines, "\n");

		if (len) {
			AUTO(free_auto) char *line = strndup(lines, len);

			if (line)
				json_text(into, NULL, line);
		}
		lines += len + (lines[len] == '\n');
	}
	json_end(into, ']');
}

static void ledger_json(const struct ledger *l, struct buf *into)
{
	const char *name;
	uint64_t value;

	json_begin_in(into, "ledger", '{');
	for (unsigned i = 0; ledger_field(l, i, &name, &value); i++)
		json_u64(into, name, value);
	json_begin_in(into, "unwind_ends", '{');
	for (unsigned i = 0; (name = ledger_end_name(i)); i++)
		json_u64(into, name, l->unwind_ends[i]);
	json_end(into, '}');
	json_begin_in(into, "names_from", '{');
	for (unsigned i = 0; (name = ledger_source_name(i)); i++)
		json_u64(into, name, l->names_from[i]);
	json_end(into, '}');
	json_end(into, '}');
}

static void links_json(uint64_t id, struct buf *into)
{
	static const struct {
		const char *key, *end;
	} links[] = {{"self", ""}, {"profile", "/profile"}, {"flamegraph", "/flamegraph.svg"}};

	json_begin_in(into, "links", '{');
	for (unsigned i = 0; i < sizeof(links) / sizeof(*links); i++) {
		AUTO(buf_done) struct buf path = BUF_INIT;

		buf_append_str(&path, "/v1/sessions/");
		buf_append_u64(&path, id);
		buf_append_str(&path, links[i].end);
		json_text(into, links[i].key, path.data);
	}
	json_end(into, '}');
}

void session_json(const struct profile *head, struct buf *into)
{
	const struct profile_meta *m = &head->meta;
	uint64_t elapsed = m->taken_ns > m->started_ns ? m->taken_ns - m->started_ns : 0;

	json_begin(into, '{');
	json_u64(into, "id", m->session_id);
	json_text(into, "name", profile_text(head, m->name));
	json_text(into, "state", profile_text(head, m->state));
	text_or_null(into, "ended_by", profile_text(head, m->ended_by));
	target_json(profile_text(head, m->target_json), into);
	json_text(into, "target_text", profile_text(head, m->target));
	members_json(profile_text(head, m->options_json), into);
	json_time(into, "started_at", m->started_wall_ns);
	json_time(into, "ended_at", m->ended_wall_ns);
	json_seconds(into, "elapsed_s", elapsed);
	json_begin_in(into, "cost", '{');
	json_seconds(into, "cpu_seconds", m->cost_cpu_ns);
	json_u64(into, "memory_bytes", m->cost_bytes);
	json_end(into, '}');
	warnings_json(profile_text(head, m->warnings), into);
	ledger_json(&head->ledger, into);
	links_json(m->session_id, into);
	json_end(into, '}');
}
