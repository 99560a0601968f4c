#include "daemon/run/targets.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/map.h"
#include "daemon/proc/cgroup.h"
#include "daemon/proc/procinfo.h"

#define SAMPLE_AGE_NS 200000000ull /* a shorter interval says little in clock ticks of 10 ms */

/* The CPU ticks of each process, by a hash of (pid, start). */
struct base {
	struct map *ticks; /* NULL: none yet */
	uint64_t at_ns;
};

/* Bases: of the last looks that were SAMPLE_AGE_NS apart, the newer first. Under lock. */
struct targets {
	struct broker *broker;
	pthread_mutex_t lock;
	struct base bases[2];
};

struct list {
	struct target_info *at;
	unsigned count, room;
};

static struct target_info *add(struct list *l)
{
	if (l->count == l->room) {
		unsigned room = l->room ? 2 * l->room : 256;
		struct target_info *grown = realloc(l->at, room * sizeof(*grown));

		if (!grown)
			return NULL;
		l->at = grown;
		l->room = room;
	}
	memset(&l->at[l->count], 0, sizeof(*l->at));
	return &l->at[l->count++];
}

static uint64_t boot_wall_ns(void)
{
	struct timespec boot;

	clock_gettime(CLOCK_BOOTTIME, &boot);
	return time_wall_ns() - (uint64_t)boot.tv_sec * 1000000000ull - (uint64_t)boot.tv_nsec;
}

static uint64_t process_key(const struct procinfo *info)
{
	return hash_u64(((uint64_t)(uint32_t)info->pid << 32) ^ info->start_ticks);
}

struct look {
	struct targets *targets;
	const struct caller *who;
	struct list *list;
	const struct base *base;
	struct map *now;
	uint64_t now_ns, boot_ns;
	double ticks_per_s;
};

/* CPU of the interval since an earlier look, else over the process's life. */
static double cpu_percent(const struct look *k, const struct procinfo *info, uint64_t started_ns)
{
	double seconds, ticks = (double)info->cpu_ticks;
	uint64_t before, wall = time_wall_ns();

	if (k->base->ticks && map_get(k->base->ticks, process_key(info), &before)) {
		seconds = (double)(k->now_ns - k->base->at_ns) / 1e9;
		ticks -= (double)before;
	} else {
		seconds = wall > started_ns ? (double)(wall - started_ns) / 1e9 : 0;
	}
	return seconds > 0.01 ? 100 * ticks / k->ticks_per_s / seconds : 0;
}

static int add_process(struct look *k, pid_t pid)
{
	struct procinfo info = {0};
	struct target_info *t;

	if (procinfo_read(k->targets->broker, pid, &info) < 0 ||
		(!k->who->all && info.uid != k->who->uid))
		return 0;
	t = add(k->list);
	if (!t || map_set(k->now, process_key(&info), info.cpu_ticks) < 0)
		return -ENOMEM;
	t->kind = TARGET_CLASS_PROCESS;
	t->pid = pid;
	snprintf(t->name, sizeof(t->name), "%s", info.comm);
	if (cgroup_of(k->targets->broker, pid, t->cgroup, sizeof(t->cgroup)) < 0)
		t->cgroup[0] = 0;
	t->uid = info.uid;
	t->processes = 1;
	t->threads = info.threads;
	t->rss_bytes = info.rss_bytes;
	t->started_wall_ns =
		k->boot_ns + (uint64_t)((double)info.start_ticks / k->ticks_per_s * 1e9);
	t->cpu_percent = cpu_percent(k, &info, t->started_wall_ns);
	return 0;
}

static int add_processes(struct look *k)
{
	AUTO(buf_done) struct buf pids = BUF_INIT;
	int r = broker_list(k->targets->broker, 0, &pids);

	for (size_t i = 0; r >= 0 && i + sizeof(pid_t) <= pids.len; i += sizeof(pid_t)) {
		pid_t pid;

		memcpy(&pid, pids.data + i, sizeof(pid));
		r = add_process(k, pid);
	}
	return r;
}

static struct target_info *find_group(
	struct list *l, unsigned from, enum target_class kind, const char *path, size_t path_len)
{
	for (unsigned i = from; i < l->count; i++)
		if (l->at[i].kind == kind && strncmp(l->at[i].cgroup, path, path_len) == 0 &&
			l->at[i].cgroup[path_len] == '\0')
			return &l->at[i];
	return NULL;
}

/* The first path_len bytes of the process's cgroup are the group's own. */
static int book(struct list *l, unsigned from, unsigned process, enum target_class kind,
	const char *name, size_t path_len)
{
	char path[sizeof(l->at->cgroup)];
	struct target_info *t, *p;

	snprintf(path, sizeof(path), "%.*s", (int)path_len, l->at[process].cgroup);
	t = find_group(l, from, kind, path, strlen(path));
	if (!t) {
		t = add(l);
		if (!t)
			return -ENOMEM;
		t->kind = kind;
		snprintf(t->name, sizeof(t->name), "%s", name);
		memcpy(t->cgroup, path, sizeof(path));
	}
	p = &l->at[process];
	t->processes++;
	t->threads += p->threads;
	t->cpu_percent += p->cpu_percent;
	t->rss_bytes += p->rss_bytes;
	if (!t->started_wall_ns || p->started_wall_ns < t->started_wall_ns)
		t->started_wall_ns = p->started_wall_ns;
	return 0;
}

