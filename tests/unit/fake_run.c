#include "tests/unit/fake_run.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "daemon/broker/client.h"
#include "daemon/proc/procinfo.h"
#include "daemon/run/javamap.h"
#include "daemon/store/store.h"
#include "daemon/symbol/names.h"
#include "tests/unit/profile_samples.h"

#define SESSIONS_MAX 64

static struct session {
	uint64_t id; /* 0: free */
	uid_t owner;
	bool ended;
} sessions[SESSIONS_MAX];
static uint64_t last_id;
/* Of these and of the last request: requests end on other threads than they began on. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct fake_run fake_run;

void fake_run_reset(void)
{
	memset(sessions, 0, sizeof(sessions));
	memset(&fake_run, 0, sizeof(fake_run));
	fake_run.changed_kernel = -1;
	fake_run.stats.last_round_ns = time_mono_ns();
	last_id = 0;
}

uint64_t fake_run_add(uid_t owner, bool ended)
{
	uint64_t id = 0;

	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < SESSIONS_MAX && !id; i++)
		if (!sessions[i].id) {
			id = ++last_id;
			sessions[i] = (struct session){id, owner, ended};
		}
	pthread_mutex_unlock(&lock);
	if (!id)
		abort();
	return id;
}

static struct session *find(const struct caller *who, uint64_t id)
{
	for (unsigned i = 0; i < SESSIONS_MAX; i++)
		if (id && sessions[i].id == id && (who->all || sessions[i].owner == who->uid))
			return &sessions[i];
	return NULL;
}

static struct profile *profile_of(const struct session *s)
{
	struct sample_builder b;
	uint32_t app, process, thread;

	sample_begin(&b, 2);
	b.p->meta.session_id = s->id;
	b.p->meta.owner = s->owner;
	b.p->meta.state = sample_text(&b, s->ended ? "stopped" : "running");
	b.p->meta.ended_by = s->ended ? sample_text(&b, "stop") : 0;
	if (!s->ended)
		b.p->meta.ended_wall_ns = 0;
	b.p->meta.options_json = sample_text(&b,
		"{\"events\":[\"cpu-clock\"],\"frequency_hz\":99,\"period\":null,\"duration_s\":0,"
		"\"kernel\":true,\"unwind\":\"dwarf\",\"stack_bytes\":16384,\"max_frames\":512}");
	b.p->meta.warnings = sample_text(&b, "one\ntwo \"quoted\"\n");
	app = sample_module(&b, "/usr/bin/app");
	process = sample_process(&b, 42, "app");
	thread = sample_thread(&b, 43, 0, "worker");
	for (unsigned i = 0; i < 100; i++)
		sample_log(&b,
			sample_chain(&b, process, app, i % 2 ? "main;work;hot" : "main;idle"),
			thread, 0, 10000000, SAMPLE_START + i * 100000000ull);
	b.p->ledger.samples = UINT64_C(9007199254740993); /* no double holds it */
	return sample_end(&b);
}

static int answer(
	const struct caller *who, uint64_t id, struct profile **ret_head, struct buf *message)
{
	const struct session *s;

	pthread_mutex_lock(&lock);
	s = find(who, id);
	if (s)
		*ret_head = profile_of(s);
	pthread_mutex_unlock(&lock);
	if (s)
		return RUN_OK;
	buf_append_str(message, "There is no such session.");
	return RUN_NOT_FOUND;
}

void session_request_defaults(struct session_request *r)
{
	memset(r, 0, sizeof(*r));
	r->kernel = true;
	strcpy(r->unwind, "auto");
}

int run_start(struct run *r, const struct caller *who, const struct session_request *request,
	struct profile **ret_head, struct buf *message)
{
	pthread_mutex_lock(&lock);
	fake_run.last = *request;
	pthread_mutex_unlock(&lock);
	if (fake_run.start_error) {
		buf_append_str(message, fake_run.error_text ? fake_run.error_text : "");
		return fake_run.start_error;
	}
	return answer(who, fake_run_add(who->uid, false), ret_head, message);
}

int run_stop(struct run *r, const struct caller *who, uint64_t id, struct profile **ret_head,
	struct buf *message)
{
	struct session *s;

	pthread_mutex_lock(&lock);
	s = find(who, id);
	if (s)
		s->ended = true;
	pthread_mutex_unlock(&lock);
	return answer(who, id, ret_head, message);
}

int run_change(struct run *r, const struct caller *who, uint64_t id,
	const struct session_change *change, struct profile **ret_head, struct buf *message)
{
	struct session *s = find(who, id);

	if (s && s->ended && !change->name[0]) {
		buf_append_str(message, "The session has ended.");
		return RUN_CONFLICT;
	}
	fake_run.changed_freq_hz = change->freq_hz;
	fake_run.changed_kernel = change->kernel;
	snprintf(fake_run.changed_name, sizeof(fake_run.changed_name), "%s", change->name);
	return answer(who, id, ret_head, message);
}

int run_delete(struct run *r, const struct caller *who, uint64_t id, struct buf *message)
{
	struct session *s;

	pthread_mutex_lock(&lock);
	s = find(who, id);
	if (s)
		s->id = 0;
	pthread_mutex_unlock(&lock);
	return s ? RUN_OK : RUN_NOT_FOUND;
}

