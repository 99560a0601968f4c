/* /v1/status, and the probes of service managers and orchestrators. */
#include "daemon/http/api.h"

#include "config.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "daemon/http/answer.h"
#include "daemon/http/http.h"
#include "daemon/http/json_out.h"

#define STUCK_NS   ((uint64_t)10 * 1000000000)
#define EVENTS_MAX 128

static void abilities_json(struct http *h, struct buf *into)
{
	struct ability list[RUN_ABILITIES_MAX];
	unsigned count = run_abilities(h->setup.run, list);

	json_begin_in(into, "abilities", '[');
	for (unsigned i = 0; i < count; i++) {
		json_begin(into, '{');
		json_text(into, "name", list[i].name);
		json_bool(into, "there", list[i].there);
		json_text(into, "reason", list[i].reason);
		json_text(into, "remedy", list[i].remedy);
		json_end(into, '}');
	}
	json_end(into, ']');
}

static void events_json(struct http *h, struct buf *into)
{
	struct run_event list[EVENTS_MAX];
	unsigned count = run_events(h->setup.run, list, EVENTS_MAX);

	json_begin_in(into, "events", '[');
	for (unsigned i = 0; i < count; i++) {
		json_begin(into, '{');
		json_text(into, "name", list[i].name);
		json_bool(into, "there", list[i].there);
		json_end(into, '}');
	}
	json_end(into, ']');
}

static const char *level_name(enum log_level level)
{
	static const char *const names[] = {[LOG_LEVEL_ERROR] = "error",
		[LOG_LEVEL_WARNING] = "warning",
		[LOG_LEVEL_INFO] = "info",
		[LOG_LEVEL_DEBUG] = "debug"};

	return level <= LOG_LEVEL_DEBUG ? names[level] : "?";
}

static void sessions_config_json(const struct config *c, struct buf *into)
{
	json_begin_in(into, "sessions", '{');
	json_u64(into, "max_sessions", c->max_sessions);
	json_u64(into, "default_frequency_hz", c->default_freq_hz);
	json_u64(into, "max_frequency_hz", c->max_freq_hz);
	json_seconds(into, "max_duration_s", c->max_duration_ns);
	json_u64(into, "stack_bytes", c->stack_bytes);
	json_u64(into, "max_frames", c->max_frames);
	json_bool(into, "arguments", c->arguments);
	json_u64(into, "ring_bytes", c->ring_bytes);
	json_u64(into, "log_entries", c->log_entries);
	json_u64(into, "max_nodes", c->max_nodes);
	json_u64(into, "import_bytes", c->import_bytes);
	json_double(into, "cpu_percent", c->cpu_percent);
	json_u64(into, "memory_mib", c->memory_mib);
	json_end(into, '}');
}

static void config_json(const struct config *c, struct buf *into)
{
	json_begin_in(into, "config", '{');
	json_begin_in(into, "daemon", '{');
	json_text(into, "runtime_dir", c->runtime_dir);
	json_text(into, "state_dir", c->state_dir);
	json_text(into, "log_level", level_name(c->log_level));
	json_end(into, '}');
	json_begin_in(into, "http", '{');
	json_text(into, "listen", c->listen);
	json_bool(into, "allow_remote", c->allow_remote);
	json_text(into, "allowed_hosts", c->allowed_hosts);
	json_u64(into, "max_connections", c->max_connections);
	json_bool(into, "source_text", c->source_text);
	json_end(into, '}');
	sessions_config_json(c, into);
	json_begin_in(into, "store", '{');
	json_u64(into, "max_bytes", c->store_max_bytes);
	json_seconds(into, "max_age_s", c->store_max_age_ns);
	json_u64(into, "free_floor_bytes", c->store_free_floor_bytes);
	json_seconds(into, "save_interval_s", c->save_interval_ns);
	json_end(into, '}');
	json_begin_in(into, "symbols", '{');
	json_u64(into, "reader_memory_bytes", c->reader_memory_bytes);
	json_u64(into, "reader_cpu_seconds", c->reader_cpu_seconds);
	json_u64(into, "names_cache_bytes", c->names_cache_bytes);
	json_end(into, '}');
	json_end(into, '}');
}

