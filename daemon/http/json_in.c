#include "daemon/http/json_in.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cjson/cJSON.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "daemon/http/json_text.h"

#define PERIOD_MAX      1000000000000000 /* what a double of the parser still holds exactly */
#define DURATION_S_MAX  (10ULL * 365 * 24 * 3600)
#define STACK_BYTES_MAX 65528 /* what the kernel copies at most */
#define FRAMES_MAX      4096
#define MEMORY_MIB_MAX  (1 << 20)

AUTO_FREE_FN(cJSON, cJSON_Delete)

/* What a value is read into, and where complaints go. */
struct reading {
	struct session_request *session;
	struct session_change *change;
	uint64_t max_freq_hz;
	struct buf *why;
	unsigned targets; /* keys that name one */
};

struct field {
	const char *key;
	int (*read)(struct reading *in, const cJSON *value);
};

/* The beginning of what the client wrote, for a sentence. */
static void append_shown(struct buf *why, const char *text)
{
	char shown[80];
	size_t len = text_utf8(text, strlen(text), shown, sizeof(shown));

	buf_append(why, shown, len);
	if (len < strlen(text))
		buf_append_str(why, "...");
}

static void append_value(struct buf *why, const cJSON *value)
{
	AUTO(free_auto) char *text = NULL;

	if (cJSON_IsNumber(value) && !isfinite(value->valuedouble))
		return; /* would read "null" */
	text = cJSON_PrintUnformatted(value);
	if (!text)
		return;
	buf_append_str(why, ", not ");
	append_shown(why, text);
}

static int refuse(struct reading *in, const cJSON *value, const char *want)
{
	const char *key = value->string ? value->string : "pids";

	buf_printf(in->why, "\"%s\" must be %s", key, want);
	append_value(in->why, value);
	buf_append_char(in->why, '.');
	return -EINVAL;
}

static int read_integer(
	struct reading *in, const cJSON *value, uint64_t min, uint64_t max, uint64_t *ret_value)
{
	double number = value->valuedouble;
	char want[96];

	/* Within the range first: only then is the conversion defined. */
	if (!cJSON_IsNumber(value) || !(number >= (double)min && number <= (double)max) ||
		number != (double)(uint64_t)number) {
		snprintf(want, sizeof(want), "a whole number from %" PRIu64 " to %" PRIu64, min,
			max);
		return refuse(in, value, want);
	}
	*ret_value = (uint64_t)number;
	return 0;
}

static bool has_control(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return true;
	return false;
}

static int read_text(struct reading *in, const cJSON *value, char *into, size_t bytes)
{
	char want[96];

	if (cJSON_IsString(value) && value->valuestring[0] && strlen(value->valuestring) < bytes &&
		!has_control(value->valuestring)) {
		strcpy(into, value->valuestring);
		return 0;
	}
	snprintf(want, sizeof(want), "a string of 1 to %zu bytes without control characters",
		bytes - 1);
	return refuse(in, value, want);
}

static int read_target_text(struct reading *in, const cJSON *value, enum run_target target)
{
	in->session->target = target;
	in->targets++;
	return read_text(in, value, in->session->text, sizeof(in->session->text));
}

static int read_pid(struct reading *in, const cJSON *value)
{
	uint64_t pid = 0;
	int r = read_integer(in, value, 1, INT_MAX, &pid);

	in->session->target = RUN_PID;
	in->session->pids[0] = (pid_t)pid;
	in->session->pid_count = 1;
	in->targets++;
	return r;
}

static int read_pids(struct reading *in, const cJSON *value)
{
	struct session_request *s = in->session;
	const cJSON *item;

	in->targets++;
	s->target = RUN_PIDS;
	s->pid_count = 0;
	if (!cJSON_IsArray(value) || !value->child || cJSON_GetArraySize(value) > RUN_PIDS_MAX)
		return refuse(in, value, "an array of 1 to 1024 process ids");
	cJSON_ArrayForEach (item, value) {
		uint64_t pid = 0;

		if (read_integer(in, item, 1, INT_MAX, &pid) < 0)
			return -EINVAL;
		s->pids[s->pid_count++] = (pid_t)pid;
	}
	return 0;
}

static int read_command(struct reading *in, const cJSON *value)
{
	return read_target_text(in, value, RUN_COMMAND);
}

static int read_cgroup(struct reading *in, const cJSON *value)
{
	int r = read_target_text(in, value, RUN_CGROUP);

	if (r == 0 && in->session->text[0] != '/')
		return refuse(
			in, value, "a path that begins with a slash, below the cgroup v2 mount");
	return r;
}

static int read_unit(struct reading *in, const cJSON *value)
{
	return read_target_text(in, value, RUN_UNIT);
}

static int read_container(struct reading *in, const cJSON *value)
{
	return read_target_text(in, value, RUN_CONTAINER);
}

static int read_all(struct reading *in, const cJSON *value)
{
	in->session->target = RUN_ALL;
	in->targets++;
	return cJSON_IsTrue(value) ? 0 : refuse(in, value, "true, or be left out");
}

