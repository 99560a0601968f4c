#include "daemon/symbol/jitnames.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include "base/io.h"
#include "base/log.h"
#include "daemon/proc/maps.h"
#include "daemon/proc/procinfo.h"
#include "daemon/symbol/jitdump.h"
#include "daemon/symbol/namestore.h"
#include "daemon/symbol/perfmap.h"

#define PROCESSES_MAX  64
#define MAPS_BYTES_MAX (64u << 20)
#define LOOK_NS        1000000000ull /* between looks at the mappings of a process */
/* Clock ticks are coarse, and a program may open its map at once. */
#define START_SLACK_NS 20000000ll

/* A process that was asked about; map stays when it is gone. */
struct process {
	pid_t pid, ns_pid; /* ns_pid 0: not known yet */
	uint64_t start_ticks;
	uint64_t used;
	struct perfmap *map; /* NULL: a free place */
	bool told, told_dump;
	/* Both stay open when the process is gone: what it wrote last is read from them then. */
	int map_fd, dump_fd; /* -1: none */
	dev_t dump_dev;
	uint64_t dump_inode;
	struct jitdump *dump; /* NULL: none */
	uint64_t looked_ns;   /* for a jitdump among its mappings */
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

static void drop_dump(struct process *p)
{
	if (p->dump)
		close(p->dump_fd);
	jitdump_unref(p->dump);
	p->dump = NULL;
	p->dump_fd = -1;
}

static void process_done(struct process *p)
{
	if (!p->map)
		return;
	drop_dump(p);
	if (p->map_fd >= 0)
		close(p->map_fd);
	perfmap_unref(p->map);
	p->map = NULL;
}

void jitnames_free(struct jitnames *n)
{
	if (!n)
		return;
	for (int i = 0; i < PROCESSES_MAX; i++)
		process_done(&n->processes[i]);
	pthread_mutex_destroy(&n->lock);
	free(n);
}

static int process_new(struct process *p, pid_t pid, uint64_t start_ticks)
{
	struct perfmap *map;
	int r = perfmap_new(&map);

	if (r < 0)
		return r;
	process_done(p);
	*p = (struct process){
		.pid = pid, .start_ticks = start_ticks, .map = map, .map_fd = -1, .dump_fd = -1};
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

/* When the process began, in nanoseconds since the machine did. */
static int64_t start_ns(uint64_t start_ticks)
{
	uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);

	return (int64_t)(start_ticks / hz * 1000000000u + start_ticks % hz * 1000000000u / hz);
}

/* Last written before the process began: left by another that had the same pid. */
static bool is_stale(int fd, uint64_t start_ticks)
{
	int64_t boot = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME), written;
	struct stat st;

	if (fstat(fd, &st) != 0)
		return true;
	written = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	return written < boot + start_ns(start_ticks) - START_SLACK_NS;
}

/* Whatever fails leaves what is known as it is. */
static void refresh_map(struct jitnames *n, struct process *p)
{
	AUTO(close_auto) int fd = -1;
	int r = broker_open_perfmap(n->broker, p->pid, p->ns_pid, &fd);

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
	if (p->map_fd >= 0)
		close(p->map_fd);
	p->map_fd = MOVE_FD(fd);
}

struct dump_search {
	struct jitnames *n;
	struct process *p;
};

/* ".../jit-PID.dump", mapped with the right to run it: that is how a program says where it is. */
static bool is_dump(const struct maps_entry *e)
{
	size_t len = maps_undeleted_len(e->path);
	const char *base = memrchr(e->path, '/', len);

	if (!(e->prot & PROT_EXEC) || e->inode == 0 || !base)
		return false;
	len -= (size_t)(++base - e->path);
	return len > 9 && strncmp(base, "jit-", 4) == 0 && strncmp(base + len - 5, ".dump", 5) == 0;
}

static int open_dump(struct jitnames *n, struct process *p, const struct maps_entry *e)
{
	int64_t began = start_ns(p->start_ticks) - clock_ns(CLOCK_BOOTTIME) +
		clock_ns(CLOCK_MONOTONIC) - START_SLACK_NS;
	AUTO(free_auto) char *path = strndup(e->path, maps_undeleted_len(e->path));
	AUTO(jitdump_unref_auto) struct jitdump *dump = NULL;
	int fd = -1;
	int r = path ? jitdump_new(p->ns_pid, began > 0 ? (uint64_t)began : 0, &dump) : -ENOMEM;

	if (r == 0)
		r = broker_open_jitdump(
			n->broker, p->pid, e->start, e->end, path, e->dev, e->inode, &fd);
	if (r < 0)
		return r;
	drop_dump(p);
	p->dump = MOVE(dump);
	p->dump_fd = fd;
	p->dump_dev = e->dev;
	p->dump_inode = e->inode;
	return 0;
}

