#include "daemon/run/process.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "daemon/proc/cgroup.h"
#include "daemon/proc/command.h"

#define CLEAR_EACH 4096

/* No machine runs for so long; and of 42 bits, which the tree keeps. */
#define RECORDED_TICKS  (UINT64_C(1) << 41)
#define PIDS_REUSED_MAX (UINT64_C(1) << 20)

static atomic_ullong recordings;

/* Invariant: by_pid holds each process once, as a pointer that this table owns. */
struct processes {
	bool program_alone; /* of commands */
	struct broker *broker;
	struct modules *modules;
	struct unwinder *unwinder;
	struct map *by_pid;
	bool recorded;
	/* Of a recording: */
	struct map *comms;   /* tid -> name, ours */
	size_t forked_bytes; /* that forks have copied */
	uint64_t entered,
		cleared; /* processes so far, and when the last time was that room was made */
	uint64_t left_out;
	/* In the place of start_ticks: tells processes of one pid apart, also those of two
	 * recordings and of one that runs. */
	uint64_t next_ticks;
};

static void process_free(struct processes *ps, struct session_process *p)
{
	if (!p)
		return;
	if (p->space) {
		unwinder_forget(ps->unwinder, p->space);
		space_free(p->space);
	}
	free(p->command);
	free(p->cgroup);
	free(p);
}

int processes_new(struct broker *b, struct modules *ms, struct unwinder *u, struct processes **ret)
{
	AUTO(processes_free_auto) struct processes *ps = calloc(1, sizeof(*ps));
	int r;

	if (!ps)
		return -ENOMEM;
	ps->broker = b;
	ps->modules = ms;
	ps->unwinder = u;
	r = map_new(64, &ps->by_pid);
	if (r < 0)
		return r;
	*ret = MOVE(ps);
	return 0;
}

int processes_new_recorded(struct modules *ms, struct unwinder *u, struct processes **ret)
{
	AUTO(processes_free_auto) struct processes *ps = NULL;
	int r = processes_new(NULL, ms, u, &ps);

	if (r == 0)
		r = map_new(64, &ps->comms);
	if (r < 0)
		return r;
	ps->recorded = true;
	ps->next_ticks = RECORDED_TICKS + atomic_fetch_add(&recordings, 1) * PIDS_REUSED_MAX;
	*ret = MOVE(ps);
	return 0;
}

static void free_comms(struct processes *ps)
{
	uint64_t key, value;
	size_t cursor = 0;

	while (ps->comms && map_next(ps->comms, &cursor, &key, &value))
		free((char *)(uintptr_t)value);
	map_free(ps->comms);
}

void processes_free(struct processes *ps)
{
	struct session_process *p;
	size_t cursor = 0;

	if (!ps)
		return;
	if (ps->by_pid) {
		while ((p = processes_next(ps, &cursor)))
			process_free(ps, p);
		map_free(ps->by_pid);
	}
	free_comms(ps);
	free(ps);
}

struct session_process *processes_next(struct processes *ps, size_t *cursor)
{
	uint64_t key, value;

	if (!map_next(ps->by_pid, cursor, &key, &value))
		return NULL;
	return (struct session_process *)(uintptr_t)value;
}

size_t processes_count(const struct processes *ps)
{
	return map_count(ps->by_pid);
}

struct session_process *processes_find(const struct processes *ps, pid_t pid)
{
	uint64_t value;

	return map_get(ps->by_pid, (uint32_t)pid, &value)
		? (struct session_process *)(uintptr_t)value
		: NULL;
}

static void forget(struct processes *ps, pid_t pid)
{
	uint64_t value;

	if (map_remove(ps->by_pid, (uint32_t)pid, &value))
		process_free(ps, (struct session_process *)(uintptr_t)value);
}

/* A new entry in place of an old one of the same pid; with space when given (taken even on
 * failure). */
