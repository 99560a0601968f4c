#include "daemon/http/json_out.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "daemon/render/render.h"

static void start(struct buf *into, const char *key)
{
	char last = into->len ? into->data[into->len - 1] : '[';

	if (last != '{' && last != '[' && last != ':')
		buf_append_char(into, ',');
	if (key) {
		render_json_string(into, key, strlen(key));
		buf_append_char(into, ':');
	}
}

void json_begin(struct buf *into, char bracket)
{
	json_begin_in(into, NULL, bracket);
}

void json_begin_in(struct buf *into, const char *key, char bracket)
{
	start(into, key);
	buf_append_char(into, bracket);
}

void json_end(struct buf *into, char bracket)
{
	buf_append_char(into, bracket);
}

void json_text(struct buf *into, const char *key, const char *text)
{
	if (!text) {
		json_null(into, key);
		return;
	}
	start(into, key);
	render_json_string(into, text, strlen(text));
}

void json_u64(struct buf *into, const char *key, uint64_t value)
{
	start(into, key);
	buf_append_u64(into, value);
}

void json_bool(struct buf *into, const char *key, bool value)
{
	json_raw(into, key, value ? "true" : "false");
}

void json_double(struct buf *into, const char *key, double value)
{
	if (!isfinite(value)) {
		json_null(into, key);
		return;
	}
	start(into, key);
	buf_printf(into, "%.12g", value);
}

void json_null(struct buf *into, const char *key)
{
	json_raw(into, key, "null");
}

void json_raw(struct buf *into, const char *key, const char *json)
{
	start(into, key);
	buf_append_str(into, json);
}

void json_time(struct buf *into, const char *key, uint64_t wall_ns)
{
	time_t seconds = (time_t)(wall_ns / 1000000000);
	struct tm tm;
	char text[64];
	size_t len;

	if (wall_ns == 0 || !gmtime_r(&seconds, &tm)) {
		json_null(into, key);
		return;
	}
	len = strftime(text, sizeof(text), "\"%Y-%m-%dT%H:%M:%S", &tm);
	text[len] = 0;
	start(into, key);
	buf_printf(into, "%s.%03uZ\"", text, (unsigned)(wall_ns / 1000000 % 1000));
}

void json_seconds(struct buf *into, const char *key, uint64_t ns)
{
	json_double(into, key, (double)ns / 1e9);
}
