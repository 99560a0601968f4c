#include "daemon/sample/target.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>

#include "daemon/proc/cgroup.h"
#include "daemon/proc/procinfo.h"

/* Above this many threads, CPU-wide events cost less than events on each. */
#define TASK_THREADS_MAX 256
/* Pidfds come out of the same budget as events: a long list does without. */
#define PINNED_MAX 256

void target_processes_done(struct target_processes *p)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->list[i].pidfd >= 0)
			close(p->list[i].pidfd);
	free(p->list);
	memset(p, 0, sizeof(*p));
}

static int add_process(struct target_processes *p, const struct procinfo *info)
{
	if (p->count == p->cap) {
		size_t cap = p->cap ? p->cap * 2 : 16;
		struct target_process *list = reallocarray(p->list, cap, sizeof(*list));

		if (!list)
			return -ENOMEM;
		p->list = list;
		p->cap = cap;
	}
	p->list[p->count++] = (struct target_process){.pid = info->pid,
		.start_ticks = info->start_ticks,
		.threads = info->threads,
		.pidfd = -1};
	return 0;
}

static bool has_ended(const struct procinfo *info)
{
	return (info->state == 'Z' || info->state == 'X') && info->threads <= 1;
}

static bool is_others(const struct target_spec *target, const struct procinfo *info)
{
	return target->only_uid != (uid_t)-1 && info->uid != target->only_uid;
}

static int resolve_pid(struct broker *b, const struct target_spec *target, pid_t pid,
	struct target_processes *into, struct buf *message)
{
	struct procinfo info;
	int r;

	for (size_t i = 0; i < into->count; i++)
		if (into->list[i].pid == pid)
			return 0;
	r = pid > 0 ? procinfo_read(b, pid, &info) : -ESRCH;
	if (r == -ESRCH) {
		buf_printf(message, "There is no process %d.", pid);
		return r;
	}
	if (r < 0) {
		buf_printf(message, "Process %d cannot be looked at: %s.", pid, strerror(-r));
		return r;
	}
	if (info.tgid && info.tgid != pid) {
		buf_printf(message, "%d is a thread of process %d: ask for the process.", pid,
			info.tgid);
		return -ESRCH;
	}
	if (is_others(target, &info)) {
		buf_printf(message, "Process %d belongs to another user.", pid);
		return -EACCES;
	}
	if (has_ended(&info)) {
		buf_printf(message, "Process %d has ended; its parent has not waited for it yet.",
			pid);
		return -ESRCH;
	}
	return add_process(into, &info);
}

static bool is_wanted(const struct target_spec *target, const struct procinfo *info)
{
	if (has_ended(info) || is_others(target, info))
		return false;
	return target->kind != TARGET_COMMAND ||
		strncmp(info->comm, target->command, COMM_BYTES - 1) == 0;
}

/* Of a list of pids those that are wanted; who ended meanwhile is left out. */
static int resolve_listed(struct broker *b, const struct target_spec *target,
	const struct buf *pids, struct target_processes *into)
{
	int r = 0;

	for (size_t at = 0; r == 0 && at + sizeof(pid_t) <= pids->len; at += sizeof(pid_t)) {
		struct procinfo info;
		pid_t pid;

		memcpy(&pid, pids->data + at, sizeof(pid));
		/* The name first: it saves reading a second file of most. */
		if (procinfo_read_stat(b, pid, &info) < 0)
			continue;
		info.uid = target->only_uid;
		if (!is_wanted(target, &info) || procinfo_read(b, pid, &info) < 0 ||
			!is_wanted(target, &info))
			continue;
		r = add_process(into, &info);
	}
	return r;
}

int target_resolve(struct broker *b, const struct target_spec *target,
	struct target_processes *into, struct buf *message)
{
	AUTO(buf_done) struct buf pids = BUF_INIT;
	int r = 0;