/* Room for more, out of what is over; seldom, as it looks at all. */
static void clear_over(struct processes *ps)
{
	struct session_process *p;
	size_t cursor = 0, count = 0;
	pid_t *over;

	if (ps->entered - ps->cleared < CLEAR_EACH)
		return;
	ps->cleared = ps->entered;
	over = calloc(processes_count(ps) + 1, sizeof(*over));
	while (over && (p = processes_next(ps, &cursor)))
		if (p->over)
			over[count++] = p->pid;
	while (count)
		forget(ps, over[--count]);
	free(over);
	ps->forked_bytes = 0;
	cursor = 0;
	while ((p = processes_next(ps, &cursor)))
		ps->forked_bytes += space_bytes(p->space);
}

static bool has_room_for(struct processes *ps, size_t processes, size_t bytes)
{
	return processes_count(ps) + processes <= RECORDED_PROCESSES_MAX &&
		(bytes == 0 || ps->forked_bytes + bytes <= RECORDED_FORKED_MAX);
}

static bool take_room(struct processes *ps, size_t processes, size_t bytes)
{
	if (!has_room_for(ps, processes, bytes))
		clear_over(ps);
	if (!has_room_for(ps, processes, bytes)) {
		ps->left_out++;
		return false;
	}
	ps->entered += processes;
	ps->forked_bytes += bytes;
	return true;
}

uint64_t processes_left_out(const struct processes *ps)
{
	return ps->left_out;
}

static struct session_process *enter(struct processes *ps, pid_t pid, struct space *space)
{
	struct session_process *p;

	if (ps->recorded && processes_find(ps, pid))
		ps->next_ticks++;
	forget(ps, pid);
	if (ps->recorded && !take_room(ps, 1, 0)) {
		space_free(space);
		return NULL;
	}
	p = calloc(1, sizeof(*p));
	if (!p || (!space && space_new(ps->modules, pid, &space) < 0) ||
		map_set(ps->by_pid, (uint32_t)pid, (uintptr_t)p) < 0) {
		space_free(space);
		free(p);
		return NULL;
	}
	p->pid = pid;
	p->uid = (uid_t)-1;
	p->space = space;
	p->threads = 1;
	p->tree_index = -1;
	p->asked = ps->recorded;
	if (ps->recorded)
		p->start_ticks = ps->next_ticks;
	return p;
}

static void set_comm(struct session_process *p, const char *comm)
{
	snprintf(p->comm, sizeof(p->comm), "%s", comm);
}

void processes_hide_arguments(struct processes *ps)
{
	ps->program_alone = true;
}

static void set_command(
	struct processes *ps, struct session_process *p, const char *args, size_t len)
{
	char line[COMMAND_BYTES];

	if (command_join(args, len, !ps->program_alone, line) == 0)
		return;
	free(p->command);
	p->command = strdup(line);
	p->origin_new = true;
}

static void read_command(struct processes *ps, struct session_process *p)
{
	AUTO(close_auto) int fd = -1;
	char start[COMMAND_BYTES];
	ssize_t n;

	if (broker_open_proc(ps->broker, p->pid, 0, BROKER_PROC_CMDLINE, &fd) < 0)
		return;
	n = read(fd, start, sizeof(start));
	if (n > 0)
		set_command(ps, p, start, (size_t)n);
}

static void read_cgroup(struct processes *ps, struct session_process *p)
{
	char path[CGROUP_PATH_BYTES];

	if (cgroup_of(ps->broker, p->pid, path, sizeof(path)) < 0)
		return;
	free(p->cgroup);
	p->cgroup = strdup(path);
	p->origin_new = true;
}

#define LOOKS_MAX 16

void processes_look_at_stack(
	struct processes *ps, struct session_process *p, const struct sample *sample)
{
	const char *args;
	size_t len;

	if (p->command || p->looks >= LOOKS_MAX || !sample->stack || !sample->regs ||
		sample->abi != PERF_SAMPLE_REGS_ABI_64 ||
		sample->stack_bytes >= sample->stack_asked)
		return;
	p->looks++;
	args = command_of_stack(
		sample->stack, sample->regs[SAMPLE_REG_RSP], sample->stack_bytes, &len);
	if (args)
		set_command(ps, p, args, len);
}

