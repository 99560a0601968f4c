/* /metrics: what the daemon counts, for Prometheus. No label names a target: the number of series
 * does not depend on what is profiled. */
#include "daemon/http/api.h"

#include "config.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "daemon/http/answer.h"
#include "daemon/http/followers.h"
#include "daemon/http/http.h"
#include "daemon/render/prom.h"
#include "daemon/tree/ledger.h"

static void counter(struct prom *p, const char *name, const char *help, uint64_t value)
{
	prom_family(p, PROM_COUNTER, name, help);
	prom_u64(p, NULL, 0, value);
}

static void gauge(struct prom *p, const char *name, const char *help, uint64_t value)
{
	prom_family(p, PROM_GAUGE, name, help);
	prom_u64(p, NULL, 0, value);
}

static void gauge_double(struct prom *p, const char *name, const char *help, double value)
{
	prom_family(p, PROM_GAUGE, name, help);
	prom_double(p, NULL, 0, value);
}

static void put_build(struct prom *p, const struct http *h)
{
	struct prom_label version = {"version", PACKAGE_VERSION};

	prom_family(p, PROM_GAUGE, "profiled_build_info", "The version that runs; always 1.");
	prom_u64(p, &version, 1, 1);
	gauge_double(p, "profiled_start_time_seconds", "When the daemon started, since 1970.",
		(double)h->started_wall_ns / 1e9);
}

static void put_unwind(struct prom *p, const struct run_stats *s)
{
	struct prom_label reason = {"reason", NULL};

	counter(p, "profiled_stacks_whole", "User stacks that were unwound to the outermost frame.",
		s->unwind_ends[LEDGER_ROOT]);
	prom_family(p, PROM_COUNTER, "profiled_unwind_failures",
		"User stacks that ended before the outermost frame, by reason.");
	for (unsigned i = LEDGER_ROOT + 1; (reason.value = ledger_end_name(i)); i++)
		prom_u64(p, &reason, 1, s->unwind_ends[i]);
}

static void put_samples(struct prom *p, const struct run_stats *s)
{
	counter(p, "profiled_samples", "Samples that went into profiles.", s->samples);
	counter(p, "profiled_lost", "Samples that the kernel had no room for in a ring.", s->lost);
	counter(p, "profiled_throttled", "Times that the kernel paused an event.", s->throttled);
	counter(p, "profiled_filtered",
		"Samples of processes that are no part of a target, left out.", s->filtered);
	counter(p, "profiled_truncated",
		"Samples whose copied stack ended before the outermost frame.", s->truncated);
	counter(p, "profiled_dropped", "Samples that a full call tree could not take.", s->dropped);
	counter(p, "profiled_unknown_records", "Records of a kind that is not known.",
		s->unknown_records);
	counter(p, "profiled_sideband_lost",
		"Records about mappings and processes that the kernel lost.", s->sideband_lost);
	put_unwind(p, s);
}

static void put_sampler(struct prom *p, const struct run_stats *s)
{
	uint64_t now = time_mono_ns();

	prom_family(p, PROM_COUNTER, "profiled_sampler_cpu_seconds",
		"CPU time of the sampling thread.");
	prom_double(p, NULL, 0, (double)s->sampler_cpu_ns / 1e9);
	counter(p, "profiled_sampler_rounds", "Rounds of the sampling thread.", s->rounds);
	gauge_double(p, "profiled_sampler_round_age_seconds",
		"Time since the sampling thread finished a round; 0 while no session runs.",
		s->sessions_running && now > s->last_round_ns
			? (double)(now - s->last_round_ns) / 1e9
			: 0);
	gauge_double(p, "profiled_ring_fill_ratio",
		"The fullest ring of the sessions that run, at its peak in the last round.",
		s->ring_fill_max);
}

static void put_sessions(struct prom *p, const struct run_stats *s)
{
	gauge(p, "profiled_sessions_running", "Sessions that sample.", s->sessions_running);
	gauge(p, "profiled_sessions_kept", "Sessions that have ended and can still be asked.",
		s->sessions_kept);
	gauge(p, "profiled_sessions_limit", "Sessions that may run at once.", s->sessions_max);
	counter(p, "profiled_sessions_started", "Sessions that were started.", s->sessions_started);
	counter(p, "profiled_budget_steps",
		"Times that a session's copies, rate, log or tree were changed for its budget.",
		s->budget_steps);
	gauge(p, "profiled_budget_memory_bytes",
		"What memory_mib is held against: all processes, pages shared fairly, and rings; 0 "
		"while no session runs.",
		s->budget_bytes);
	gauge(p, "profiled_ring_bytes", "Memory that the kernel has locked for rings.",
		s->ring_bytes);
	gauge(p, "profiled_tree_nodes", "Nodes in the call trees in memory.", s->tree_nodes);
	gauge(p, "profiled_tree_bytes", "Memory of the call trees.", s->tree_bytes);
	gauge(p, "profiled_modules", "Files with code that are held open.", s->modules);
	gauge(p, "profiled_module_bytes", "Memory mapped for them.", s->module_bytes);
	counter(p, "profiled_unwind_tables_made", "Files whose unwind rules were compiled.",
		s->tables_made);
	counter(p, "profiled_unwind_tables_loaded",
		"Files whose compiled unwind rules were on disk.", s->tables_loaded);
	counter(p, "profiled_unwind_tables_failed",
		"Files whose unwind rules could not be compiled, so that libunwind looks them up.",
		s->tables_failed);
	counter(p, "profiled_unwind_tables_bytes", "Bytes of the tables that were made or loaded.",
		s->tables_bytes);
	counter(p, "profiled_unwind_asked_frames",
		"Frames that libunwind did where no compiled rule was there.",
		s->unwind_asked_frames);
	counter(p, "profiled_unwind_asked_stacks",
		"Stacks that libunwind did as a whole where compiled rules did not do.",
		s->unwind_asked_stacks);
	gauge(p, "profiled_modules_unreadable", "Those of them that cannot be read.",
		s->modules_unreadable);
	counter(p, "profiled_module_faults", "Reads of files that had shrunk meanwhile.",
		s->sigbus);
}

