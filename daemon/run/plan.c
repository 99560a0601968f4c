#include "daemon/run/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/parse.h"
#include "daemon/proc/cgroup.h"
#include "daemon/proc/procinfo.h"
#include "daemon/run/copysize.h"

#define SEVERAL_SHOWN 8 /* of those that an ambiguous name may mean */

void session_request_defaults(struct session_request *r)
{
	memset(r, 0, sizeof(*r));
	r->kernel = true;
	snprintf(r->unwind, sizeof(r->unwind), "auto");
}

static void warn(struct session_plan *p, const char *line)
{
	size_t at = strlen(p->warnings);

	snprintf(p->warnings + at, sizeof(p->warnings) - at, "%s\n", line);
}

/* ---- events ---- */

static int no_such_event(
	struct broker *b, const char *name, bool event_is_hardware, int r, struct buf *message)
{
	struct run_event events[32];
	unsigned n;

	if (r == -EPIPE) {
		buf_append_str(message, "the daemon is shutting down");
		return RUN_UNAVAILABLE;
	}
	if (r == -ENODEV) {
		buf_printf(message,
			"event \"%s\" needs tracefs: mount -t tracefs tracefs /sys/kernel/tracing",
			name);
		return RUN_UNSUPPORTED;
	}
	n = abilities_events(b, events, 32);
	buf_printf(message, "event \"%s\" is not there on this machine (%s); there are:", name,
		r == -EINVAL                ? "no event has that name"
			: event_is_hardware ? "the processor's counters cannot be used here"
					    : strerror(-r));
	for (unsigned i = 0; i < n; i++)
		if (events[i].there)
			buf_printf(message, " %s", events[i].name);
	buf_append_str(message, ", and tracepoints as group:name");
	return RUN_UNSUPPORTED;
}

static int plan_events(
	struct broker *b, const struct host *host, struct session_plan *p, struct buf *message)
{
	struct session_request *q = &p->request;
	struct capture_options *c = &p->capture;

	if (!q->event_count) {
		snprintf(q->events[0], sizeof(q->events[0]), "%s",
			host->cycles ? "cycles" : "cpu-clock");
		q->event_count = 1;
	}
	for (unsigned i = 0; i < q->event_count; i++) {
		int r = event_parse(b, q->events[i], &c->events[i]);

		if (r == 0)
			r = event_probe(b, &c->events[i]);
		if (r < 0)
			return no_such_event(b, q->events[i], c->events[i].hardware, r, message);
		for (unsigned k = 0; k < i; k++)
			if (strcmp(c->events[k].name, c->events[i].name) == 0) {
				buf_printf(message, "event \"%s\" stands twice in events",
					q->events[i]);
				return RUN_BAD_REQUEST;
			}
	}
	c->event_count = q->event_count;
	return RUN_OK;
}

static int plan_rate(const struct config *config, const struct host *host, struct session_plan *p,
	struct buf *message)
{
	struct session_request *q = &p->request;
	struct capture_options *c = &p->capture;
	uint64_t top = config->max_freq_hz;

	if (q->freq_hz && q->period) {
		buf_append_str(message, "frequency_hz and period exclude each other: give one");
		return RUN_BAD_REQUEST;
	}
	c->period = q->period;
	c->freq_hz = q->period ? 0 : q->freq_hz ? q->freq_hz : config->default_freq_hz;
	if (host->max_rate && host->max_rate < top)
		top = host->max_rate;
	if (c->freq_hz > top) {
		buf_printf(message, "frequency_hz %llu is over the limit of %llu (%s)",
			(unsigned long long)c->freq_hz, (unsigned long long)top,
			top < config->max_freq_hz ? "kernel.perf_event_max_sample_rate"
						  : "max_freq_hz of the configuration");
		return RUN_BAD_REQUEST;
	}
	/* A clock's period is its nanoseconds between two samples. */
	for (unsigned i = 0; i < c->event_count; i++)
		if (c->period && c->events[i].is_clock && c->period < 1000000000ull / top) {
			buf_printf(message,
				"period %llu ns of %s is shorter than the limit of %llu Hz allows: "
				"at least %llu",
				(unsigned long long)c->period, c->events[i].name,
				(unsigned long long)top, (unsigned long long)(1000000000ull / top));
			return RUN_BAD_REQUEST;
		}
	return RUN_OK;
}