static int read_event(struct reading *in, const cJSON *value, const cJSON *whole)
{
	struct session_request *s = in->session;

	if (s->event_count == sizeof(s->events) / sizeof(*s->events) || !cJSON_IsString(value) ||
		!value->valuestring[0] || strlen(value->valuestring) >= sizeof(s->events[0]) ||
		has_control(value->valuestring))
		return refuse(in, whole, "the name of an event, or an array of 1 to 8 names");
	for (unsigned i = 0; i < s->event_count; i++)
		if (strcmp(s->events[i], value->valuestring) == 0)
			return refuse(in, whole, "an array without the same name twice");
	strcpy(s->events[s->event_count++], value->valuestring);
	return 0;
}

static int read_events(struct reading *in, const cJSON *value)
{
	const cJSON *item;

	in->session->event_count = 0;
	if (!cJSON_IsArray(value) || !value->child)
		return read_event(in, value, value);
	cJSON_ArrayForEach (item, value)
		if (read_event(in, item, value) < 0)
			return -EINVAL;
	return 0;
}

static int read_frequency(struct reading *in, const cJSON *value)
{
	return read_integer(in, value, 1, in->max_freq_hz, &in->session->freq_hz);
}

static int read_period(struct reading *in, const cJSON *value)
{
	return read_integer(in, value, 1, PERIOD_MAX, &in->session->period);
}

static int read_duration(struct reading *in, const cJSON *value)
{
	double seconds = value->valuedouble;

	if (!cJSON_IsNumber(value) || !isfinite(seconds) || seconds < 0 ||
		seconds > (double)DURATION_S_MAX || (seconds > 0 && seconds < 0.001))
		return refuse(
			in, value, "seconds from 0.001 to 315360000, or 0 to run until stopped");
	in->session->duration_ns = (uint64_t)(seconds * 1e9);
	return 0;
}

static int read_bool(struct reading *in, const cJSON *value, bool *ret_value)
{
	if (!cJSON_IsBool(value))
		return refuse(in, value, "true or false");
	*ret_value = cJSON_IsTrue(value);
	return 0;
}

static int read_kernel(struct reading *in, const cJSON *value)
{
	return read_bool(in, value, &in->session->kernel);
}

static int read_unwind(struct reading *in, const cJSON *value)
{
	static const char *const ways[] = {"auto", "dwarf", "fp"};

	for (unsigned i = 0; cJSON_IsString(value) && i < 3; i++)
		if (strcmp(value->valuestring, ways[i]) == 0) {
			strcpy(in->session->unwind, ways[i]);
			return 0;
		}
	return refuse(in, value, "\"auto\", \"dwarf\" or \"fp\"");
}

static int read_stack_bytes(struct reading *in, const cJSON *value)
{
	uint64_t bytes = 0;
	int r = read_integer(in, value, 8, STACK_BYTES_MAX, &bytes);

	if (r == 0 && bytes % 8 != 0)
		return refuse(in, value, "a multiple of 8");
	in->session->stack_bytes = (uint32_t)bytes;
	return r;
}

static int read_max_frames(struct reading *in, const cJSON *value)
{
	uint64_t frames = 0;
	int r = read_integer(in, value, 1, FRAMES_MAX, &frames);

	in->session->max_frames = (uint32_t)frames;
	return r;
}

static int read_percent(struct reading *in, const cJSON *value, double *ret_percent)
{
	double percent = value->valuedouble;

	if (!cJSON_IsNumber(value) || !(percent >= CONFIG_PERCENT_MIN && percent <= 100))
		return refuse(in, value, "a number from 0.01 to 100");
	*ret_percent = percent;
	return 0;
}

static int read_mib(struct reading *in, const cJSON *value, uint32_t *ret_mib)
{
	uint64_t mib = 0;
	int r = read_integer(in, value, 1, MEMORY_MIB_MAX, &mib);

	*ret_mib = (uint32_t)mib;
	return r;
}

static int read_cpu_percent(struct reading *in, const cJSON *value)
{
	return read_percent(in, value, &in->session->cpu_percent);
}

static int read_memory(struct reading *in, const cJSON *value)
{
	return read_mib(in, value, &in->session->memory_mib);
}

static int read_name(struct reading *in, const cJSON *value)
{
	return read_text(in, value, in->session->name, sizeof(in->session->name));
}

static int read_unwinder(struct reading *in, const cJSON *value)
{
	return read_text(in, value, in->session->unwinder, sizeof(in->session->unwinder));
}

static const struct field session_fields[] = {
	{"pid", read_pid},
	{"pids", read_pids},
	{"command", read_command},
	{"cgroup", read_cgroup},
	{"unit", read_unit},
	{"container", read_container},
	{"all", read_all},
	{"events", read_events},
	{"frequency_hz", read_frequency},
	{"period", read_period},
	{"duration_s", read_duration},
	{"kernel", read_kernel},
	{"unwind", read_unwind},
	{"stack_bytes", read_stack_bytes},
	{"max_frames", read_max_frames},
	{"cpu_percent", read_cpu_percent},
	{"memory_mib", read_memory},
	{"name", read_name},
	{"unwinder", read_unwinder},
	{NULL, NULL},
};

