#include "daemon/http/route.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "daemon/http/answer.h"
#include "daemon/http/api.h"

#define PROFILE_KEYS                                                                            \
	"format event from to last thread pid by lines inline min width icicle color inverted " \
	"fold_templates "                                                                       \
	"depth"

#define SAMPLE_KEYS "event from to last thread pid "

static const struct route routes[] = {
	{"/", NULL, .quick = true, .answer = {[METHOD_GET] = page_index}},
	{"/app.js", NULL, .quick = true, .answer = {[METHOD_GET] = page_script}},
	{"/app.css", NULL, .open = true, .quick = true, .answer = {[METHOD_GET] = page_style}},
	{"/favicon.svg", NULL, .open = true, .quick = true, .answer = {[METHOD_GET] = page_icon}},
	{"/openapi.yaml", NULL, .quick = true, .answer = {[METHOD_GET] = page_openapi}},
	{"/healthz", NULL, .open = true, .quick = true, .answer = {[METHOD_GET] = api_healthz}},
	{"/readyz", NULL, .open = true, .quick = true, .answer = {[METHOD_GET] = api_readyz}},
	{"/metrics", NULL, .answer = {[METHOD_GET] = api_metrics}},
	{"/debug/pprof", "", .answer = {[METHOD_GET] = api_pprof_index}},
	{"/debug/pprof/profile", "seconds pid lines", .for_go = true,
		.answer = {[METHOD_GET] = api_pprof_profile}},
	{"/debug/pprof/symbol", NULL, .quick = true, .any_body = true,
		.answer = {[METHOD_GET] = api_pprof_symbol, [METHOD_POST] = api_pprof_symbol}},
	{"/debug/pprof/cmdline", NULL, .quick = true, .answer = {[METHOD_GET] = api_pprof_cmdline}},
	{"/v1/status", "", .answer = {[METHOD_GET] = api_status}},
	{"/v1/targets", "q sort kind limit", .answer = {[METHOD_GET] = api_targets}},
	{"/v1/targets/{id}/perfmap", "", .answer = {[METHOD_POST] = api_perfmap}},
	{"/v1/sessions", "",
		.answer = {[METHOD_GET] = api_sessions_list, [METHOD_POST] = api_sessions_start}},
	{"/v1/import", "name", .upload = true, .answer = {[METHOD_POST] = api_import}},
	{"/v1/sessions/{id}", "",
		.answer = {[METHOD_GET] = api_session_get,
			[METHOD_PATCH] = api_session_change,
			[METHOD_DELETE] = api_session_delete}},
	{"/v1/sessions/{id}/stop", "", .answer = {[METHOD_POST] = api_session_stop}},
	{"/v1/sessions/{id}/events",
		"event last thread pid by inline min depth inverted fold_templates",
		.answer = {[METHOD_GET] = api_events}},
	{"/v1/sessions/{id}/profile", PROFILE_KEYS, .answer = {[METHOD_GET] = api_profile}},
	{"/v1/sessions/{id}/flamegraph.svg", PROFILE_KEYS,
		.answer = {[METHOD_GET] = api_flamegraph}},
	{"/v1/diff",
		"base other base_from base_to other_from other_to event norm modules format widths "
		"by inline "
		"min depth inverted fold_templates width icicle",
		.answer = {[METHOD_GET] = api_diff}},
	{"/v1/sessions/{id}/heatmap", SAMPLE_KEYS "rows", .answer = {[METHOD_GET] = api_heatmap}},
	{"/v1/sessions/{id}/source", SAMPLE_KEYS "function module",
		.answer = {[METHOD_GET] = api_source}},
	{"/v1/sessions/{id}/timeline", SAMPLE_KEYS "by columns",
		.answer = {[METHOD_GET] = api_timeline}},
};

#define ROUTE_COUNT (sizeof(routes) / sizeof(*routes))
_Static_assert(ROUTE_COUNT < ROUTES_MAX, "the counters have a row for each, and one for no route");

static const char *const method_names[METHOD_ROUTED] = {
	[METHOD_GET] = "GET",
	[METHOD_POST] = "POST",
	[METHOD_PATCH] = "PATCH",
	[METHOD_DELETE] = "DELETE",
};