static int plan_stack(const struct config *config, struct session_plan *p, struct buf *message)
{
	struct session_request *q = &p->request;
	struct capture_options *c = &p->capture;

	c->stack = strcmp(q->unwind, "fp") == 0 ? STACK_FP : STACK_DWARF;
	p->adaptive = !q->stack_bytes && strcmp(q->unwind, "auto") == 0;
	if (!q->stack_bytes)
		q->stack_bytes = config->stack_bytes;
	if (q->stack_bytes < 512 || q->stack_bytes > STACK_BYTES_MAX || q->stack_bytes % 8) {
		buf_printf(message, "stack_bytes must be a multiple of 8 from 512 to %u",
			STACK_BYTES_MAX);
		return RUN_BAD_REQUEST;
	}
	c->stack_bytes = q->stack_bytes;
	if (!q->max_frames)
		q->max_frames = config->max_frames;
	if (q->max_frames > UNWIND_FRAMES_MAX) {
		buf_printf(message, "max_frames must be from 1 to %u", UNWIND_FRAMES_MAX);
		return RUN_BAD_REQUEST;
	}
	if (!q->unwinder[0])
		snprintf(q->unwinder, sizeof(q->unwinder), "%s", config->unwinder);
	if (unwinder_kind_of(q->unwinder, &p->unwinder))
		return RUN_OK;
	buf_append_str(message, "unwinder is one of table, libunwind and libdw");
	return RUN_BAD_REQUEST;
}

/* A session that may adapt begins with deep samples; they end when they are of no use. */
static void plan_deep(struct session_plan *p)
{
	struct capture_options *c = &p->capture;

	p->adaptive = p->adaptive && c->event_count < EVENTS_MAX && c->freq_hz &&
		(c->events[0].is_clock || c->events[0].hardware);
	if (!p->adaptive || p->copy_most)
		return;
	c->events[c->event_count] = c->events[0];
	c->events[c->event_count++].deep = true;
}

int plan_check_budget(
	const struct config *config, double cpu_percent, uint32_t memory_mib, struct buf *message)
{
	if (cpu_percent > config->cpu_percent)
		buf_printf(message, "cpu_percent is over the configured limit of %.9g",
			config->cpu_percent);
	else if (memory_mib > config->memory_mib)
		buf_printf(message, "memory_mib is over the configured limit of %u",
			config->memory_mib);
	else
		return 0;
	return -EINVAL;
}

#define RINGS_PART 3  /* of its memory that a session's rings may take */
#define IN_A_RING  64 /* copies: fewer would be lost while others are read */

/* On a machine of many processors the rings are what takes memory. Where they have to be small,
 * copies that choose their size stay small too, and deep ones do without. */
static void plan_rings(const struct config *config, struct session_plan *p)
{
	struct capture_options *c = &p->capture;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t each;

	c->ring_bytes = config->ring_bytes;
	if (c->ring_bytes)
		return;
	c->ring_bytes_all = ((size_t)p->request.memory_mib << 20) / RINGS_PART;
	each = c->ring_bytes_all / (size_t)(cpus > 0 ? cpus : 1);
	if (!p->adaptive || each >= (size_t)IN_A_RING * c->stack_bytes)
		return;
	p->copy_most = (uint32_t)(each / IN_A_RING / 8 * 8);
	if (p->copy_most < COPYSIZE_MIN)
		p->copy_most = COPYSIZE_MIN;
	if (c->stack_bytes > p->copy_most)
		c->stack_bytes = p->copy_most;
}

static int plan_budget(const struct config *config, struct session_plan *p, struct buf *message)
{
	struct session_request *q = &p->request;

	if (!q->cpu_percent)
		q->cpu_percent = config->cpu_percent;
	if (!q->memory_mib)
		q->memory_mib = config->memory_mib;
	return plan_check_budget(config, q->cpu_percent, q->memory_mib, message) < 0
		? RUN_BAD_REQUEST
		: RUN_OK;
}

static int plan_duration(const struct config *config, struct session_plan *p, struct buf *message)
{
	struct session_request *q = &p->request;

	if (!config->max_duration_ns ||
		(q->duration_ns && q->duration_ns <= config->max_duration_ns))
		return RUN_OK;
	if (q->duration_ns) {
		buf_printf(message, "duration_s is over the configured limit of %.9g",
			(double)config->max_duration_ns / 1e9);
		return RUN_BAD_REQUEST;
	}
	q->duration_ns = config->max_duration_ns;
	return RUN_OK;
}