static void put_names(struct prom *p, const struct names_stats *s)
{
	counter(p, "profiled_symbol_cache_hits", "Addresses whose name was known.", s->hits);
	counter(p, "profiled_symbol_cache_misses", "Addresses whose name had to be looked up.",
		s->misses);
	counter(p, "profiled_symbol_cache_evictions", "Files whose names were dropped for room.",
		s->evictions);
	gauge(p, "profiled_symbol_cache_bytes", "Memory of the names.", s->cache_bytes);
	gauge(p, "profiled_symbol_files_unreadable", "Files that are not asked again for a while.",
		s->unreadable_modules);
	counter(p, "profiled_debug_mismatches",
		"Separate debug files that belong to another build.", s->debug_mismatches);
	counter(p, "profiled_reader_requests", "Questions to the reader process.",
		s->reader_requests);
	counter(p, "profiled_reader_deaths", "Times that the reader process died over a file.",
		s->reader_deaths);
	counter(p, "profiled_reader_refusals", "Files that the reader process refused.",
		s->reader_refusals);
}

static void put_store(struct prom *p, struct store *store)
{
	struct store_stats s;

	if (!store)
		return;
	store_get_stats(store, &s);
	gauge(p, "profiled_store_profiles", "Profiles on disk.", s.count);
	gauge(p, "profiled_store_damaged", "Files among them that cannot be read.", s.damaged);
	gauge(p, "profiled_store_bytes", "Their bytes.", s.bytes);
	counter(p, "profiled_store_writes", "Profiles written.", s.writes);
	counter(p, "profiled_store_write_errors", "Profiles that could not be written.",
		s.write_errors);
	counter(p, "profiled_store_expired", "Profiles removed for age or room.", s.expired);
}

static void put_requests(struct prom *p, struct http *h)
{
	AUTO(free_auto) struct counts *c = malloc(sizeof(*c));
	double bounds[COUNTS_BUCKETS];

	if (!c)
		return;
	counts_get(&h->counts, c);
	prom_family(p, PROM_COUNTER, "profiled_http_requests",
		"Requests answered, by route and status.");
	for (unsigned row = 0; row <= route_count(); row++) {
		for (unsigned i = 0; i < c->status_count; i++) {
			char code[16];
			struct prom_label labels[] = {
				{"route", row < route_count() ? route_at(row)->path : "none"},
				{"code", code},
			};

			snprintf(code, sizeof(code), "%u", c->status[i]);
			if (c->requests[row][i])
				prom_u64(p, labels, 2, c->requests[row][i]);
		}
	}
	for (unsigned i = 0; i < COUNTS_BUCKETS; i++)
		bounds[i] = counts_bound(i);
	prom_family(p, PROM_HISTOGRAM, "profiled_http_request_duration_seconds",
		"From the request line to the answer's first byte.");
	prom_histogram(p, NULL, 0, bounds, c->buckets, COUNTS_BUCKETS, (double)c->sum_ns / 1e9);
}

static void put_connections(struct prom *p, struct http *h)
{
	struct conns_stats s;

	conns_get_stats(h->conns, &s);
	gauge(p, "profiled_http_connections", "Open connections.", s.open);
	gauge(p, "profiled_http_event_streams", "Streams of events among them.",
		followers_count(h->followers));
	counter(p, "profiled_http_connections_accepted", "Connections that were opened.",
		s.accepted);
	counter(p, "profiled_http_connections_timed_out",
		"Connections shut because a client was too slow.", s.timed_out);
	counter(p, "profiled_http_connections_refused",
		"Connections shut because a user had too many.", s.refused);
}

static void put_usage(struct prom *p, struct http *h)
{
	struct usage list[USAGE_PROCESSES];
	unsigned count = usages_read(&h->usages, h->setup.broker, list);

	prom_family(p, PROM_COUNTER, "profiled_process_cpu_seconds",
		"CPU time of the daemon's processes. That of a reader begins again with each new "
		"one.");
	for (unsigned i = 0; i < count; i++) {
		struct prom_label role = {"role", list[i].role};

		prom_double(p, &role, 1, list[i].cpu_seconds);
	}
	prom_family(p, PROM_GAUGE, "profiled_process_resident_memory_bytes",
		"Resident memory of the daemon's processes.");
	for (unsigned i = 0; i < count; i++) {
		struct prom_label role = {"role", list[i].role};

		prom_u64(p, &role, 1, list[i].rss_bytes);
	}
}

void api_metrics(struct req *r)
{
	AUTO(buf_done) struct buf body = BUF_INIT;
	const char *accept = NULL;
	struct http *h = r->http;
	enum prom_format format;
	struct names_stats names;
	struct run_stats stats;
	struct prom p;

	format = prom_format_accept(req_header(r, "Accept", &accept) == 1 ? accept : NULL);
	run_get_stats(h->setup.run, &stats);
	names_get_stats(h->setup.names, &names);
	prom_begin(&p, format, &body);
	put_build(&p, h);
	put_samples(&p, &stats);
	put_sampler(&p, &stats);
	put_sessions(&p, &stats);
	put_names(&p, &names);
	put_store(&p, h->setup.store);
	put_requests(&p, h);
	put_connections(&p, h);
	put_usage(&p, h);
	prom_end(&p);
	answer_take(r, 200, prom_content_type(format), &body);
}
