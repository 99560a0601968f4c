#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "daemon/broker/broker.h"
#include "daemon/broker/client.h"
#include "daemon/broker/inprocess.h"
#include "daemon/broker/wire.h"

static struct broker *broker;
static pid_t broker_pid;
static char folder[64];
static char config[128];

static const char *in_folder(const char *name)
{
	static char path[4][256];
	static unsigned next;
	char *out = path[next++ % 4];

	snprintf(out, sizeof(path[0]), "%s/%s", folder, name);
	return out;
}

static void write_file(const char *path, const char *text)
{
	AUTO(close_auto) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(io_write_all(fd, text, strlen(text)), 0);
}

static void write_elf(const char *path)
{
	AUTO(buf_done) struct buf bytes = BUF_INIT;
	AUTO(close_auto) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	assert_true(fd >= 0);
	assert_int_equal(io_read_file("/proc/self/exe", SIZE_MAX, &bytes), 0);
	assert_int_equal(io_write_all(fd, bytes.data, bytes.len), 0);
}

static int set_up(void **state)
{
	strcpy(folder, "/tmp/test-broker-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(config, sizeof(config), "%s/profiled.conf", folder);
	return broker_inprocess("/bin/true", config, &broker, &broker_pid);
}

static int tear_down(void **state)
{
	char command[96];

	if (broker_inprocess_end(broker, broker_pid) != 0)
		return -1;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

/* A process whose pid is free for files named after it. */
static pid_t start_target(const char *chroot_to)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(ready[1], 3);
		closefrom(4);
		if (chroot_to && (chroot(chroot_to) < 0 || chdir("/") < 0))
			_exit(1);
		(void)!write(3, "", 1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static void end_target(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void assert_reads(int fd, const char *beginning)
{
	char text[256] = "";

	assert_true(read(fd, text, sizeof(text) - 1) >= (ssize_t)strlen(beginning));
	assert_memory_equal(text, beginning, strlen(beginning));
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
}

/* Kernels before 5.6 and valgrind do not know this call; then paths in a target are not opened. */
static void need_openat2(void)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC};
	long fd = syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof(how));

	if (fd < 0 && errno == ENOSYS)
		skip();
	assert_true(fd >= 0);
	close((int)fd);
}

static struct perf_event_attr clock_attr(void)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(struct perf_event_attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_REGS_USER |
			PERF_SAMPLE_STACK_USER,
		.sample_regs_user = 1 << 7 | 1 << 8,
		.sample_stack_user = 8192,
		.sample_freq = 99,
		.freq = 1,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
}

static void perf_event_of_a_process_is_opened(void **state)
{
	struct perf_event_attr attr = clock_attr();
	pid_t target = start_target(NULL);
	int fd = -1;
	int r = broker_perf_open(broker, &attr, target, -1, NULL, &fd);

	end_target(target);
	/* perf_event_paranoid 3 of some distributions, or no perf at all, is the machine's word. */
	if (r == -EACCES || r == -ENOSYS || r == -ENOENT)
		skip();
	assert_int_equal(r, 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
}

static void perf_attr_off_the_list_is_refused(void **state)
{
	struct perf_event_attr attr;
	int fd = -1;

#define REFUSED(change)                                                                      \
	do {                                                                                 \
		attr = clock_attr();                                                         \
		change;                                                                      \
		assert_int_equal(broker_perf_open(broker, &attr, 0, -1, NULL, &fd), -EPERM); \
	} while (0)
	REFUSED(attr.type = PERF_TYPE_BREAKPOINT; attr.bp_len = 8);
	REFUSED(attr.type = 77);
	REFUSED(attr.config = PERF_COUNT_SW_BPF_OUTPUT);
	REFUSED(attr.sample_type |= PERF_SAMPLE_RAW);
	REFUSED(attr.sample_type |= PERF_SAMPLE_ADDR);
	REFUSED(attr.sample_type |= PERF_SAMPLE_REGS_INTR);
	REFUSED(attr.sample_type |= PERF_SAMPLE_BRANCH_STACK);
	REFUSED(attr.read_format = 1 << 20);
	REFUSED(attr.sigtrap = 1);
	REFUSED(attr.bpf_event = 1);
	REFUSED(attr.write_backward = 1);
	REFUSED(attr.text_poke = 1);
	REFUSED(attr.config1 = 1);
	REFUSED(attr.config2 = 1);
	REFUSED(attr.branch_sample_type = 1);
	REFUSED(attr.sample_regs_intr = 1);
	REFUSED(attr.aux_watermark = 4096);
	REFUSED(attr.sample_stack_user = 65536);
	REFUSED(attr.clockid = CLOCK_REALTIME);
#undef REFUSED
	attr = clock_attr();
	assert_int_equal(broker_perf_open(broker, &attr, -2, -1, NULL, &fd), -EPERM);
	assert_int_equal(broker_perf_open(broker, &attr, 1, 0, "/a", &fd), -EPERM);
	attr.size = 8;
	assert_int_equal(broker_perf_open(broker, &attr, 0, -1, NULL, &fd), -EPROTO);
	attr.size = 4096;
	assert_int_equal(broker_perf_open(broker, &attr, 0, -1, NULL, &fd), -E2BIG);
}

static void proc_files_are_opened(void **state)
{
	static const enum broker_proc all[] = {BROKER_PROC_STAT, BROKER_PROC_STATUS,
		BROKER_PROC_MAPS, BROKER_PROC_CGROUP, BROKER_PROC_CMDLINE};
	char pid[16];

	snprintf(pid, sizeof(pid), "%d (", getpid());
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		AUTO(close_auto) int fd = -1;

		assert_int_equal(broker_open_proc(broker, getpid(), 0, all[i], &fd), 0);
		assert_reads(fd, all[i] == BROKER_PROC_STAT ? pid : "");
	}
	{
		AUTO(close_auto) int fd = -1;

		assert_int_equal(
			broker_open_proc(broker, getpid(), getpid(), BROKER_PROC_STAT, &fd), 0);
		assert_reads(fd, pid);
	}
}

static void proc_of_nobody_is_esrch(void **state)
{
	pid_t target = start_target(NULL);
	AUTO(buf_done) struct buf pids = BUF_INIT;
	int fd = -1;

	end_target(target);
	assert_int_equal(broker_open_proc(broker, target, 0, BROKER_PROC_STAT, &fd), -ESRCH);
	assert_int_equal(broker_list(broker, target, &pids), -ESRCH);
	assert_int_equal(broker_open_perfmap(broker, target, target, &fd), -ESRCH);
	assert_int_equal(broker_open_elf(broker, target, "/bin/sh", &fd), -ESRCH);
	assert_int_equal(
		broker_open_mapped(broker, target, 4096, 8192, "/bin/sh", 1, 1, &fd), -ESRCH);
	assert_int_equal(broker_open_proc(broker, 0, 0, BROKER_PROC_STAT, &fd), -EPERM);
	assert_int_equal(broker_open_proc(broker, -1, 0, BROKER_PROC_STAT, &fd), -EPERM);
	assert_int_equal(broker_open_proc(broker, 1, 0, (enum broker_proc)5, &fd), -EPERM);
}

static bool has_pid(const struct buf *pids, pid_t pid)
{
	for (size_t i = 0; i < pids->len / sizeof(pid_t); i++) {
		if (((const pid_t *)(const void *)pids->data)[i] == pid)
			return true;
	}
	return false;
}

static void processes_and_threads_are_listed(void **state)
{
	AUTO(buf_done) struct buf all = BUF_INIT;
	AUTO(buf_done) struct buf threads = BUF_INIT;

	assert_int_equal(broker_list(broker, 0, &all), 0);
	assert_true(has_pid(&all, getpid()));
	assert_true(has_pid(&all, broker_pid));
	assert_int_equal(broker_list(broker, broker_pid, &threads), 0);
	assert_false(has_pid(&threads, getpid()));
	assert_true(has_pid(&threads, broker_pid));
}

static void host_files_are_opened(void **state)
{
	AUTO(close_auto) int fd = -1, paranoid = -1, cpus = -1;
	int bad = -1;

	assert_int_equal(broker_open_host(broker, BROKER_HOST_STAT, &fd), 0);
	assert_reads(fd, "cpu");
	assert_int_equal(broker_open_host(broker, BROKER_HOST_CPUS_ONLINE, &cpus), 0);
	assert_reads(cpus, "0");
	assert_int_equal(broker_open_host(broker, BROKER_HOST_PARANOID, &paranoid), 0);
	assert_int_equal(broker_open_host(broker, (enum broker_host)99, &bad), -EPERM);
}

static void configuration_is_opened_when_there_is_one(void **state)
{
	AUTO(close_auto) int fd = -1;

	assert_int_equal(broker_open_host(broker, BROKER_HOST_CONFIG, &fd), -ENOENT);
	assert_int_equal(mkfifo(config, 0644), 0);
	assert_int_equal(broker_open_host(broker, BROKER_HOST_CONFIG, &fd), -ENOTSUP);
	assert_int_equal(unlink(config), 0);
	write_file(config, "[daemon]\n");
	assert_int_equal(broker_open_host(broker, BROKER_HOST_CONFIG, &fd), 0);
	assert_reads(fd, "[daemon]");
}

/* Where this program's own code is mapped. */
struct mapping {
	uint64_t start, end, inode;
	dev_t dev;
};

static void find_mapping(const char *path, struct mapping *ret)
{
	AUTO(buf_done) struct buf text = BUF_INIT;
	char *next = NULL;

	assert_int_equal(io_read_file("/proc/self/maps", SIZE_MAX, &text), 0);
	for (char *line = strtok_r(text.data, "\n", &next); line;
		line = strtok_r(NULL, "\n", &next)) {
		unsigned long start, end, inode;
		unsigned int major_id, minor_id;
		int at = 0;

		if (sscanf(line, "%lx-%lx %*s %*x %x:%x %lu %n", &start, &end, &major_id, &minor_id,
			    &inode, &at) == 5 &&
			strcmp(line + at, path) == 0) {
			*ret = (struct mapping){start, end, inode, makedev(major_id, minor_id)};
			return;
		}
	}
	fail_msg("%s is not mapped", path);
}

static void *map_file(const char *path)
{
	AUTO(close_auto) int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);

	assert_true(at != MAP_FAILED);
	return at;
}

