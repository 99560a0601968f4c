#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"

const struct opt target_options[] = {
	{"pid", 'p', "PID", "a process with its threads and children; may be repeated", WORDS_PID},
	{"command", OPT_COMMAND, "NAME", "all processes of that name, later ones too",
		WORDS_PROCESS_NAME},
	{"cgroup", OPT_CGROUP, "PATH", "a cgroup (v2) with the ones inside it", WORDS_CGROUP},
	{"unit", OPT_UNIT, "NAME", "a systemd unit", WORDS_UNIT},
	{"container", OPT_CONTAINER, "ID", "a container, by its id or the beginning of it",
		WORDS_CONTAINER},
	{"all", OPT_ALL, NULL, "the whole machine", WORDS_NONE},
	{"event", 'e', "NAME", "what to sample on; may be repeated", WORDS_EVENT},
	{"frequency", 'F', "HZ", "samples per second and CPU", WORDS_NONE},
	{"period", OPT_PERIOD, "N", "a sample every N events instead", WORDS_NONE},
	{"seconds", 'd', "TIME", "how long: 10, 1.5s, 2m", WORDS_NONE},
	{"no-kernel", OPT_NO_KERNEL, NULL, "user space alone", WORDS_NONE},
	{"unwind", OPT_UNWIND, "auto|dwarf|fp", "how to find callers", WORDS_NONE},
	{"stack-bytes", OPT_STACK, "N", "how much of the stack is copied", WORDS_NONE},
	{"max-frames", OPT_FRAMES, "N", "deeper chains are cut at the root's end", WORDS_NONE},
	{"cpu-percent", OPT_CPU, "N", "CPU time that sampling may take", WORDS_NONE},
	{"memory-mib", OPT_MEMORY, "N", "memory that call tree and log may take", WORDS_NONE},
	{"name", OPT_NAME, "TEXT", "a name for the session", WORDS_NONE},
	{NULL, 0, NULL, NULL, WORDS_NONE},
};

static bool put_number(cJSON *body, const char *key, const char *value, uint64_t max, bool *ret_bad)
{
	uint64_t n;

	if (parse_u64(value, max, &n) < 0 || n == 0) {
		usage_error("\"%s\" is no number from 1 to %llu", value, (unsigned long long)max);
		*ret_bad = true;
		return true;
	}
	cJSON_DeleteItemFromObjectCaseSensitive(body, key);
	cJSON_AddNumberToObject(body, key, (double)n);
	return true;
}

static bool put_percent(cJSON *body, const char *value, bool *ret_bad)
{
	char *end;
	double percent = strtod(value, &end);

	if (end == value || *end || !(percent > 0 && percent <= 100)) {
		usage_error("\"%s\" is no number above 0 and up to 100", value);
		*ret_bad = true;
		return true;
	}
	cJSON_DeleteItemFromObjectCaseSensitive(body, "cpu_percent");
	cJSON_AddNumberToObject(body, "cpu_percent", percent);
	return true;
}

static bool put_text(cJSON *body, const char *key, const char *value)
{
	cJSON_DeleteItemFromObjectCaseSensitive(body, key);
	cJSON_AddStringToObject(body, key, value);
	return true;
}

/* The first pid is "pid"; a second makes both "pids". */
static bool put_pid(cJSON *body, const char *value, bool *ret_bad)
{
	cJSON *one = cJSON_GetObjectItemCaseSensitive(body, "pid");
	cJSON *many = cJSON_GetObjectItemCaseSensitive(body, "pids");
	uint64_t pid;

	if (parse_u64(value, 4194304, &pid) < 0 || pid == 0) {
		usage_error("\"%s\" is no process id: profilectl targets shows them", value);
		*ret_bad = true;
		return true;
	}
	if (!one && !many)
		return cJSON_AddNumberToObject(body, "pid", (double)pid);
	if (!many) {
		many = cJSON_AddArrayToObject(body, "pids");
		cJSON_AddItemToArray(many, cJSON_CreateNumber(one->valuedouble));
		cJSON_DeleteItemFromObjectCaseSensitive(body, "pid");
	}
	cJSON_AddItemToArray(many, cJSON_CreateNumber((double)pid));
	return true;
}