void processes_identify(struct processes *ps, struct session_process *p)
{
	struct procinfo info = {0};

	if (p->asked)
		return;
	p->asked = true;
	/* pid 0 and below stand for processes outside our pid namespace */
	if (p->pid <= 0 || procinfo_read(ps->broker, p->pid, &info) < 0)
		return;
	p->start_ticks = info.start_ticks;
	p->uid = info.uid;
	if (info.threads > 0)
		p->threads = (int)info.threads;
	if (!p->comm[0])
		set_comm(p, info.comm);
	read_command(ps, p);
	read_cgroup(ps, p);
}

const char *processes_thread_comm(const struct processes *ps, pid_t tid)
{
	uint64_t value;

	return ps->comms && map_get(ps->comms, (uint32_t)tid, &value)
		? (const char *)(uintptr_t)value
		: NULL;
}

static void set_thread_comm(struct processes *ps, pid_t tid, const char *comm)
{
	uint64_t old = 0;
	char *copy;

	if (map_count(ps->comms) >= 2 * (size_t)RECORDED_PROCESSES_MAX &&
		!map_get(ps->comms, (uint32_t)tid, &old))
		return;
	copy = strndup(comm, sizeof(((struct session_process *)0)->comm));
	if (!copy)
		return;
	(void)map_get(ps->comms, (uint32_t)tid, &old);
	if (map_set(ps->comms, (uint32_t)tid, (uintptr_t)copy) < 0)
		free(copy);
	else
		free((char *)(uintptr_t)old);
}

/* The idle task has no record of its name. */
static void name_recorded(struct session_process *p)
{
	if (p->pid == 0)
		set_comm(p, "swapper");
	else if (p->pid < 0)
		set_comm(p, "[exited]");
	else
		snprintf(p->comm, sizeof(p->comm), ":%d", p->pid);
}

struct session_process *processes_get(struct processes *ps, pid_t pid, pid_t tid)
{
	struct session_process *p = processes_find(ps, pid);

	if (p)
		return p;
	p = enter(ps, pid, NULL);
	if (!p)
		return NULL;
	if (ps->recorded) {
		name_recorded(p);
		return p;
	}
	if (pid <= 0) {
		/* The kernel's way to say: outside our pid namespace, or already dead. */
		set_comm(p, pid == 0 ? "[other pid namespace]" : "[exited]");
		p->start_ticks = pid != 0;
		p->asked = true;
		return p;
	}
	processes_identify(ps, p);
	/* Gone already: its frames stay unknown, which the ledger counts. */
	(void)space_read(p->space, tid);
	return p;
}

void processes_expect(struct processes *ps, pid_t pid)
{
	struct session_process *p = processes_get(ps, pid, 0);

	/* The threads of a leader that has exited tell more, once one of them is known. */
	if (p && !space_range(p->space, 0))
		forget(ps, pid);
}

static void forked(struct processes *ps, const struct sideband *s)
{
	struct session_process *parent = processes_find(ps, s->ppid);
	struct session_process *child;
	struct space *space = NULL;

	if (s->pid == s->ppid) {
		if (parent)
			parent->threads++;
		return;
	}
	if (!parent)
		parent = processes_get(ps, s->ppid, s->ptid);
	if (!parent)
		return;
	if (ps->recorded && !take_room(ps, 0, space_bytes(parent->space))) {
		(void)enter(ps, s->pid, NULL);
		return;
	}
	/* Making room may have taken it away. */
	parent = processes_find(ps, s->ppid);
	if (!parent || space_clone(parent->space, s->pid, &space) < 0)
		return;
	child = enter(ps, s->pid, space);
	if (!child)
		return;
	parent = processes_find(ps, s->ppid);
	if (parent) {
		set_comm(child, parent->comm);
		child->uid = parent->uid;
		child->command = parent->command ? strdup(parent->command) : NULL;
		child->cgroup = parent->cgroup ? strdup(parent->cgroup) : NULL;
		child->origin_new = true;
		child->has_jit = parent->has_jit;
	}
}