static void mapped_file_is_opened(void **state)
{
	const char *path = in_folder("mapped");
	AUTO(close_auto) int fd = -1, by_path = -1;
	struct mapping m;
	void *at;

	need_openat2();
	write_elf(path);
	at = map_file(path);
	find_mapping(path, &m);
	assert_int_equal(
		broker_open_mapped(broker, getpid(), m.start, m.end, path, m.dev, m.inode, &fd), 0);
	assert_reads(fd, "\177ELF");
	/* Where nothing is mapped, the path has to do, and the identity is right. */
	assert_int_equal(
		broker_open_mapped(broker, getpid(), 4096, 8192, path, m.dev, m.inode, &by_path),
		0);
	assert_reads(by_path, "\177ELF");
	munmap(at, 4096);
}

static void mapped_path_with_another_inode_is_stale(void **state)
{
	const char *path = in_folder("replaced");
	const char *other = in_folder("other");
	struct mapping m;
	void *at;
	int fd = -1;

	need_openat2();
	write_elf(path);
	write_elf(other);
	at = map_file(path);
	find_mapping(path, &m);
	assert_int_equal(rename(other, path), 0);
	assert_int_equal(
		broker_open_mapped(broker, getpid(), 4096, 8192, path, m.dev, m.inode, &fd),
		-ESTALE);
	/* Another device with the same inode number is another file too. */
	assert_int_equal(
		broker_open_mapped(broker, getpid(), 4096, 8192, path, m.dev + 1, m.inode, &fd),
		-ESTALE);
	/* And without an identity there is nothing to go by. */
	assert_true(broker_open_mapped(broker, getpid(), 4096, 8192, path, 0, 0, &fd) < 0);
	munmap(at, 4096);
}