int run_head(struct run *r, const struct caller *who, uint64_t id, struct profile **ret_head,
	struct buf *message)
{
	return answer(who, id, ret_head, message);
}

int run_list(
	struct run *r, const struct caller *who, struct profile ***ret_heads, unsigned *ret_count)
{
	struct profile **heads = calloc(SESSIONS_MAX, sizeof(struct profile *));
	unsigned count = 0;

	if (!heads)
		abort();
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < SESSIONS_MAX; i++)
		if (find(who, sessions[i].id))
			heads[count++] = profile_of(&sessions[i]);
	pthread_mutex_unlock(&lock);
	*ret_heads = heads;
	*ret_count = count;
	return RUN_OK;
}

int run_import(struct run *r, const struct caller *who, int fd, const char *name,
	const atomic_bool *stop, struct profile **ret_head, struct buf *message)
{
	fake_run.imported_bytes = (uint64_t)lseek(fd, 0, SEEK_END);
	snprintf(fake_run.imported_name, sizeof(fake_run.imported_name), "%s", name);
	return answer(who, fake_run_add(who->uid, true), ret_head, message);
}

int run_profile(struct run *r, const struct caller *who, uint64_t id, bool with_log, bool inlines,
	struct profile **ret_profile, struct buf *message)
{
	int error = fake_run.during_profile ? fake_run.during_profile() : RUN_OK;

	if (error != RUN_OK)
		return error;
	error = answer(who, id, ret_profile, message);
	fake_run.profiles += error == RUN_OK;
	if (error == RUN_OK && (fake_run.no_log || !with_log)) {
		free((*ret_profile)->log);
		(*ret_profile)->log = NULL;
		(*ret_profile)->log_count = 0;
	}
	return error;
}

unsigned run_abilities(struct run *r, struct ability ret[RUN_ABILITIES_MAX])
{
	ret[0] = (struct ability){.name = "cpu_wide", .there = true};
	ret[1] = (struct ability){
		.name = "kernel_names", .reason = "hidden", .remedy = "kptr_restrict=0"};
	return 2;
}

unsigned run_events(struct run *r, struct run_event *ret, unsigned max)
{
	ret[0] = (struct run_event){"cpu-clock", true};
	ret[1] = (struct run_event){"cycles", false};
	return 2;
}

void run_get_stats(struct run *r, struct run_stats *ret_stats)
{
	*ret_stats = fake_run.stats;
}

int javamap_write(struct broker *b, struct attacher *a, const struct caller *who, pid_t pid,
	struct hotspot_map *ret_map, struct buf *message)
{
	(void)b;
	(void)a;
	if (!who->all) {
		buf_printf(message, "process %d belongs to another user", pid);
		return RUN_FORBIDDEN;
	}
	*ret_map = (struct hotspot_map){.ns_pid = 1, .map_bytes = 4096};
	return RUN_OK;
}

int targets_list(struct targets *t, const struct caller *who, const char *q, bool by_name,
	struct target_info **ret_list, unsigned *ret_count)
{
	struct target_info *list = calloc(3, sizeof(*list));

	if (!list)
		abort();
	list[0] = (struct target_info){.kind = TARGET_CLASS_PROCESS,
		.pid = 42,
		.uid = 1000,
		.name = "a\"b\n\xff",
		.processes = 1,
		.threads = 2,
		.cpu_percent = 12.5,
		.rss_bytes = 4096,
		.started_wall_ns = SAMPLE_WALL};
	list[1] = (struct target_info){.kind = TARGET_CLASS_UNIT,
		.name = "nginx.service",
		.cgroup = "/system.slice/nginx.service",
		.processes = 3};
	list[2] =
		(struct target_info){.kind = TARGET_CLASS_CGROUP, .name = "/a/b", .cgroup = "/a/b"};
	*ret_list = list;
	*ret_count = q ? 1 : 3;
	return 0;
}

int broker_get_info(struct broker *b, struct broker_info *ret_info)
{
	*ret_info = (struct broker_info){
		.engine_pid = 10, .broker_pid = 11, .reader_pid = fake_run.reader_pid};
	return 0;
}

int procinfo_read_stat(struct broker *b, pid_t pid, struct procinfo *ret_info)
{
	*ret_info = (struct procinfo){.pid = pid, .cpu_ticks = 150, .rss_bytes = 1 << 20};
	if (pid == fake_run.reader_pid)
		ret_info->cpu_ticks = fake_run.reader_ticks;
	return 0;
}

void names_get_stats(struct names *n, struct names_stats *ret_stats)
{
	*ret_stats = (struct names_stats){.hits = 5, .misses = 4};
}

int store_spool(struct store *s, uint64_t bytes, int *ret_fd)
{
	*ret_fd = memfd_create("spool", MFD_CLOEXEC);
	return *ret_fd < 0 ? -errno : 0;
}

void store_get_stats(struct store *s, struct store_stats *ret_stats)
{
	*ret_stats = (struct store_stats){.count = 2, .bytes = 100};
}