/* ---- targets ---- */

static int plan_pids(
	struct broker *b, const struct caller *who, struct session_plan *p, struct buf *message)
{
	struct session_request *q = &p->request;
	struct target_spec *t = &p->target;
	char comm[64] = "";

	t->kind = TARGET_PIDS;
	t->pids = calloc(q->pid_count, sizeof(*t->pids));
	if (!t->pids)
		return RUN_UNAVAILABLE;
	for (unsigned i = 0; i < q->pid_count; i++) {
		struct procinfo info = {0};
		int r = procinfo_read(b, q->pids[i], &info);

		if (r == -ESRCH || r == -ENOENT ||
			(r == 0 && info.state == 'Z' && info.threads <= 1)) {
			buf_printf(message, "there is no process %d", q->pids[i]);
			return RUN_NOT_FOUND;
		}
		if (r < 0) {
			buf_printf(message, "process %d cannot be looked at: %s", q->pids[i],
				strerror(-r));
			return r == -EACCES || r == -EPERM ? RUN_FORBIDDEN : RUN_FAILED;
		}
		if (!who->all && info.uid != who->uid) {
			buf_printf(message, "process %d belongs to another user", q->pids[i]);
			return RUN_FORBIDDEN;
		}
		text_utf8(info.comm, strlen(info.comm), comm, sizeof(comm));
		t->pids[t->pid_count++] = q->pids[i];
	}
	if (q->pid_count == 1)
		snprintf(p->target_text, sizeof(p->target_text), "pid %d (%s)", q->pids[0], comm);
	else
		snprintf(p->target_text, sizeof(p->target_text), "%u processes", q->pid_count);
	return RUN_OK;
}

static const char *group_word(enum run_target target)
{
	return target == RUN_UNIT ? "unit" : target == RUN_CONTAINER ? "container" : "cgroup";
}

/* "; a; b; and 3 more" out of lines. */
static void add_list(struct buf *into, const struct buf *lines)
{
	const char *at = lines->data;
	unsigned listed = 0, more = 0;

	for (const char *end; at && (end = strchr(at, '\n')); at = end + 1) {
		if (listed == SEVERAL_SHOWN) {
			more++;
			continue;
		}
		buf_append_str(into, listed++ ? ", " : " ");
		buf_append(into, at, (size_t)(end - at));
	}
	if (more)
		buf_printf(into, " and %u more", more);
}

static int no_such_group(
	const struct session_request *q, int r, const struct buf *several, struct buf *message)
{
	switch (r) {
	case -EEXIST:
		if (q->target == RUN_CONTAINER)
			buf_printf(message,
				"several containers begin with \"%s\", give more digits:", q->text);
		else
			buf_printf(message,
				"several running units are called \"%s\", give one as cgroup:",
				q->text);
		add_list(message, several);
		return RUN_BAD_REQUEST;
	case -ENODEV:
		buf_append_str(message, "no cgroup v2 hierarchy is mounted on this machine");
		return RUN_UNSUPPORTED;
	case -EINVAL:
		if (q->target == RUN_CONTAINER)
			buf_printf(message,
				"\"%s\" is no container's id: its hexadecimal digits, or the first "
				"of "
				"them, as the container engine lists them; names are not known "
				"here",
				q->text);
		else
			buf_printf(
				message, "\"%s\" is no %s's name", q->text, group_word(q->target));
		return RUN_BAD_REQUEST;
	default:
		buf_printf(message, "there is no %s%s \"%s\"",
			q->target == RUN_CGROUP ? "" : "running ", group_word(q->target), q->text);
		return RUN_NOT_FOUND;
	}
}