static void own_program_is_reached_after_its_removal(void **state)
{
	const char *path = in_folder("program");
	AUTO(close_auto) int fd = -1;
	struct stat st;
	pid_t pid;
	int r;

	assert_int_equal(system("command -v sleep >/dev/null"), 0);
	{
		char command[512];

		snprintf(command, sizeof(command), "cp \"$(command -v sleep)\" %s", path);
		assert_int_equal(system(command), 0);
	}
	assert_int_equal(stat(path, &st), 0);
	pid = fork();
	if (pid == 0) {
		execl(path, "program", "1000", NULL);
		_exit(1);
	}
	/* Until exec has happened the link leads to this test. */
	for (;;) {
		char link[64], to[160] = "";

		snprintf(link, sizeof(link), "/proc/%d/exe", pid);
		if (readlink(link, to, sizeof(to) - 1) > 0 && strcmp(to, path) == 0)
			break;
		assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
	}
	assert_int_equal(unlink(path), 0);
	r = broker_open_mapped(broker, pid, 4096, 8192, path, st.st_dev, st.st_ino, &fd);
	end_target(pid);
	assert_int_equal(r, 0);
	assert_reads(fd, "\177ELF");
}

static void mapped_file_that_is_no_elf_is_refused(void **state)
{
	const char *path = in_folder("data");
	struct mapping m;
	void *at;
	int fd = -1;

	write_file(path, "root:x:0:0:root");
	at = map_file(path);
	find_mapping(path, &m);
	assert_int_equal(
		broker_open_mapped(broker, getpid(), m.start, m.end, path, m.dev, m.inode, &fd),
		-ENOEXEC);
	assert_int_equal(
		broker_open_mapped(broker, getpid(), 8192, 4096, path, m.dev, m.inode, &fd),
		-EPERM);
	assert_int_equal(
		broker_open_mapped(broker, getpid(), 4096, 8192, "data", m.dev, m.inode, &fd),
		-EPERM);
	munmap(at, 4096);
}

