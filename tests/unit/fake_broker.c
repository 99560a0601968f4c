#include "tests/unit/fake_broker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/io.h"

struct fake_broker fake;

struct broker {
	int unused;
};

struct broker *fake_broker(void)
{
	static struct broker b;

	return &b;
}

void fake_broker_reset(void)
{
	memset(&fake, 0, sizeof(fake));
}

unsigned fake_count_fds(void)
{
	struct dirent *entry;
	DIR *dir = opendir("/proc/self/fd");
	unsigned count = 0;

	while (dir && (entry = readdir(dir)))
		count += entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return count - 1; /* that of the folder itself */
}

static int open_path(const char *path, int flags, int *ret_fd)
{
	int fd = open(path, flags | O_RDONLY | O_CLOEXEC);

	fake.requests++;
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

static const char *proc_root(void)
{
	return fake.proc_root ? fake.proc_root : "/proc";
}

static const char *cgroup_root(void)
{
	if (fake.cgroup_root)
		return fake.cgroup_root;
	return access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0 ? "/sys/fs/cgroup"
								      : "/sys/fs/cgroup/unified";
}

int broker_perf_open(struct broker *b, const struct perf_event_attr *attr, pid_t pid, int cpu,
	const char *cgroup, int *ret_fd)
{
	AUTO(close_auto) int cgroup_fd = -1;
	unsigned long flags = PERF_FLAG_FD_CLOEXEC;
	int fd, r = 0;

	fake.requests++;
	if (fake.before_perf_open)
		r = fake.before_perf_open(attr, pid, cpu, fake.arg);
	if (r == 0 && cgroup)
		r = broker_open_cgroup(b, cgroup, BROKER_CGROUP_DIR, &cgroup_fd);
	if (r < 0)
		return r;
	if (cgroup) {
		flags |= PERF_FLAG_PID_CGROUP;
		pid = cgroup_fd;
	}
	fd = (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, flags);
	if (fd < 0)
		return -errno;
	fake.perf_opened++;
	*ret_fd = fd;
	return 0;
}

int broker_open_proc(struct broker *b, pid_t pid, pid_t tid, enum broker_proc what, int *ret_fd)
{
	static const char *const names[] = {"stat", "status", "maps", "cgroup", "cmdline"};
	char path[4096];

	if (tid)
		snprintf(
			path, sizeof(path), "%s/%d/task/%d/%s", proc_root(), pid, tid, names[what]);
	else
		snprintf(path, sizeof(path), "%s/%d/%s", proc_root(), pid, names[what]);
	return open_path(path, 0, ret_fd);
}

int broker_list(struct broker *b, pid_t pid, struct buf *into)
{
	struct dirent *entry;
	char path[4096];
	DIR *dir;
	int r = 0;

	fake.requests++;
	if (pid)
		snprintf(path, sizeof(path), "%s/%d/task", proc_root(), pid);
	else
		snprintf(path, sizeof(path), "%s", proc_root());
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while (r == 0 && (entry = readdir(dir))) {
		pid_t found = (pid_t)strtol(entry->d_name, NULL, 10);

		if (found > 0)
			r = buf_append(into, &found, sizeof(found));
	}
	closedir(dir);
	return r;
}

static int text_fd(const char *text, int *ret_fd)
{
	int fd = memfd_create("fake", MFD_CLOEXEC);

	fake.requests++;
	if (fd < 0)
		return -errno;
	if (io_write_all(fd, text, strlen(text)) < 0 || lseek(fd, 0, SEEK_SET) < 0) {
		close(fd);
		return -EIO;
	}
	*ret_fd = fd;
	return 0;
}

int broker_open_host(struct broker *b, enum broker_host what, int *ret_fd)
{
	if (what == BROKER_HOST_CPUS_ONLINE && fake.cpus_online)
		return text_fd(fake.cpus_online, ret_fd);
	if (what == BROKER_HOST_MAX_RATE && fake.max_rate)
		return text_fd(fake.max_rate, ret_fd);
	if (what == BROKER_HOST_PARANOID && fake.paranoid)
		return text_fd(fake.paranoid, ret_fd);
	switch (what) {
	case BROKER_HOST_CPUS_ONLINE: return open_path("/sys/devices/system/cpu/online", 0, ret_fd);
	case BROKER_HOST_PARANOID:
		return open_path("/proc/sys/kernel/perf_event_paranoid", 0, ret_fd);
	case BROKER_HOST_MAX_RATE:
		return open_path("/proc/sys/kernel/perf_event_max_sample_rate", 0, ret_fd);
	case BROKER_HOST_MAX_STACK:
		return open_path("/proc/sys/kernel/perf_event_max_stack", 0, ret_fd);
	case BROKER_HOST_MLOCK_KB:
		return open_path("/proc/sys/kernel/perf_event_mlock_kb", 0, ret_fd);
	case BROKER_HOST_STAT: return open_path("/proc/stat", 0, ret_fd);
	default: return -EPERM;
	}
}

int broker_open_tracepoint(struct broker *b, const char *group, const char *name, int *ret_fd)
{
	const char *root = fake.trace_root ? fake.trace_root : "/sys/kernel/tracing";
	char path[4096];

	snprintf(path, sizeof(path), "%s/events", root);
	if (access(path, F_OK) < 0)
		return -ENODEV;
	snprintf(path, sizeof(path), "%s/events/%s/%s/id", root, group, name);
	return open_path(path, 0, ret_fd);
}

int broker_open_cgroup(struct broker *b, const char *path, enum broker_cgroup what, int *ret_fd)
{
	static const char *const names[] = {"", "/cgroup.procs", "/cgroup.events"};
	char full[8192];

	snprintf(full, sizeof(full), "%s%s%s", cgroup_root(), path, names[what]);
	return open_path(full, what == BROKER_CGROUP_DIR ? O_DIRECTORY : 0, ret_fd);
}