static void tell_dump(struct process *p, const char *what)
{
	if (!p->told_dump)
		log_warning("jitdump of process %d: %s", (int)p->pid, what);
	p->told_dump = true;
}

/* A new program in an old process has another one. */
static int on_mapping(const struct maps_entry *e, void *arg)
{
	struct dump_search *s = arg;
	int r;

	if (!is_dump(e))
		return 0;
	if (s->p->dump && s->p->dump_dev == e->dev && s->p->dump_inode == e->inode)
		return 1;
	r = open_dump(s->n, s->p, e);
	if (r < 0 && r != -ESRCH)
		tell_dump(s->p, strerror(-r));
	return 1;
}

static void look_for_dump(struct jitnames *n, struct process *p)
{
	AUTO(buf_done) struct buf text = BUF_INIT;
	AUTO(close_auto) int fd = -1;
	struct dump_search search = {.n = n, .p = p};
	uint64_t now = time_mono_ns();

	if (p->looked_ns && now - p->looked_ns < LOOK_NS)
		return;
	p->looked_ns = now;
	if (broker_open_proc(n->broker, p->pid, 0, BROKER_PROC_MAPS, &fd) < 0 ||
		io_read_fd(fd, MAPS_BYTES_MAX, &text) < 0 || !text.data)
		return;
	(void)maps_parse(text.data, text.len, on_mapping, &search, NULL);
}

static void read_dump(struct process *p)
{
	struct jitdump_stats stats;
	int r = jitdump_read(p->dump, p->dump_fd);

	if (r < 0)
		tell_dump(p,
			r == -EBADMSG ? "it is damaged; what came before that has names"
				      : strerror(-r));
	jitdump_get_stats(p->dump, &stats);
	if (stats.timeless)
		tell_dump(p,
			"its times are of another clock; memory that was used anew has its last "
			"name");
}

/* Lock held. */
static void refresh(struct jitnames *n, struct process *p)
{
	if (check_process(n, p) == 0) {
		refresh_map(n, p);
		look_for_dump(n, p);
	} else if (p->map_fd >= 0) {
		(void)perfmap_read(p->map, p->map_fd);
	}
	if (p->dump)
		read_dump(p);
}

void jitnames_refresh(struct jitnames *n, pid_t pid, uint64_t start_ticks)
{
	struct process *p;

	pthread_mutex_lock(&n->lock);
	if (process_get(n, pid, start_ticks, &p) == 0)
		refresh(n, p);
	pthread_mutex_unlock(&n->lock);
}

int jitnames_rules(struct jitnames *n, pid_t pid, uint64_t start_ticks, struct jitrules **ret_rules)
{
	struct process *p;
	int r;

	pthread_mutex_lock(&n->lock);
	r = process_get(n, pid, start_ticks, &p);
	if (r == 0)
		r = p->dump ? jitdump_rules(p->dump, ret_rules) : -ENOENT;
	pthread_mutex_unlock(&n->lock);
	return r;
}

static int read_recorded_map(struct jitnames *n, struct process *p)
{
	AUTO(close_auto) int fd = -1;
	int r = broker_open_perfmap(n->broker, 0, p->pid, &fd);

	if (r == 0)
		r = perfmap_read(p->map, fd);
	return r;
}

static int read_recorded_dump(
	struct jitnames *n, struct process *p, const struct names_recorded *where)
{
	AUTO(jitdump_unref_auto) struct jitdump *dump = NULL;
	int fd = -1;
	/* Of no use are times that the samples do not have. */
	int r = jitdump_new(p->pid, where->monotonic ? 0 : UINT64_MAX, &dump);

	if (r == 0)
		r = broker_open_jitdump(n->broker, 0, 0, 0, where->dump_path, where->dump_dev,
			where->dump_inode, &fd);
	if (r < 0)
		return r;
	drop_dump(p);
	p->dump = MOVE(dump);
	p->dump_fd = fd;
	read_dump(p);
	return 0;
}

int jitnames_recorded(
	struct jitnames *n, pid_t pid, uint64_t start_ticks, const struct names_recorded *where)
{
	bool found = false;
	struct process *p;
	int r;

	pthread_mutex_lock(&n->lock);
	r = process_get(n, pid, start_ticks, &p);
	if (r == 0) {
		found = where->dump_path && read_recorded_dump(n, p, where) == 0;
		found |= read_recorded_map(n, p) == 0;
	}
	pthread_mutex_unlock(&n->lock);
	return r < 0 ? r : found ? 0 : -ENOENT;
}