static void execed(struct processes *ps, const struct sideband *s)
{
	struct session_process *p = processes_find(ps, s->pid);

	/* All mappings of the new image follow as records: an empty space is a whole one. */
	if (!p)
		p = enter(ps, s->pid, NULL);
	if (!p)
		return;
	space_clear(p->space);
	p->images++;
	p->threads = 1;
	p->has_jit = false;
	free(MOVE(p->command));
	p->looks = 0;
	p->origin_new = true;
	p->asked = ps->recorded; /* a set-uid program has another owner now */
	p->leader_exited = false;
	set_comm(p, s->text);
}

/* All that there is to know comes as records, also of what is sampled later or never. */
static void recorded_sideband(struct processes *ps, const struct sideband *s)
{
	struct session_process *p;
	const char *comm;

	switch (s->kind) {
	case SIDEBAND_FORK:
		comm = processes_thread_comm(ps, s->ptid);
		if (comm)
			set_thread_comm(ps, s->tid, comm);
		break;
	case SIDEBAND_COMM:
	case SIDEBAND_EXEC:
		set_thread_comm(ps, s->tid, s->text);
		(void)processes_get(ps, s->pid, s->tid);
		break;
	case SIDEBAND_MMAP: (void)processes_get(ps, s->pid, s->tid); break;
	case SIDEBAND_EXIT:
		p = processes_find(ps, s->pid);
		if (p)
			p->over = --p->threads <= 0;
		break;
	}
}

void processes_sideband(struct processes *ps, const struct sideband *s)
{
	struct session_process *p;

	if (ps->recorded) {
		recorded_sideband(ps, s);
		if (s->kind == SIDEBAND_EXIT)
			return;
	}
	switch (s->kind) {
	case SIDEBAND_FORK: forked(ps, s); return;
	case SIDEBAND_EXEC: execed(ps, s); return;
	case SIDEBAND_COMM:
		p = processes_find(ps, s->pid);
		if (p && s->pid == s->tid)
			set_comm(p, s->text);
		return;
	case SIDEBAND_MMAP:
		/* Of one never sampled: its space is read when it is, mappings and all. */
		p = processes_find(ps, s->pid);
		if (p)
			(void)space_map(
				p->space, s->start, s->end, s->pgoff, s->dev, s->inode, s->text);
		return;
	case SIDEBAND_EXIT:
		p = processes_find(ps, s->pid);
		if (p && s->pid == s->tid)
			p->leader_exited = true;
		if (p && --p->threads <= 0)
			forget(ps, s->pid);
		return;
	}
}

size_t processes_bytes(const struct processes *ps)
{
	size_t bytes = map_bytes(ps->by_pid), cursor = 0;
	uint64_t key, value;

	while (map_next(ps->by_pid, &cursor, &key, &value)) {
		const struct session_process *p = (const struct session_process *)(uintptr_t)value;

		bytes += sizeof(*p) + space_bytes(p->space);
	}
	return bytes;
}

static bool is_over(struct processes *ps, const struct session_process *p)
{
	struct procinfo info = {0};

	if (procinfo_read_stat(ps->broker, p->pid, &info) < 0)
		return true;
	return (p->start_ticks && info.start_ticks != p->start_ticks) ||
		(info.state == 'Z' && info.threads <= 1);
}

void processes_sweep(struct processes *ps)
{
	pid_t over[256];
	unsigned count = 0;
	struct session_process *p;
	size_t cursor = 0;

	if (ps->recorded)
		return;
	while (count < 256 && (p = processes_next(ps, &cursor)))
		if (p->leader_exited && p->pid > 0 && is_over(ps, p))
			over[count++] = p->pid;
	while (count)
		forget(ps, over[--count]);
}
