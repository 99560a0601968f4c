#include "daemon/broker/host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "base/io.h"
#include "base/parse.h"

#define MOUNTS_MAX ((size_t)16 << 20)

static int open_or_errno(int dir, const char *path, int flags, int *ret_fd)
{
	int fd = openat(dir, path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

static int open_below(int dir, const char *path, uint64_t flags, int *ret_fd)
{
	return io_open_within(dir, path, flags,
		RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS, ret_fd);
}

int host_proc_dir(pid_t pid, int *ret_fd)
{
	char path[32];
	int r;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	r = open_or_errno(AT_FDCWD, path, O_PATH | O_DIRECTORY, ret_fd);
	return r == -ENOENT ? -ESRCH : r;
}

int host_open_proc(const struct request *q, int *ret_fd)
{
	static const char *const names[] = {
		[BROKER_PROC_STAT] = "stat",
		[BROKER_PROC_STATUS] = "status",
		[BROKER_PROC_MAPS] = "maps",
		[BROKER_PROC_CGROUP] = "cgroup",
		[BROKER_PROC_CMDLINE] = "cmdline",
		[BROKER_PROC_MEMORY] = "smaps_rollup",
	};
	const char *name = names[q->head.what];
	char path[64];
	int r;

	if (q->head.tid != 0)
		snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", q->head.pid, q->head.tid, name);
	else
		snprintf(path, sizeof(path), "/proc/%d/%s", q->head.pid, name);
	r = open_or_errno(AT_FDCWD, path, O_RDONLY, ret_fd);
	return r == -ENOENT ? -ESRCH : r;
}

static void closedir_auto(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* The names that are numbers. */
static int collect_pids(int dir_fd_taken, struct buf *pids)
{
	AUTO(closedir_auto) DIR *dir = fdopendir(dir_fd_taken);
	struct dirent *e;

	if (!dir) {
		close(dir_fd_taken);
		return -ENOMEM;
	}
	while (errno = 0, (e = readdir(dir)) != NULL) {
		uint64_t number;
		pid_t pid;

		if (parse_u64(e->d_name, INT32_MAX, &number) < 0)
			continue;
		pid = (pid_t)number;
		buf_append(pids, &pid, sizeof(pid));
	}
	/* A process that ends while its threads are read ends the list. */
	if (errno != 0 && errno != ENOENT && errno != ESRCH)
		return -errno;
	return pids->error;
}

int host_list(const struct request *q, int *ret_fd)
{
	AUTO(buf_done) struct buf pids = BUF_INIT;
	AUTO(close_auto) int memory = -1;
	char path[48] = "/proc";
	int dir = -1, r;

	if (q->head.pid != 0)
		snprintf(path, sizeof(path), "/proc/%d/task", q->head.pid);
	r = open_or_errno(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, &dir);
	if (r < 0)
		return r == -ENOENT ? -ESRCH : r;
	r = collect_pids(dir, &pids);
	if (r < 0)
		return r;
	memory = memfd_create("pids", MFD_CLOEXEC);
	if (memory < 0)
		return -errno;
	r = io_write_all(memory, pids.data, pids.len);
	if (r < 0)
		return r;
	if (lseek(memory, 0, SEEK_SET) < 0)
		return -errno;
	*ret_fd = MOVE_FD(memory);
	return 0;
}

static int open_config(const char *path, int *ret_fd)
{
	AUTO(close_auto) int fd = -1;
	struct stat st;
	int r;

	if (!path)
		return -ENOENT;
	r = open_or_errno(AT_FDCWD, path, O_RDONLY, &fd);
	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOTSUP;
	*ret_fd = MOVE_FD(fd);
	return 0;
}

int host_open(const struct request *q, const char *config_path, int *ret_fd)
{
	static const char *const paths[] = {
		[BROKER_HOST_KALLSYMS] = "/proc/kallsyms",
		[BROKER_HOST_MODULES] = "/proc/modules",
		[BROKER_HOST_CPUS_ONLINE] = "/sys/devices/system/cpu/online",
		[BROKER_HOST_PARANOID] = "/proc/sys/kernel/perf_event_paranoid",
		[BROKER_HOST_MAX_RATE] = "/proc/sys/kernel/perf_event_max_sample_rate",
		[BROKER_HOST_MAX_STACK] = "/proc/sys/kernel/perf_event_max_stack",
		[BROKER_HOST_MLOCK_KB] = "/proc/sys/kernel/perf_event_mlock_kb",
		[BROKER_HOST_KPTR_RESTRICT] = "/proc/sys/kernel/kptr_restrict",
		[BROKER_HOST_STAT] = "/proc/stat",
		[BROKER_HOST_NOTES] = "/sys/kernel/notes",
	};

	if (q->head.what == BROKER_HOST_CONFIG)
		return open_config(config_path, ret_fd);
	return open_or_errno(AT_FDCWD, paths[q->head.what], O_RDONLY, ret_fd);
}

/* Opens path as a folder if it is the root of that kind of file system. */
static int open_mount(const char *path, uint32_t magic, int *ret_fd)
{
	AUTO(close_auto) int fd = -1;
	struct statfs fs;
	int r = open_or_errno(AT_FDCWD, path, O_PATH | O_DIRECTORY, &fd);

	if (r < 0)
		return r;
	if (fstatfs(fd, &fs) < 0)
		return -errno;
	if ((uint32_t)fs.f_type != magic)
		return -ENODEV;
	*ret_fd = MOVE_FD(fd);
	return 0;
}

static int open_tracefs(int *ret_fd)
{
	if (open_mount("/sys/kernel/tracing", TRACEFS_MAGIC, ret_fd) == 0 ||
		open_mount("/sys/kernel/debug/tracing", TRACEFS_MAGIC, ret_fd) == 0)
		return 0;
	return -ENODEV;
}

int host_open_tracepoint(const struct request *q, int *ret_fd)
{
	AUTO(close_auto) int mount = -1;
	char path[sizeof(q->text) + sizeof(q->name) + 16];
	int r = open_tracefs(&mount);

	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "events/%s/%s/id", q->text, q->name);
	return open_below(mount, path, O_RDONLY, ret_fd);
}

/* Undoes the kernel's escapes (a blank is \040), in place. */
static void unescape(char *path)
{
	char *out = path;

	for (const char *at = path; *at; out++) {
		if (at[0] == '\\' && at[1] >= '0' && at[1] <= '3' && at[2] >= '0' && at[2] <= '7' &&
			at[3] >= '0' && at[3] <= '7') {
			*out = (char)((at[1] - '0') * 64 + (at[2] - '0') * 8 + at[3] - '0');
			at += 4;
		} else {
			*out = *at++;
		}
	}
	*out = 0;
}

/* The mount point out of a line of mountinfo, if it is of cgroup v2; NULL otherwise. */
static char *cgroup2_of_line(char *line)
{
	char *dash = strstr(line, " - cgroup2 ");
	char *field = line;

	if (!dash)
		return NULL;
	for (int i = 0; i < 4 && field; i++) {
		field = strchr(field, ' ');
		field = field ? field + 1 : NULL;
	}
	if (!field || field > dash)
		return NULL;
	field[strcspn(field, " ")] = 0;
	unescape(field);
	return field;
}

static int open_cgroup2(int *ret_fd)
{
	AUTO(buf_done) struct buf text = BUF_INIT;
	char *next = NULL;
	int r;

	if (open_mount("/sys/fs/cgroup", CGROUP2_SUPER_MAGIC, ret_fd) == 0)
		return 0;
	r = io_read_file("/proc/self/mountinfo", MOUNTS_MAX, &text);
	if (r < 0)
		return r;
	for (char *line = text.data ? strtok_r(text.data, "\n", &next) : NULL; line;
		line = strtok_r(NULL, "\n", &next)) {
		const char *path = cgroup2_of_line(line);

		if (path && open_mount(path, CGROUP2_SUPER_MAGIC, ret_fd) == 0)
			return 0;
	}
	return -ENODEV;
}

/* name below the cgroup of that path; "." is the folder itself. */
static int open_in_cgroup(const char *cgroup, const char *name, uint64_t flags, int *ret_fd)
{
	AUTO(close_auto) int mount = -1, dir = -1;
	int r = open_cgroup2(&mount);

	if (r < 0)
		return r;
	cgroup += strspn(cgroup, "/");
	r = open_below(mount, cgroup[0] ? cgroup : ".", O_PATH | O_DIRECTORY, &dir);
	if (r < 0)
		return r;
	return open_below(dir, name, flags, ret_fd);
}

int host_open_cgroup(const struct request *q, int *ret_fd)
{
	switch ((enum broker_cgroup)q->head.what) {
	case BROKER_CGROUP_DIR: return open_in_cgroup(q->text, ".", O_RDONLY | O_DIRECTORY, ret_fd);
	case BROKER_CGROUP_PROCS: return open_in_cgroup(q->text, "cgroup.procs", O_RDONLY, ret_fd);
	case BROKER_CGROUP_EVENTS:
		return open_in_cgroup(q->text, "cgroup.events", O_RDONLY, ret_fd);
	}
	return -EPERM;
}

int host_open_perf(const struct request *q, int *ret_fd)
{
	AUTO(close_auto) int cgroup = -1;
	unsigned long flags = PERF_FLAG_FD_CLOEXEC;
	int pid = q->head.pid;
	long fd;

	if (q->text[0]) {
		int r = open_in_cgroup(q->text, ".", O_RDONLY | O_DIRECTORY, &cgroup);

		if (r < 0)
			return r;
		pid = cgroup;
		flags |= PERF_FLAG_PID_CGROUP;
	}
	do /* it waits for a target that is in an exec, and who is stopped meanwhile gets EINTR */
		fd = syscall(SYS_perf_event_open, &q->attr, pid, q->head.tid, -1, flags);
	while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return -errno;
	*ret_fd = (int)fd;
	return 0;
}

bool host_has_cgroup2(void)
{
	AUTO(close_auto) int fd = -1;

	return open_cgroup2(&fd) == 0;
}

bool host_has_tracefs(void)
{
	AUTO(close_auto) int fd = -1;

	return open_tracefs(&fd) == 0;
}