static bool put_event(cJSON *body, const char *value)
{
	cJSON *events = cJSON_GetObjectItemCaseSensitive(body, "events");

	if (!events)
		events = cJSON_AddArrayToObject(body, "events");
	cJSON_AddItemToArray(events, cJSON_CreateString(value));
	return true;
}

static bool put_seconds(cJSON *body, const char *value, bool *ret_bad)
{
	uint64_t ns;

	if (parse_duration_ns(value, &ns) < 0 || ns == 0) {
		usage_error("\"%s\" is no duration: 10, 1.5s, 2m", value);
		*ret_bad = true;
		return true;
	}
	cJSON_DeleteItemFromObjectCaseSensitive(body, "duration_s");
	cJSON_AddNumberToObject(body, "duration_s", (double)ns / 1e9);
	return true;
}

bool request_option(cJSON *body, int option, const char *value, bool *ret_bad)
{
	*ret_bad = false;
	switch (option) {
	case 'p': return put_pid(body, value, ret_bad);
	case 'e': return put_event(body, value);
	case 'F': return put_number(body, "frequency_hz", value, 1000000, ret_bad);
	case 'd': return put_seconds(body, value, ret_bad);
	case OPT_COMMAND: return put_text(body, "command", value);
	case OPT_CGROUP: return put_text(body, "cgroup", value);
	case OPT_UNIT: return put_text(body, "unit", value);
	case OPT_CONTAINER: return put_text(body, "container", value);
	case OPT_ALL: return cJSON_AddTrueToObject(body, "all");
	case OPT_PERIOD: return put_number(body, "period", value, 1ull << 52, ret_bad);
	case OPT_NO_KERNEL: return cJSON_AddFalseToObject(body, "kernel");
	case OPT_UNWIND: return put_text(body, "unwind", value);
	case OPT_STACK: return put_number(body, "stack_bytes", value, 65528, ret_bad);
	case OPT_FRAMES: return put_number(body, "max_frames", value, 4096, ret_bad);
	case OPT_CPU: return put_percent(body, value, ret_bad);
	case OPT_MEMORY: return put_number(body, "memory_mib", value, 1 << 20, ret_bad);
	case OPT_NAME: return put_text(body, "name", value);
	default: return false;
	}
}

unsigned request_targets(const cJSON *body)
{
	static const char *const keys[] = {
		"pid", "pids", "command", "cgroup", "unit", "container", "all"};
	unsigned n = 0;

	for (unsigned i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		n += cJSON_HasObjectItem(body, keys[i]);
	return n;
}

bool request_complete(const cJSON *body)
{
	unsigned n = request_targets(body);

	if (n == 1)
		return true;
	usage_error(n ? "give one target, not several"
		      : "what to profile? --pid N, --command NAME, --cgroup PATH, --unit NAME, "
			"--container ID or --all; profilectl targets shows what there is");
	return false;
}

/* The daemon has said what is wrong; here is what to do about it. */
static void say_next_step(const struct cli *cli, int e)
{
	if (client_status(cli->client) == 404)
		fprintf(stderr, "profilectl: profilectl targets TEXT shows what runs here\n");
	else if (e == EXIT_REFUSED && cli->alone)
		fprintf(stderr,
			"profilectl: this profiler has your own rights: what is not yours needs "
			"sudo, or "
			"a profiled of the system\n");
}

int request_start(struct cli *cli, const cJSON *request, struct buf *body, uint64_t *ret_id)
{
	AUTO(free_auto) char *json = cJSON_PrintUnformatted(request);
	int e = client_call(cli->client, "POST", "/v1/sessions", json, body);
	cJSON *session;

	if (e != EXIT_OK) {
		say_next_step(cli, e);
		return e;
	}
	session = parse_answer(body);
	if (!session)
		return EXIT_FAILED;
	*ret_id = (uint64_t)get_number(session, "id");
	cJSON_Delete(session);
	return EXIT_OK;
}

void forget_session(struct cli *cli, uint64_t id)
{
	char path[64];

	snprintf(path, sizeof(path), "/v1/sessions/%llu", (unsigned long long)id);
	client_forget(cli->client, path);
}