static int resolve_cgroup(struct broker *b, struct session_plan *p, struct buf *message)
{
	struct session_request *q = &p->request;
	AUTO(buf_done) struct buf several = BUF_INIT;
	AUTO(close_auto) int fd = -1;
	char *path = p->target.cgroup;
	size_t room = sizeof(p->target.cgroup);
	const char *id;
	int r;

	switch (q->target) {
	case RUN_UNIT: r = cgroup_find_unit(b, q->text, path, room, &several); break;
	case RUN_CONTAINER:
		/* Kubernetes lists "containerd://ID". */
		id = strstr(q->text, "://");
		r = cgroup_find_container(b, id ? id + 3 : q->text, path, room, &several);
		break;
	default:
		snprintf(path, room, "%s%.4000s", q->text[0] == '/' ? "" : "/", q->text);
		r = broker_open_cgroup(b, path, BROKER_CGROUP_DIR, &fd);
	}
	return r == 0 ? RUN_OK : no_such_group(q, r, &several, message);
}

static int need_cpu_wide(const struct host *host, const char *what, struct buf *message)
{
	if (host->cpu_wide)
		return RUN_OK;
	buf_printf(message,
		"%s needs CPU-wide events, which kernel.perf_event_paranoid=%d forbids: give the "
		"daemon CAP_PERFMON",
		what, host->paranoid);
	return RUN_FORBIDDEN;
}

static int plan_target(struct broker *b, const struct host *host, const struct caller *who,
	struct session_plan *p, struct buf *message)
{
	struct session_request *q = &p->request;
	int r;

	p->target.only_uid = who->all ? (uid_t)-1 : who->uid;
	switch (q->target) {
	case RUN_PID:
	case RUN_PIDS: return plan_pids(b, who, p, message);
	case RUN_ALL:
		p->target.kind = TARGET_ALL;
		snprintf(p->target_text, sizeof(p->target_text), "%s",
			who->all ? "whole machine" : "own processes");
		return need_cpu_wide(host, "the whole machine", message);
	case RUN_COMMAND:
		p->target.kind = TARGET_COMMAND;
		snprintf(p->target.command, sizeof(p->target.command), "%.63s", q->text);
		snprintf(p->target_text, sizeof(p->target_text), "command %.64s", q->text);
		return RUN_OK;
	case RUN_RECORDING:
		buf_append_str(message, "a recording is not sampled, but imported");
		return RUN_BAD_REQUEST;
	default:
		p->target.kind = TARGET_CGROUP;
		r = need_cpu_wide(host, "a cgroup", message);
		if (r == RUN_OK)
			r = resolve_cgroup(b, p, message);
		snprintf(p->target_text, sizeof(p->target_text), "%s %.250s", group_word(q->target),
			q->text);
		return r;
	}
}

/* Kernel addresses are not for everyone: only for those who see all. */
static void plan_kernel(const struct host *host, const struct caller *who, struct session_plan *p)
{
	p->capture.kernel = p->request.kernel;
	if (!p->request.kernel)
		return;
	if (!host->kernel) {
		p->capture.kernel = false;
		warn(p,
			"the kernel side is left out: kernel.perf_event_paranoid forbids it "
			"without CAP_PERFMON");
	} else if (!who->all) {
		p->capture.kernel = false;
		warn(p, "the kernel side is left out: it is for root and the service group");
	}
}

/* Most events that other sessions and files may still need, out of the limit. */
static unsigned fd_budget(const struct host *host)
{
	uint64_t limit = host->info.nofile;

	return limit > 1024   ? (unsigned)((limit > 65536 ? 65536 : limit) / 2)
		: limit > 256 ? (unsigned)limit / 4
			      : 64;
}

int plan_make(struct broker *b, const struct config *config, const struct host *host,
	const struct caller *who, const struct session_request *request, struct session_plan *p,
	struct buf *message)
{
	int r;

	memset(p, 0, sizeof(*p));
	p->request = *request;
	p->owner = who->uid;
	p->capture.allow_cpu_wide = host->cpu_wide;
	p->capture.fd_budget = fd_budget(host);
	r = plan_events(b, host, p, message);
	if (r == RUN_OK)
		r = plan_rate(config, host, p, message);
	if (r == RUN_OK)
		r = plan_stack(config, p, message);
	if (r == RUN_OK)
		r = plan_duration(config, p, message);
	if (r == RUN_OK)
		r = plan_budget(config, p, message);
	if (r == RUN_OK)
		r = plan_target(b, host, who, p, message);
	if (r == RUN_OK) {
		plan_rings(config, p);
		plan_deep(p);
		plan_kernel(host, who, p);
	} else {
		free(p->target.pids);
		p->target.pids = NULL;
	}
	return r;
}