/* Units, containers and cgroups as sums of their processes. */
static int add_groups(struct list *l)
{
	unsigned processes = l->count;
	char unit[256], id[65];
	int r = 0;

	for (unsigned i = 0; i < processes && r == 0; i++) {
		char path[sizeof(l->at[i].cgroup)];
		size_t len;

		memcpy(path, l->at[i].cgroup, sizeof(path));
		if (!path[0])
			continue;
		len = cgroup_unit(path, unit, sizeof(unit));
		if (len)
			r = book(l, processes, i, TARGET_CLASS_UNIT, unit, len);
		len = r == 0 ? cgroup_container(path, id) : 0;
		if (len)
			r = book(l, processes, i, TARGET_CLASS_CONTAINER, id, len);
		if (r == 0 && strcmp(path, "/") != 0)
			r = book(l, processes, i, TARGET_CLASS_CGROUP, path, strlen(path));
	}
	return r;
}

static bool is_nearer(const char *a, const char *b)
{
	unsigned depth_a = 0, depth_b = 0;

	for (; *a; a++)
		depth_a += *a == '/';
	for (; *b; b++)
		depth_b += *b == '/';
	return depth_a <= depth_b;
}

/* Units of one name: the name alone means the one nearest to the root, if there is one. */
static void mark_hidden(struct list *l)
{
	for (unsigned i = 0; i < l->count; i++)
		for (unsigned k = 0; k < l->count && l->at[i].kind == TARGET_CLASS_UNIT; k++)
			if (k != i && l->at[k].kind == TARGET_CLASS_UNIT &&
				strcmp(l->at[k].name, l->at[i].name) == 0 &&
				is_nearer(l->at[k].cgroup, l->at[i].cgroup))
				l->at[i].hidden = true;
}

static void keep_matching(struct list *l, const char *q)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < l->count; i++)
		if (strcasestr(l->at[i].name, q) || strcasestr(l->at[i].cgroup, q) ||
			(l->at[i].pid && (unsigned long)l->at[i].pid == strtoul(q, NULL, 10)))
			l->at[kept++] = l->at[i];
	l->count = kept;
}

static int by_cpu(const void *a, const void *b)
{
	const struct target_info *x = a, *y = b;

	if (x->cpu_percent != y->cpu_percent)
		return x->cpu_percent > y->cpu_percent ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static int by_name(const void *a, const void *b)
{
	const struct target_info *x = a, *y = b;
	int r = strcmp(x->name, y->name);

	return r ? r : x->pid < y->pid ? -1 : x->pid > y->pid;
}

int targets_list(struct targets *t, const struct caller *who, const char *q, bool names_order,
	struct target_info **ret_list, unsigned *ret_count)
{
	struct list l = {0};
	struct look k = {.targets = t, .who = who, .list = &l, .boot_ns = boot_wall_ns()};
	int r = map_new(1024, &k.now);
	bool is_new;

	if (r < 0)
		return r;
	k.ticks_per_s = (double)sysconf(_SC_CLK_TCK);
	pthread_mutex_lock(&t->lock);
	k.now_ns = time_mono_ns();
	/* Right after somebody else's look the one before that is what can be compared with. */
	is_new = k.now_ns - t->bases[0].at_ns >= SAMPLE_AGE_NS;
	k.base = &t->bases[!is_new];
	r = add_processes(&k);
	if (r >= 0 && who->all && is_new) {
		map_free(t->bases[1].ticks);
		t->bases[1] = t->bases[0];
		t->bases[0] = (struct base){MOVE(k.now), k.now_ns};
	}
	pthread_mutex_unlock(&t->lock);
	map_free(k.now);
	if (r >= 0)
		r = add_groups(&l);
	mark_hidden(&l);
	if (r < 0) {
		free(l.at);
		return r;
	}
	if (q && q[0])
		keep_matching(&l, q);
	if (l.count)
		qsort(l.at, l.count, sizeof(*l.at), names_order ? by_name : by_cpu);
	*ret_list = l.at;
	*ret_count = l.count;
	return 0;
}

int targets_new(struct broker *b, struct targets **ret_targets)
{
	struct targets *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->broker = b;
	pthread_mutex_init(&t->lock, NULL);
	*ret_targets = t;
	return 0;
}

void targets_free(struct targets *t)
{
	if (!t)
		return;
	map_free(t->bases[0].ticks);
	map_free(t->bases[1].ticks);
	pthread_mutex_destroy(&t->lock);
	free(t);
}