static void elf_by_path_is_opened_and_nothing_else(void **state)
{
	AUTO(close_auto) int fd = -1, linked = -1;
	const char *elf = in_folder("elf");
	const char *link_to = in_folder("link");
	const char *path;
	int bad = -1;

	need_openat2();
	write_elf(elf);
	assert_int_equal(symlink("elf", link_to), 0);
	assert_int_equal(broker_open_elf(broker, 0, elf, &fd), 0);
	assert_reads(fd, "\177ELF");
	assert_int_equal(broker_open_elf(broker, getpid(), link_to, &linked), 0);
	assert_reads(linked, "\177ELF");

	assert_int_equal(broker_open_elf(broker, 0, "/etc/passwd", &bad), -ENOEXEC);
	assert_int_equal(broker_open_elf(broker, 0, "/dev/null", &bad), -ENOTSUP);
	assert_int_equal(broker_open_elf(broker, 0, "/etc", &bad), -ENOTSUP);
	assert_int_equal(broker_open_elf(broker, 0, "bin/sh", &bad), -EPERM);
	assert_int_equal(broker_open_elf(broker, -1, "/bin/sh", &bad), -EPERM);
	assert_int_equal(broker_open_elf(broker, 0, "/no/such/file", &bad), -ENOENT);
	/* A magic link would lead out of the root. */
	assert_int_equal(broker_open_elf(broker, 0, "/proc/self/exe", &bad), -ELOOP);
	path = in_folder("fifo");
	assert_int_equal(mkfifo(path, 0644), 0);
	assert_int_equal(broker_open_elf(broker, 0, path, &bad), -ENOTSUP);
	path = in_folder("empty");
	write_file(path, "");
	assert_int_equal(broker_open_elf(broker, 0, path, &bad), -ENOEXEC);
}

/* Another process may have had that number and left its map behind. */
static void name_perfmap(char out[64], pid_t pid)
{
	snprintf(out, 64, "/tmp/perf-%d.map", pid);
	unlink(out);
}

static void perfmap_is_opened(void **state)
{
	AUTO(close_auto) int fd = -1;
	pid_t target;
	char path[64];
	int r;

	need_openat2();
	target = start_target(NULL);
	name_perfmap(path, target);
	write_file(path, "1000 10 jitted");
	r = broker_open_perfmap(broker, target, target, &fd);
	end_target(target);
	unlink(path);
	assert_int_equal(r, 0);
	assert_reads(fd, "1000 10 jitted");
}

/* Makes the map by command, and asks for it. */
static int perfmap_made_by(int (*make)(const char *path))
{
	pid_t target = start_target(NULL);
	char path[64];
	int r, fd = -1;

	name_perfmap(path, target);
	assert_int_equal(make(path), 0);
	r = broker_open_perfmap(broker, target, target, &fd);
	if (r == 0)
		close(fd);
	end_target(target);
	unlink(path);
	return r;
}

static int make_link(const char *path)
{
	return symlink("/etc/passwd", path);
}

static int make_fifo(const char *path)
{
	return mkfifo(path, 0644);
}

static int make_folder_link(const char *path)
{
	return symlink("/proc/self/root/etc/passwd", path);
}

static int make_second_name(const char *path)
{
	write_file(in_folder("first"), "secret");
	return link(in_folder("first"), path);
}

static int make_huge(const char *path)
{
	write_file(path, "1000 10 jitted");
	return truncate(path, (off_t)(64 << 20) + 1);
}

static int make_nothing(const char *path)
{
	return 0;
}