static void usage_json(struct http *h, struct buf *into)
{
	struct usage list[USAGE_PROCESSES];
	unsigned count = usages_read(&h->usages, h->setup.broker, list);
	double cpu_seconds = 0;
	uint64_t bytes = 0;

	json_begin_in(into, "processes", '[');
	for (unsigned i = 0; i < count; i++) {
		json_begin(into, '{');
		json_text(into, "role", list[i].role);
		if (list[i].pid)
			json_u64(into, "pid", (uint64_t)list[i].pid);
		else
			json_null(into, "pid");
		json_double(into, "cpu_seconds", list[i].cpu_seconds);
		json_u64(into, "rss_bytes", list[i].rss_bytes);
		json_end(into, '}');
		cpu_seconds += list[i].cpu_seconds;
		bytes += list[i].rss_bytes;
	}
	json_end(into, ']');
	json_begin_in(into, "cost", '{');
	json_double(into, "cpu_seconds", cpu_seconds);
	json_u64(into, "memory_bytes", bytes);
	json_end(into, '}');
}

static void run_json(struct http *h, struct buf *into)
{
	struct run_stats s;

	run_get_stats(h->setup.run, &s);
	json_begin_in(into, "sessions", '{');
	json_u64(into, "running", s.sessions_running);
	json_u64(into, "kept", s.sessions_kept);
	json_u64(into, "max", s.sessions_max);
	json_u64(into, "started", s.sessions_started);
	json_end(into, '}');
	json_begin_in(into, "budget", '{');
	json_u64(into, "memory_bytes", s.budget_bytes);
	json_u64(into, "ring_bytes", s.ring_bytes);
	json_double(into, "shared_cpu_percent", (double)s.shared_cpu_ns / 1e7);
	json_end(into, '}');
	json_begin_in(into, "samples", '{');
	json_u64(into, "taken", s.samples);
	json_u64(into, "lost", s.lost);
	json_u64(into, "throttled", s.throttled);
	json_u64(into, "truncated", s.truncated);
	json_u64(into, "dropped", s.dropped);
	json_end(into, '}');
}

static void store_json(struct http *h, struct buf *into)
{
	struct store_stats s;

	if (!h->setup.store) {
		json_null(into, "store");
		return;
	}
	store_get_stats(h->setup.store, &s);
	json_begin_in(into, "store", '{');
	json_u64(into, "profiles", s.count);
	json_u64(into, "damaged", s.damaged);
	json_u64(into, "bytes", s.bytes);
	json_end(into, '}');
}

void api_status(struct req *r)
{
	AUTO(buf_done) struct buf body = BUF_INIT;
	struct http *h = r->http;

	json_begin(&body, '{');
	json_text(&body, "version", PACKAGE_VERSION);
	json_time(&body, "started_at", h->started_wall_ns);
	json_seconds(&body, "uptime_s", time_mono_ns() - h->started_ns);
	usage_json(h, &body);
	run_json(h, &body);
	abilities_json(h, &body);
	events_json(h, &body);
	store_json(h, &body);
	pthread_rwlock_rdlock(&h->config_lock);
	config_json(&h->config, &body);
	pthread_rwlock_unlock(&h->config_lock);
	json_end(&body, '}');
	answer_json(r, 200, &body);
}

static void answer_state(struct req *r, const char *state)
{
	AUTO(buf_done) struct buf body = BUF_INIT;

	json_begin(&body, '{');
	json_text(&body, "status", state);
	json_end(&body, '}');
	answer_json(r, 200, &body);
}

void api_healthz(struct req *r)
{
	struct run_stats s;
	uint64_t now;

	run_get_stats(r->http->setup.run, &s);
	now = time_mono_ns();
	if (s.sessions_running > 0 && now > s.last_round_ns && now - s.last_round_ns > STUCK_NS)
		problem(r, 503,
			"Sessions run, but the sampler has not finished a round for %.0f seconds; "
			"restart "
			"the daemon and keep its log.",
			(double)(now - s.last_round_ns) / 1e9);
	else
		answer_state(r, "ok");
}

void api_readyz(struct req *r)
{
	if (r->http->stopping)
		problem(r, 503, "The daemon is shutting down.");
	else
		answer_state(r, "ready");
}