	switch (target->kind) {
	case TARGET_ALL: return 0;
	case TARGET_PIDS:
		for (size_t i = 0; i < target->pid_count && r == 0; i++)
			r = resolve_pid(b, target, target->pids[i], into, message);
		return r;
	case TARGET_COMMAND: r = broker_list(b, 0, &pids); break;
	case TARGET_CGROUP: r = cgroup_members(b, target->cgroup, &pids); break;
	}
	if (r == 0)
		return resolve_listed(b, target, &pids, into);
	if (target->kind == TARGET_COMMAND)
		buf_printf(message, "The processes cannot be listed: %s.", strerror(-r));
	else if (r == -ENOENT)
		buf_printf(message, "There is no cgroup %s.", target->cgroup);
	else if (r == -ENODEV)
		buf_append_str(message, "No cgroup v2 hierarchy is mounted here.");
	else
		buf_printf(
			message, "The cgroup %s cannot be read: %s.", target->cgroup, strerror(-r));
	return r;
}

static uint64_t count_threads(const struct target_processes *p)
{
	uint64_t threads = 0;

	for (size_t i = 0; i < p->count; i++)
		threads += p->list[i].threads;
	return threads;
}

int target_plan(const struct target_spec *target, const struct capture_options *options,
	const struct target_processes *processes, unsigned cpus, enum capture_plan *ret_plan,
	struct buf *message)
{
	uint64_t threads = count_threads(processes), per_cpu = options->event_count + 1;
	/* Each event, and the sideband, may have a ring with an anchor. */
	uint64_t task_fds = cpus * (1 + threads) * per_cpu, cpu_fds = cpus * (2 * per_cpu + 1);
	bool task_fits = task_fds <= options->fd_budget;

	if (!options->allow_cpu_wide && target->kind == TARGET_ALL) {
		buf_append_str(message,
			"Sampling the whole machine needs CAP_PERFMON, or "
			"kernel.perf_event_paranoid at 0 "
			"or lower.");
		return -EACCES;
	}
	if (!options->allow_cpu_wide ||
		(target->kind == TARGET_PIDS && threads <= TASK_THREADS_MAX && task_fits)) {
		if (!task_fits) {
			buf_printf(message,
				"%llu threads on %u CPUs need %llu file descriptors and %u may be "
				"used: "
				"raise the limit (RLIMIT_NOFILE), or give the daemon CAP_PERFMON, "
				"which "
				"makes a few per CPU enough.",
				(unsigned long long)threads, cpus, (unsigned long long)task_fds,
				options->fd_budget);
			return -EMFILE;
		}
		*ret_plan = CAPTURE_TASK;
		return 0;
	}
	if (cpu_fds > options->fd_budget) {
		buf_printf(message,
			"%u CPUs need %llu file descriptors and %u may be used: raise the limit "
			"(RLIMIT_NOFILE), or ask for fewer events.",
			cpus, (unsigned long long)cpu_fds, options->fd_budget);
		return -EMFILE;
	}
	*ret_plan = target->kind == TARGET_CGROUP ? CAPTURE_CGROUP : CAPTURE_CPU;
	return 0;
}

static bool pidfd_has_ended(int pidfd)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};

	return poll(&p, 1, 0) > 0 && (p.revents & POLLIN) != 0;
}

int target_processes_pin(struct broker *b, struct target_processes *p, struct buf *message)
{
	for (size_t i = 0; i < p->count && i < PINNED_MAX; i++)
		p->list[i].pidfd = (int)syscall(SYS_pidfd_open, p->list[i].pid, 0);
	for (size_t i = 0; i < p->count; i++) {
		struct target_process *process = &p->list[i];
		bool gone = process->pidfd >= 0 && pidfd_has_ended(process->pidfd);

		/* The descriptor may be another's, who got the pid before it was opened. */
		if (gone || procinfo_is_gone(b, process->pid, process->start_ticks)) {
			buf_printf(message, "Process %d has just ended.", process->pid);
			return -ESRCH;
		}
	}
	return 0;
}

bool target_processes_are_gone(struct broker *b, struct target_processes *p)
{
	bool all = true;

	for (size_t i = 0; i < p->count; i++) {
		struct target_process *process = &p->list[i];

		if (!process->gone && process->pidfd >= 0)
			process->gone = pidfd_has_ended(process->pidfd);
		else if (!process->gone)
			process->gone = procinfo_is_gone(b, process->pid, process->start_ticks);
		all = all && process->gone;
	}
	return all;
}