static int read_new_frequency(struct reading *in, const cJSON *value)
{
	return read_integer(in, value, 1, in->max_freq_hz, &in->change->freq_hz);
}

static int read_new_kernel(struct reading *in, const cJSON *value)
{
	bool kernel = false;
	int r = read_bool(in, value, &kernel);

	in->change->kernel = kernel;
	return r;
}

static int read_new_cpu_percent(struct reading *in, const cJSON *value)
{
	return read_percent(in, value, &in->change->cpu_percent);
}

static int read_new_memory(struct reading *in, const cJSON *value)
{
	return read_mib(in, value, &in->change->memory_mib);
}

static int read_new_name(struct reading *in, const cJSON *value)
{
	return read_text(in, value, in->change->name, sizeof(in->change->name));
}

static const struct field change_fields[] = {
	{"frequency_hz", read_new_frequency},
	{"kernel", read_new_kernel},
	{"cpu_percent", read_new_cpu_percent},
	{"memory_mib", read_new_memory},
	{"name", read_new_name},
	{NULL, NULL},
};

static const struct field no_fields[] = {{NULL, NULL}};

static int unknown_key(const struct field *fields, const char *key, struct buf *why)
{
	const char *joint = fields->key ? "; those are " : "";

	buf_append_char(why, '"');
	append_shown(why, key);
	buf_append_str(why, "\" is not a key that is known here");
	for (; fields->key; fields++) {
		if (strcmp(fields->key, "unwinder") == 0)
			continue;
		buf_printf(why, "%s%s", joint, fields->key);
		joint = ", ";
	}
	buf_append_char(why, '.');
	return -EINVAL;
}

static int read_fields(const cJSON *object, const struct field *fields, struct reading *in)
{
	const cJSON *member;
	uint64_t seen = 0;

	cJSON_ArrayForEach (member, object) {
		unsigned i = 0;

		while (fields[i].key && strcmp(fields[i].key, member->string) != 0)
			i++;
		if (!fields[i].key)
			return unknown_key(fields, member->string, in->why);
		if (seen & (UINT64_C(1) << i)) {
			buf_printf(in->why, "\"%s\" is given twice; give it once.", member->string);
			return -EINVAL;
		}
		seen |= UINT64_C(1) << i;
		if (fields[i].read(in, member) < 0)
			return -EINVAL;
	}
	return 0;
}

static int read_object(const char *text, size_t len, const struct field *fields, struct reading *in)
{
	AUTO(cJSON_Delete_auto) cJSON *object = NULL;

	if (json_text_check(text, len, in->why) < 0)
		return -EINVAL;
	object = cJSON_ParseWithLength(text, len);
	if (!object)
		return -ENOMEM;
	if (!cJSON_IsObject(object)) {
		buf_append_str(in->why,
			"The body must be a JSON object: braces with keys and values in them.");
		return -EINVAL;
	}
	return read_fields(object, fields, in);
}

int json_in_session(const char *text, size_t len, uint64_t max_freq_hz,
	struct session_request *ret_request, struct buf *why)
{
	struct reading in = {.session = ret_request, .max_freq_hz = max_freq_hz, .why = why};
	int r;

	session_request_defaults(ret_request);
	r = read_object(text, len, session_fields, &in);
	if (r < 0)
		return r;
	if (in.targets != 1) {
		buf_printf(why,
			"%s. Give exactly one of pid, pids, command, cgroup, unit, container, all.",
			in.targets ? "The body names more than one target"
				   : "The body names no target");
		return -EINVAL;
	}
	if (ret_request->freq_hz && ret_request->period) {
		buf_append_str(why, "Give either \"frequency_hz\" or \"period\", not both.");
		return -EINVAL;
	}
	return 0;
}

int json_in_change(const char *text, size_t len, uint64_t max_freq_hz,
	struct session_change *ret_change, struct buf *why)
{
	struct session_change change = {.kernel = -1};
	struct reading in = {.change = &change, .max_freq_hz = max_freq_hz, .why = why};
	int r = read_object(text, len, change_fields, &in);

	if (r < 0)
		return r;
	if (change.freq_hz == 0 && change.kernel < 0 && change.cpu_percent == 0 &&
		change.memory_mib == 0 && !change.name[0]) {
		buf_append_str(why,
			"The body changes nothing; give \"frequency_hz\", \"kernel\", "
			"\"cpu_percent\", \"memory_mib\" or \"name\".");
		return -EINVAL;
	}
	*ret_change = change;
	return 0;
}

int json_in_nothing(const char *text, size_t len, struct buf *why)
{
	struct reading in = {.why = why};

	return len == 0 ? 0 : read_object(text, len, no_fields, &in);
}
