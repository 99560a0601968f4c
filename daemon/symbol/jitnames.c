#include "daemon/symbol/jitnames.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include "base/log.h"
#include "daemon/proc/procinfo.h"
#include "daemon/symbol/namestore.h"
#include "daemon/symbol/perfmap.h"

#define PROCESSES_MAX 64
/* Clock ticks are coarse, and a program may open its map at once. */
#define START_SLACK_NS 20000000ll

/* A process that was asked about; map stays when it is gone. */
struct process {
	pid_t pid, ns_pid; /* ns_pid 0: not known yet */
	uint64_t start_ticks;
	uint64_t used;
	struct perfmap *map; /* NULL: a free place */
	bool told;
};

struct jitnames {
	struct broker *broker;
	pthread_mutex_t lock;
	uint64_t clock;
	struct process processes[PROCESSES_MAX];
};

int jitnames_new(struct broker *b, struct jitnames **ret_names)
{
	struct jitnames *n = calloc(1, sizeof(*n));

	if (!n)
		return -ENOMEM;
	n->broker = b;
	pthread_mutex_init(&n->lock, NULL);
	*ret_names = n;
	return 0;
}

void jitnames_free(struct jitnames *n)
{
	if (!n)
		return;
	for (int i = 0; i < PROCESSES_MAX; i++)
		perfmap_unref(n->processes[i].map);
	pthread_mutex_destroy(&n->lock);
	free(n);
}

static int process_new(struct process *p, pid_t pid, uint64_t start_ticks)
{
	struct perfmap *map;
	int r = perfmap_new(&map);

	if (r < 0)
		return r;
	perfmap_unref(p->map);
	*p = (struct process){.pid = pid, .start_ticks = start_ticks, .map = map};
	return 0;
}

/* The place of that process; the least recently used one makes room. */
static int process_get(struct jitnames *n, pid_t pid, uint64_t start_ticks, struct process **ret)
{
	struct process *least = &n->processes[0];
	int r = 0;

	for (int i = 0; i < PROCESSES_MAX; i++) {
		struct process *p = &n->processes[i];
		if (p->map && p->pid == pid && p->start_ticks == start_ticks) {
			least = p;
			break;
		}
		if (least->map && (!p->map || p->used < least->used))
			least = p;
	}
	if (!least->map || least->pid != pid || least->start_ticks != start_ticks)
		r = process_new(least, pid, start_ticks);
	if (r < 0)
		return r;
	least->used = ++n->clock;
	*ret = least;
	return 0;
}

/* The pid names that process still. */
static int check_process(struct jitnames *n, struct process *p)
{
	struct procinfo info;
	int r = p->ns_pid ? procinfo_read_stat(n->broker, p->pid, &info)
			  : procinfo_read(n->broker, p->pid, &info);

	if (r < 0)
		return r;
	if (info.start_ticks != p->start_ticks)
		return -ESRCH;
	if (!p->ns_pid)
		p->ns_pid = info.ns_pid ? info.ns_pid : p->pid;
	return 0;
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Last written before the process began: left by another that had the same pid. */
static bool is_stale(int fd, uint64_t start_ticks)
{
	int64_t boot = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME), start, written;
	uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);
	struct stat st;

	if (fstat(fd, &st) != 0)
		return true;
	start = boot +
		(int64_t)(start_ticks / hz * 1000000000u + start_ticks % hz * 1000000000u / hz);
	written = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	return written < start - START_SLACK_NS;
}

/* Lock held. Whatever fails leaves what is known as it is. */
static void refresh(struct jitnames *n, struct process *p)
{
	AUTO(close_auto) int fd = -1;
	int r = check_process(n, p);

	if (r == 0)
		r = broker_open_perfmap(n->broker, p->pid, p->ns_pid, &fd);
	if (r < 0) {
		if (r != -ESRCH && r != -ENOENT && !p->told) {
			log_warning("perf map of process %d: %s", (int)p->pid, strerror(-r));
			p->told = true;
		}
		return;
	}
	if (is_stale(fd, p->start_ticks)) {
		log_debug("perf map of process %d is older than it", (int)p->pid);
		return;
	}
	r = perfmap_read(p->map, fd);
	if (r < 0)
		log_debug("perf map of process %d: %s", (int)p->pid, strerror(-r));
}

void jitnames_refresh(struct jitnames *n, pid_t pid, uint64_t start_ticks)
{
	struct process *p;

	pthread_mutex_lock(&n->lock);
	if (process_get(n, pid, start_ticks, &p) == 0)
		refresh(n, p);
	pthread_mutex_unlock(&n->lock);
}

static void unref_map(void *held)
{
	perfmap_unref(held);
}

static int answer(
	struct perfmap *map, const uint64_t *addrs, uint32_t count, struct name_answer *ret_answer)
{
	struct name_answer_parts p = {.count = count, .done = unref_map};
	uint32_t frames = 0;

	p.held = perfmap_ref(map);
	p.starts = malloc(((size_t)count + 1) * sizeof(*p.starts));
	p.frames = malloc((size_t)count * sizeof(*p.frames) + 1);
	for (uint32_t i = 0; p.starts && p.frames && i <= count; i++) {
		struct name_frame f = {.file = ""};
		p.starts[i] = frames;
		if (i < count && (f.name = perfmap_find(map, addrs[i], &f.start)) != NULL)
			p.frames[frames++] = f;
	}
	return name_answer_make(&p, ret_answer);
}

int jitnames_of(struct jitnames *n, pid_t pid, uint64_t start_ticks, const uint64_t *addrs,
	uint32_t count, struct name_answer *ret_answer)
{
	struct process *p;
	int r;

	memset(ret_answer, 0, sizeof(*ret_answer));
	pthread_mutex_lock(&n->lock);
	r = process_get(n, pid, start_ticks, &p);
	if (r == 0) {
		refresh(n, p);
		r = answer(p->map, addrs, count, ret_answer);
	}
	pthread_mutex_unlock(&n->lock);
	return r;
}

void jitnames_get_stats(struct jitnames *n, struct names_stats *stats)
{
	struct perfmap_stats one;

	pthread_mutex_lock(&n->lock);
	for (int i = 0; i < PROCESSES_MAX; i++) {
		if (!n->processes[i].map)
			continue;
		perfmap_get_stats(n->processes[i].map, &one);
		stats->jit_lines += one.lines;
		stats->jit_junk += one.junk;
		stats->jit_dropped += one.dropped;
		stats->cache_bytes += one.bytes;
	}
	pthread_mutex_unlock(&n->lock);
}