/* What the strings of an answer belong to. */
struct hold {
	struct perfmap *map;
	struct jitdump *dump;
};

static void hold_done(void *held)
{
	struct hold *h = held;

	perfmap_unref(h->map);
	jitdump_unref(h->dump);
	free(h);
}

static struct hold *hold_new(const struct process *p)
{
	struct hold *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->map = perfmap_ref(p->map);
	h->dump = p->dump ? jitdump_ref(p->dump) : NULL;
	return h;
}

/* What both have to say of the addresses. */
struct histories {
	struct jithistory map, dump;
};

static void histories_done(struct histories *h)
{
	jithistory_done(&h->map);
	jithistory_done(&h->dump);
}

static int find(const struct process *p, const uint64_t *addrs, uint32_t count, struct histories *h)
{
	int r = jithistory_init(&h->map, addrs, count);

	if (r == 0)
		r = jithistory_init(&h->dump, addrs, count);
	if (r == 0)
		r = perfmap_history(p->map, &h->map);
	if (r == 0 && p->dump)
		r = jitdump_history(p->dump, &h->dump);
	return r;
}

/* The frames of address i, the oldest first: a jitdump knows more than a perf map. */
static uint32_t put_frames(
	const struct process *p, const struct histories *h, uint32_t i, struct name_frame *into)
{
	bool dumped = h->dump.last[i] != JITHISTORY_NONE;
	const struct jithistory *from = dumped ? &h->dump : &h->map;
	uint32_t n = jithistory_depth(from, i), k = n;

	for (uint32_t at = from->last[i]; at != JITHISTORY_NONE; at = from->codes[at].before) {
		const struct jit_code *code = &from->codes[at];
		struct name_frame *f = &into[--k];

		*f = (struct name_frame){.file = "",
			.source = dumped ? NAME_FROM_JITDUMP : NAME_FROM_PERF_MAP,
			.start = code->start,
			.since_ns = k ? code->since_ns : 0};
		f->name = dumped ? jitdump_name(p->dump, code) : perfmap_name(p->map, code);
		if (dumped)
			jitdump_line(p->dump, code, from->addrs[i], &f->file, &f->line);
	}
	return n;
}

static int answer(const struct process *process, const struct histories *h, uint32_t count,
	struct name_answer *ret_answer)
{
	struct name_answer_parts p = {.count = count, .done = hold_done};
	uint32_t frames = 0;

	p.held = hold_new(process);
	if (!p.held)
		return -ENOMEM;
	p.starts = malloc(((size_t)count + 1) * sizeof(*p.starts));
	p.frames = malloc(((size_t)h->map.code_count + h->dump.code_count) * sizeof(*p.frames) + 1);
	for (uint32_t i = 0; p.starts && p.frames && i < count; i++) {
		p.starts[i] = frames;
		frames += put_frames(process, h, i, p.frames + frames);
	}
	if (p.starts)
		p.starts[count] = frames;
	return name_answer_make(&p, ret_answer);
}

int jitnames_of(struct jitnames *n, pid_t pid, uint64_t start_ticks, const uint64_t *addrs,
	uint32_t count, struct name_answer *ret_answer)
{
	struct histories h = {0};
	struct process *p;
	int r;

	memset(ret_answer, 0, sizeof(*ret_answer));
	pthread_mutex_lock(&n->lock);
	r = process_get(n, pid, start_ticks, &p);
	if (r == 0) {
		refresh(n, p);
		r = find(p, addrs, count, &h);
	}
	if (r == 0)
		r = answer(p, &h, count, ret_answer);
	histories_done(&h);
	pthread_mutex_unlock(&n->lock);
	return r;
}

void jitnames_get_stats(struct jitnames *n, struct names_stats *stats)
{
	struct perfmap_stats one;
	struct jitdump_stats dump;

	pthread_mutex_lock(&n->lock);
	for (int i = 0; i < PROCESSES_MAX; i++) {
		if (!n->processes[i].map)
			continue;
		perfmap_get_stats(n->processes[i].map, &one);
		stats->jit_lines += one.lines;
		stats->jit_junk += one.junk;
		stats->jit_dropped += one.dropped;
		stats->cache_bytes += one.bytes;
		if (!n->processes[i].dump)
			continue;
		jitdump_get_stats(n->processes[i].dump, &dump);
		stats->jit_lines += dump.records;
		stats->jit_junk += dump.junk;
		stats->jit_dropped += dump.dropped;
		stats->cache_bytes += dump.bytes;
	}
	pthread_mutex_unlock(&n->lock);
}