static void perfmap_tricks_are_refused(void **state)
{
	need_openat2();
	assert_int_equal(perfmap_made_by(make_link), -ENOTSUP);
	assert_int_equal(perfmap_made_by(make_folder_link), -ENOTSUP);
	assert_int_equal(perfmap_made_by(make_fifo), -ENOTSUP);
	assert_int_equal(perfmap_made_by(make_second_name), -EACCES);
	assert_int_equal(perfmap_made_by(make_huge), -EFBIG);
	assert_int_equal(perfmap_made_by(make_nothing), -ENOENT);
}

static int make_of_another(const char *path)
{
	write_file(path, "1000 10 jitted");
	return chown(path, 12345, 12345);
}

static int make_device(const char *path)
{
	return mknod(path, S_IFCHR | 0644, makedev(1, 5));
}

static void perfmap_of_another_user_or_device_is_refused(void **state)
{
	need_openat2();
	if (geteuid() != 0)
		skip();
	assert_int_equal(perfmap_made_by(make_of_another), -EACCES);
	assert_int_equal(perfmap_made_by(make_device), -ENOTSUP);
}

/* A file of ours, as the target of a mapping: that it is mapped is checked by device and inode. */
static int jitdump_of(const char *path, uint64_t inode_more)
{
	pid_t target = start_target(NULL);
	struct stat st = {0};
	int r, fd = -1;

	stat(path, &st);
	r = broker_open_jitdump(
		broker, target, 4096, 8192, path, st.st_dev, st.st_ino + inode_more, &fd);
	if (r == 0)
		close(fd);
	end_target(target);
	return r;
}

static void jitdumps_are_opened_with_care(void **state)
{
	char path[256];

	need_openat2();
	snprintf(path, sizeof(path), "%s", in_folder("jit-1.dump"));
	write_file(path, "DTiJ and more");
	assert_int_equal(jitdump_of(path, 0), 0);
	assert_int_equal(jitdump_of(path, 1), -ESTALE); /* another file has its name now */
	assert_int_equal(truncate(path, ((off_t)4 << 30) + 1), 0);
	assert_int_equal(jitdump_of(path, 0), -EFBIG);
	assert_int_equal(truncate(path, 20), 0);
	assert_int_equal(link(path, in_folder("second")), 0);
	assert_int_equal(jitdump_of(path, 0), -EACCES);
	assert_int_equal(unlink(in_folder("second")), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(path, 12345, 12345), 0);
		assert_int_equal(jitdump_of(path, 0), -EACCES);
	}
	assert_int_equal(unlink(path), 0);
	write_file(path, "secret");
	assert_int_equal(jitdump_of(path, 0), -ENOEXEC);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0644), 0);
	assert_int_equal(jitdump_of(path, 0), -ENOTSUP);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(jitdump_of(path, 0), -ENOTSUP);
}

/* A root of its own, where links lead nowhere but into it. */
static void make_jail(char out[256])
{
	snprintf(out, 256, "%s", in_folder("jail"));
	assert_int_equal(mkdir(out, 0755), 0);
	assert_int_equal(mkdir(in_folder("jail/tmp"), 0777), 0);
	assert_int_equal(mkdir(in_folder("jail/etc"), 0755), 0);
	assert_int_equal(mkdir(in_folder("jail/bin"), 0755), 0);
	write_file(in_folder("jail/etc/passwd"), "inside");
}

static void links_stay_inside_the_root_of_the_target(void **state)
{
	AUTO(close_auto) int fd = -1;
	char jail[256], path[160];
	pid_t target;
	int r, bad = -1;

	need_openat2();
	if (geteuid() != 0)
		skip();
	make_jail(jail);
	/* Absolute and relative ways out, seen from the host. */
	assert_int_equal(symlink("/bin/sh", in_folder("jail/bin/absolute")), 0);
	assert_int_equal(symlink("../../../../../../bin/sh", in_folder("jail/bin/relative")), 0);
	write_elf(in_folder("jail/bin/real"));
	assert_int_equal(symlink("/bin/real", in_folder("jail/bin/good")), 0);
	target = start_target(jail);

	assert_int_equal(broker_open_elf(broker, target, "/bin/absolute", &bad), -ENOENT);
	assert_int_equal(broker_open_elf(broker, target, "/bin/relative", &bad), -ENOENT);
	assert_int_equal(broker_open_elf(broker, target, "/../../../../bin/sh", &bad), -ENOENT);
	assert_int_equal(broker_open_elf(broker, target, "/bin/good", &fd), 0);

	/* Its map, where /tmp itself is a link out. */
	snprintf(path, sizeof(path), "jail/tmp/perf-%d.map", 7);
	write_file(in_folder(path), "inside");
	assert_int_equal(broker_open_perfmap(broker, target, 7, &bad), 0);
	assert_reads(bad, "inside");
	close(bad);
	assert_int_equal(rename(in_folder("jail/tmp"), in_folder("jail/gone")), 0);
	assert_int_equal(symlink("/../../../../../../../../tmp", in_folder("jail/tmp")), 0);
	name_perfmap(path, 999999);
	write_file(path, "outside");
	r = broker_open_perfmap(broker, target, 999999, &bad);
	unlink(path);
	end_target(target);
	/* The link is a loop inside the root. */
	assert_int_equal(r, -ELOOP);
}

