#include "daemon/run/meta.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/io.h"

uint32_t meta_text(struct profile *p, const char *text)
{
	size_t len = strlen(text) + 1;
	uint32_t at = p->text_bytes ? p->text_bytes : 1;
	char *grown;

	if (len == 1 || at + len > UINT32_MAX)
		return 0;
	grown = realloc(p->text, at + len);
	if (!grown)
		return 0;
	p->text = grown;
	grown[0] = 0;
	memcpy(grown + at, text, len);
	p->text_bytes = (uint32_t)(at + len);
	return at;
}

int meta_rename(struct profile *p, const char *name)
{
	const char *old = profile_text(p, p->meta.name);
	uint32_t at;

	if (strcmp(old, name) == 0)
		return 0;
	if (strlen(name) <= strlen(old)) {
		/* In its place: the text must not grow with each time. */
		strcpy(p->text + p->meta.name, name);
		return 0;
	}
	at = meta_text(p, name);
	if (at == 0)
		return -ENOMEM;
	p->meta.name = at;
	return 0;
}

static void put_key(struct buf *b, const char *key)
{
	buf_printf(b, "%s\"%s\":", b->len > 1 ? "," : "", key);
}

/* Of a request's texts, which are known to be UTF-8. */
static void put_string(struct buf *b, const char *text)
{
	buf_append_char(b, '"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			buf_append_char(b, '\\');
		if ((unsigned char)*text < 0x20)
			buf_printf(b, "\\u%04x", (unsigned char)*text);
		else
			buf_append_char(b, *text);
	}
	buf_append_char(b, '"');
}

static void target_json(const struct session_request *r, struct buf *b)
{
	static const char *const keys[] = {[RUN_COMMAND] = "command",
		[RUN_CGROUP] = "cgroup",
		[RUN_UNIT] = "unit",
		[RUN_CONTAINER] = "container",
		[RUN_RECORDING] = "recording"};

	buf_append_char(b, '{');
	switch (r->target) {
	case RUN_ALL: buf_append_str(b, "\"all\":true"); break;
	case RUN_PID: buf_printf(b, "\"pid\":%d", r->pids[0]); break;
	case RUN_PIDS:
		buf_append_str(b, "\"pids\":[");
		for (unsigned i = 0; i < r->pid_count; i++)
			buf_printf(b, "%s%d", i ? "," : "", r->pids[i]);
		buf_append_char(b, ']');
		break;
	default: put_key(b, keys[r->target]); put_string(b, r->text);
	}
	buf_append_char(b, '}');
}

static const char *unwind_name(const struct capture_options *c)
{
	if (c->stack == STACK_FP)
		return "fp";
	return c->chain ? "dwarf+fp" : "dwarf";
}

static void options_json(const struct session *s, struct buf *b)
{
	const struct session_request *r = &s->plan->request;
	const struct capture_options *c = &s->plan->capture;

	buf_append_str(b, "{\"events\":[");
	for (unsigned i = 0; i < r->event_count; i++) {
		buf_append_str(b, i ? "," : "");
		put_string(b, c->events[i].name);
	}
	buf_append_char(b, ']');
	if (c->period)
		buf_printf(
			b, ",\"frequency_hz\":null,\"period\":%llu", (unsigned long long)c->period);
	else
		buf_printf(b, ",\"frequency_hz\":%llu,\"period\":null",
			(unsigned long long)c->freq_hz);
	buf_printf(b, ",\"duration_s\":%.9g", (double)r->duration_ns / 1e9);
	buf_printf(b, ",\"kernel\":%s", c->kernel ? "true" : "false");
	buf_printf(b, ",\"unwind\":\"%s\"", unwind_name(c));
	buf_printf(b, ",\"stack_bytes\":%u,\"max_frames\":%u",
		c->stack == STACK_FP ? 0 : c->stack_bytes, r->max_frames);
	buf_printf(b, ",\"cpu_percent\":%.9g,\"memory_mib\":%u}", r->cpu_percent, r->memory_mib);
}

static uint32_t take_text(struct profile *p, struct buf *b)
{
	uint32_t at = b->error ? 0 : meta_text(p, b->data ? b->data : "");

	buf_clear(b);
	return at;
}

void meta_fill(struct profile *p, const struct session *s)
{
	static const char *const states[] = {[SESSION_RUNNING] = "running",
		[SESSION_STOPPED] = "stopped",
		[SESSION_ENDED] = "ended"};
	struct profile_meta *m = &p->meta;
	AUTO(buf_done) struct buf b = BUF_INIT;

	m->session_id = s->id;
	m->name = meta_text(p, s->plan->request.name);
	m->target = meta_text(p, s->plan->target_text);
	target_json(&s->plan->request, &b);
	m->target_json = take_text(p, &b);
	options_json(s, &b);
	m->options_json = take_text(p, &b);
	m->state = meta_text(p, states[s->state]);
	m->ended_by = meta_text(p, s->ended_by ? s->ended_by : "");
	m->warnings = meta_text(p, s->warnings.data ? s->warnings.data : "");
	m->freq_hz = s->plan->capture.freq_hz;
	m->period = s->plan->capture.period;
	m->started_wall_ns = s->started_wall_ns;
	m->ended_wall_ns = s->ended_wall_ns;
	m->started_ns = s->started_ns;
	m->taken_ns = s->state == SESSION_RUNNING ? time_mono_ns() : s->ended_ns;
	m->cost_cpu_ns = s->cpu_ns + s->aside_ns;
	m->owner = s->owner;
	for (unsigned i = 0; i < s->plan->request.event_count; i++) {
		p->events[i].name = meta_text(p, s->plan->capture.events[i].name);
		p->events[i].is_clock = s->plan->capture.events[i].is_clock;
	}
	p->event_count = s->plan->request.event_count;
}
