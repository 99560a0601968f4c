#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"

enum {
	OPT_COMMAND = 256,
	OPT_CGROUP,
	OPT_UNIT,
	OPT_CONTAINER,
	OPT_ALL,
	OPT_PERIOD,
	OPT_NO_KERNEL,
	OPT_UNWIND,
	OPT_STACK,
	OPT_FRAMES,
	OPT_CPU,
	OPT_MEMORY,
	OPT_NAME
};

const struct option request_options[REQUEST_OPTIONS] = {
	{"pid", required_argument, NULL, 'p'},
	{"command", required_argument, NULL, OPT_COMMAND},
	{"cgroup", required_argument, NULL, OPT_CGROUP},
	{"unit", required_argument, NULL, OPT_UNIT},
	{"container", required_argument, NULL, OPT_CONTAINER},
	{"all", no_argument, NULL, OPT_ALL},
	{"event", required_argument, NULL, 'e'},
	{"frequency", required_argument, NULL, 'F'},
	{"period", required_argument, NULL, OPT_PERIOD},
	{"seconds", required_argument, NULL, 'd'},
	{"no-kernel", no_argument, NULL, OPT_NO_KERNEL},
	{"unwind", required_argument, NULL, OPT_UNWIND},
	{"stack-bytes", required_argument, NULL, OPT_STACK},
	{"max-frames", required_argument, NULL, OPT_FRAMES},
	{"cpu-percent", required_argument, NULL, OPT_CPU},
	{"memory-mib", required_argument, NULL, OPT_MEMORY},
	{"name", required_argument, NULL, OPT_NAME},
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

	if (!one && !many)
		return put_number(body, "pid", value, 4194304, ret_bad);
	if (parse_u64(value, 4194304, &pid) < 0 || pid == 0) {
		usage_error("\"%s\" is no process id", value);
		*ret_bad = true;
		return true;
	}
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

bool request_complete(const cJSON *body)
{
	static const char *const keys[] = {
		"pid", "pids", "command", "cgroup", "unit", "container", "all"};
	unsigned n = 0;

	for (unsigned i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		n += cJSON_HasObjectItem(body, keys[i]);
	if (n == 1)
		return true;
	usage_error(n ? "give one target, not several"
		      : "what to profile? --pid N, --command NAME, --cgroup PATH, --unit NAME, "
			"--container ID or --all");
	return false;
}