unsigned route_count(void)
{
	return ROUTE_COUNT;
}

const struct route *route_at(unsigned i)
{
	return &routes[i];
}

unsigned route_index(const struct route *route)
{
	return (unsigned)(route - routes);
}

enum method route_method(const char *text)
{
	if (strcmp(text, "HEAD") == 0)
		return METHOD_GET;
	if (strcmp(text, "OPTIONS") == 0)
		return METHOD_OPTIONS;
	for (int i = 0; i < METHOD_ROUTED; i++)
		if (strcmp(text, method_names[i]) == 0)
			return (enum method)i;
	return METHOD_OTHER;
}

/* One segment of a path. An id that is no number still belongs to the route: there is no such
 * session. */
static bool segment_matches(
	struct req *r, const char *pattern, size_t pattern_len, const char *path, size_t len)
{
	char digits[24];

	if (pattern_len != 4 || memcmp(pattern, "{id}", 4) != 0)
		return pattern_len == len && memcmp(pattern, path, len) == 0;
	if (len == 0)
		return false;
	r->id_bad = len >= sizeof(digits);
	if (!r->id_bad) {
		memcpy(digits, path, len);
		digits[len] = 0;
		r->id_bad = parse_u64(digits, UINT64_MAX, &r->id) != 0;
	}
	return true;
}

static bool route_matches(struct req *r, const char *pattern, const char *path)
{
	while (*pattern == '/' && *path == '/') {
		size_t pattern_len = strcspn(++pattern, "/"), len = strcspn(++path, "/");

		if (!segment_matches(r, pattern, pattern_len, path, len))
			return false;
		pattern += pattern_len;
		path += len;
	}
	return !*pattern && (!*path || strcmp(path, "/") == 0);
}

bool route_find(struct req *r)
{
	for (unsigned i = 0; i < ROUTE_COUNT; i++)
		if (route_matches(r, routes[i].path, r->uri.path)) {
			r->route = &routes[i];
			return true;
		}
	problem(r, 404, "There is nothing at this path. /openapi.yaml lists what there is.");
	return false;
}

static void append_allow(const struct route *route, struct buf *into)
{
	for (int i = 0; i < METHOD_ROUTED; i++)
		if (route->answer[i])
			buf_printf(into, "%s%s", i == METHOD_GET ? "GET, HEAD" : method_names[i],
				", ");
	buf_append_str(into, "OPTIONS");
}

static bool key_known(const char *keys, const char *key)
{
	size_t len = strlen(key);

	while (*keys) {
		size_t word = strcspn(keys, " ");

		if (word == len && memcmp(keys, key, len) == 0)
			return true;
		keys += word + strspn(keys + word, " ");
	}
	return false;
}

static bool check_keys(struct req *r)
{
	const char *keys = r->route->keys;

	for (unsigned i = 0; keys && i < r->uri.item_count; i++) {
		const char *key = r->uri.items[i].key;

		if (key_known(keys, key))
			continue;
		if (strcmp(key, "token") == 0)
			problem(r, 400,
				"The token goes into the header Authorization: Bearer TOKEN here.");
		else if (*keys)
			problem(r, 400,
				"The query key \"%.100s\" is not known here; there are: %s.", key,
				keys);
		else
			problem(r, 400, "The query key \"%.100s\" is not known; this takes none.",
				key);
		return false;
	}
	return true;
}

bool route_check(struct req *r)
{
	AUTO(buf_done) struct buf allow = BUF_INIT;

	if (r->method < METHOD_ROUTED && r->route->answer[r->method])
		return check_keys(r);
	append_allow(r->route, &allow);
	answer_header(r, "Allow", "%s", allow.data ? allow.data : "");
	if (r->method == METHOD_OPTIONS)
		answer_empty(r, 204);
	else
		problem(r, 405, "%.40s does not work here; what does: %s.", r->method_text,
			allow.data ? allow.data : "");
	return false;
}

bool route_wants_body(const struct req *r)
{
	return r->method == METHOD_POST || r->method == METHOD_PATCH;
}

void route_run(struct req *r)
{
	if (r->id_bad)
		problem(r, 404,
			"There is no such one; the number in this path is a decimal number.");
	else
		r->route->answer[r->method](r);
}