/* Renames without end, anywhere on the machine, make openat2(2) lose its way at each "..". */
static pid_t start_renaming(const char *path)
{
	char other[272];
	pid_t pid;

	snprintf(other, sizeof(other), "%s.2", path);
	assert_int_equal(mkdir(path, 0755), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid > 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		rename(path, other);
		rename(other, path);
	}
}

static void renames_elsewhere_do_not_fail_an_opening(void **state)
{
	AUTO(close_auto) int fd = -1;
	pid_t target, renaming;
	int wrong = 0;

	need_openat2();
	if (geteuid() != 0)
		skip();
	target = start_target(folder);
	renaming = start_renaming(in_folder("moving"));
	for (int i = 0; i < 3000; i++)
		wrong += broker_open_elf(broker, target, "/../../../../bin/sh", &fd) != -ENOENT;
	kill(renaming, SIGKILL);
	waitpid(renaming, NULL, 0);
	end_target(target);
	assert_int_equal(wrong, 0);
}

/* A file system whose server never says a word: whoever looks into it waits. */
static int mount_silent(const char *path)
{
	char options[96];
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -1;
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	if (mount("silent", path, "fuse", MS_NOSUID | MS_NODEV, options) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static void silent_file_system_does_not_hold_up_the_broker(void **state)
{
	AUTO(close_auto) int fd = -1;
	const char *path = in_folder("silent");
	char inside[256];
	int fuse, r, after;

	need_openat2();
	assert_int_equal(mkdir(path, 0755), 0);
	/* Wants root and FUSE. */
	fuse = mount_silent(path);
	if (fuse < 0)
		skip();
	snprintf(inside, sizeof(inside), "%s/lib.so", path);
	r = broker_open_elf(broker, 0, inside, &fd);
	after = broker_open_elf(broker, 0, "/proc/self/exe", &fd);
	(void)umount2(path, MNT_DETACH);
	close(fuse);
	assert_int_equal(r, -ETIMEDOUT);
	assert_int_equal(after, -ELOOP);
}

static void tracepoint_names_cannot_leave_their_folder(void **state)
{
	struct broker_info info;
	int fd = -1;

	need_openat2();
	assert_int_equal(broker_open_tracepoint(broker, "..", "x", &fd), -EPERM);
	assert_int_equal(broker_open_tracepoint(broker, "sched", "../../x", &fd), -EPERM);
	assert_int_equal(broker_open_tracepoint(broker, "sched", "a.b", &fd), -EPERM);
	assert_int_equal(broker_get_info(broker, &info), 0);
	assert_int_equal(broker_open_tracepoint(broker, "sched", "no_such_event", &fd),
		!info.tracefs            ? -ENODEV
			: geteuid() == 0 ? -ENOENT
					 : -EACCES);
}

static void cgroup_paths_stay_below_the_mount(void **state)
{
	AUTO(close_auto) int dir = -1;
	struct broker_info info;
	int fd = -1;

	need_openat2();
	assert_int_equal(broker_get_info(broker, &info), 0);
	assert_int_equal(broker_open_cgroup(broker, "relative", BROKER_CGROUP_DIR, &fd), -EPERM);
	assert_int_equal(broker_open_cgroup(broker, "/", (enum broker_cgroup)3, &fd), -EPERM);
	if (!info.cgroup2) {
		assert_int_equal(broker_open_cgroup(broker, "/", BROKER_CGROUP_DIR, &fd), -ENODEV);
		return;
	}
	assert_int_equal(broker_open_cgroup(broker, "/", BROKER_CGROUP_DIR, &dir), 0);
	assert_int_equal(broker_open_cgroup(broker, "/no/such", BROKER_CGROUP_PROCS, &fd), -ENOENT);
	assert_int_equal(broker_open_cgroup(broker, "/../../etc", BROKER_CGROUP_DIR, &fd), -EXDEV);
}

static void new_reader_gets_a_socket_and_old_one_ends(void **state)
{
	AUTO(close_auto) int sock = -1;
	struct broker_info info;
	int other = -1;
	pid_t pid;

	assert_int_equal(broker_new_reader(broker, &sock, &pid), 0);
	assert_int_equal(broker_get_info(broker, &info), 0);
	assert_int_equal(info.reader_pid, pid);
	assert_int_equal(info.broker_pid, broker_pid);
	assert_int_equal(broker_new_reader(broker, &other, &pid), -EAGAIN);
}

/* valgrind keeps this limit by itself and leaves the kernel's as it is. */
static bool kernel_limits_files_to(int count)
{
	AUTO(buf_done) struct buf text = BUF_INIT;
	char line[64];

	assert_int_equal(io_read_file("/proc/self/limits", SIZE_MAX, &text), 0);
	snprintf(line, sizeof(line), "Max open files            %d ", count);
	return strstr(text.data, line) != NULL;
}

static void client_over_its_limit_of_descriptors_hears_emfile(void **state)
{
	struct rlimit before, tight;
	int fd = -1, r, next;
	bool limited;

	next = dup(0);
	assert_true(next >= 0);
	close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	tight = before;
	tight.rlim_cur = (rlim_t)next + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
	limited = kernel_limits_files_to(next + 1);
	tight.rlim_cur = (rlim_t)next;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
	r = broker_open_host(broker, BROKER_HOST_STAT, &fd);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	if (!limited)
		skip();
	assert_int_equal(r, -EMFILE);
	assert_int_equal(broker_open_host(broker, BROKER_HOST_STAT, &fd), 0);
	close(fd);
}

static void long_names_are_refused_by_the_client(void **state)
{
	char name[5000];
	int fd = -1;

	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	name[0] = '/';
	assert_int_equal(broker_open_elf(broker, 0, name, &fd), -ENAMETOOLONG);
	assert_int_equal(broker_open_tracepoint(broker, "sched", name, &fd), -ENAMETOOLONG);
}

static void broker_that_is_gone_is_epipe(void **state)
{
	struct broker *b;
	pid_t pid;
	int fd = -1;

	assert_int_equal(broker_inprocess(NULL, NULL, &b, &pid), 0);
	assert_int_equal(broker_open_host(b, BROKER_HOST_CONFIG, &fd), -ENOENT);
	assert_int_equal(broker_new_reader(b, &fd, &(pid_t){0}), -ENOENT);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(broker_open_host(b, BROKER_HOST_STAT, &fd), -EPIPE);
	assert_int_equal(broker_open_host(b, BROKER_HOST_STAT, &fd), -EPIPE);
	broker_free(b);
}

/* Messages by hand. */

static const struct broker_setup bare = {
	.sock = -1, .reader_fd = -1, .child_uid = (uid_t)-1, .signal_fd = -1};

static int status_of(const void *message, size_t len)
{
	struct broker_state s = {.setup = &bare};
	struct broker_answer answer;
	int fd;

	broker_answer(&s, message, len, &answer, &fd);
	assert_int_equal(answer.version, BROKER_VERSION);
	assert_true(answer.status <= 0);
	assert_true(answer.status == 0 || fd == -1);
	if (fd >= 0)
		close(fd);
	return answer.status;
}

static void malformed_messages_are_no_requests(void **state)
{
	struct {
		struct broker_request head;
		char rest[64];
	} m = {.head = {.version = BROKER_VERSION, .op = BROKER_OP_HOST}};
	size_t bare_bytes = sizeof(m.head);

	m.head.what = BROKER_HOST_STAT;
	assert_int_equal(status_of(&m, bare_bytes), 0);
	assert_int_equal(status_of(&m, 0), -EPROTO);
	assert_int_equal(status_of(&m, 1), -EPROTO);
	assert_int_equal(status_of(&m, bare_bytes - 1), -EPROTO);
	assert_int_equal(status_of(&m, bare_bytes + 1), -EPROTO);
	m.head.version = 2;
	assert_int_equal(status_of(&m, bare_bytes), -EPROTO);
	m.head.version = BROKER_VERSION;
	m.head.op = 0;
	assert_int_equal(status_of(&m, bare_bytes), -EPERM);
	m.head.op = 12;
	assert_int_equal(status_of(&m, bare_bytes), -EPERM);

	/* Parts that the operation does not have, lack, or that do not add up. */
	m.head.op = BROKER_OP_HOST;
	m.head.text_bytes = 1;
	assert_int_equal(status_of(&m, bare_bytes + 1), -EPROTO);
	m.head.op = BROKER_OP_ELF;
	m.head.text_bytes = 0;
	assert_int_equal(status_of(&m, bare_bytes), -EPROTO);
	m.head.text_bytes = 64;
	assert_int_equal(status_of(&m, bare_bytes + 63), -EPROTO);
	m.head.text_bytes = UINT32_MAX;
	m.head.name_bytes = 2;
	assert_int_equal(status_of(&m, bare_bytes + 1), -EPROTO);
	/* A zero inside a path would hide its end. */
	m.head.name_bytes = 0;
	m.head.text_bytes = 9;
	memcpy(m.rest, "/bin/sh\0x", 9);
	assert_int_equal(status_of(&m, bare_bytes + 9), -EPROTO);
}

static void oversized_and_loaded_messages_are_answered(void **state)
{
	static char huge[3 * BROKER_MESSAGE_MAX];
	struct broker_answer answer;
	struct broker_setup setup = bare;
	int pair[2], fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	pid = fork();
	if (pid == 0) {
		close(pair[0]);
		setup.sock = pair[1];
		_exit(broker_serve(&setup));
	}
	close(pair[1]);
	assert_int_equal(io_send_fds(pair[0], huge, sizeof(huge), NULL, 0), sizeof(huge));
	assert_int_equal(recv(pair[0], &answer, sizeof(answer), 0), sizeof(answer));
	assert_int_equal(answer.status, -EPROTO);
	assert_int_equal(io_send_fds(pair[0], huge, 64, &fd, 1), 64);
	assert_int_equal(recv(pair[0], &answer, sizeof(answer), 0), sizeof(answer));
	assert_int_equal(answer.status, -EPROTO);
	close(fd);
	close(pair[0]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void random_bytes_are_refused(void **state)
{
	uint64_t x = 88172645463325252u;
	_Alignas(8) unsigned char message[512];

	for (int round = 0; round < 20000; round++) {
		size_t len = 0;

		for (size_t i = 0; i < sizeof(message); i += 8) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			memcpy(message + i, &x, 8);
		}
		len = (size_t)(x % sizeof(message));
		/* Half of them get past the version. */
		if (round % 2)
			memcpy(message, &(uint32_t){BROKER_VERSION}, 4);
		assert_true(status_of(message, len) < 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(perf_event_of_a_process_is_opened),
		cmocka_unit_test(perf_attr_off_the_list_is_refused),
		cmocka_unit_test(proc_files_are_opened),
		cmocka_unit_test(proc_of_nobody_is_esrch),
		cmocka_unit_test(processes_and_threads_are_listed),
		cmocka_unit_test(host_files_are_opened),
		cmocka_unit_test(configuration_is_opened_when_there_is_one),
		cmocka_unit_test(mapped_file_is_opened),
		cmocka_unit_test(mapped_path_with_another_inode_is_stale),
		cmocka_unit_test(own_program_is_reached_after_its_removal),
		cmocka_unit_test(mapped_file_that_is_no_elf_is_refused),
		cmocka_unit_test(elf_by_path_is_opened_and_nothing_else),
		cmocka_unit_test(perfmap_is_opened),
		cmocka_unit_test(perfmap_tricks_are_refused),
		cmocka_unit_test(perfmap_of_another_user_or_device_is_refused),
		cmocka_unit_test(jitdumps_are_opened_with_care),
		cmocka_unit_test(links_stay_inside_the_root_of_the_target),
		cmocka_unit_test(renames_elsewhere_do_not_fail_an_opening),
		cmocka_unit_test(silent_file_system_does_not_hold_up_the_broker),
		cmocka_unit_test(tracepoint_names_cannot_leave_their_folder),
		cmocka_unit_test(cgroup_paths_stay_below_the_mount),
		cmocka_unit_test(new_reader_gets_a_socket_and_old_one_ends),
		cmocka_unit_test(client_over_its_limit_of_descriptors_hears_emfile),
		cmocka_unit_test(long_names_are_refused_by_the_client),
		cmocka_unit_test(broker_that_is_gone_is_epipe),
		cmocka_unit_test(malformed_messages_are_no_requests),
		cmocka_unit_test(oversized_and_loaded_messages_are_answered),
		cmocka_unit_test(random_bytes_are_refused),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down) != 0;
}
