#include "daemon/broker/files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/io.h"
#include "daemon/broker/host.h"

#define PERFMAP_BYTES_MAX ((off_t)64 << 20)
#define JITDUMP_BYTES_MAX ((off_t)4 << 30)
#define JITDUMP_MAGIC     0x4A695444u
#define OWN_MAPS_MAX      ((size_t)16 << 20)
#define STATUS_MAX        ((size_t)64 << 10)

/* A path that stays inside the folder, whatever links say. Finds without opening: to open a device
 * or a fifo can have effects. */
static int find_inside(int root, const char *path, uint64_t flags, int *ret_fd)
{
	return io_open_within(
		root, path, O_PATH | flags, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS, ret_fd);
}

/* /proc/PID/root is itself one of the links that may not be followed below it. */
static int open_root(pid_t pid, int *ret_fd)
{
	AUTO(close_auto) int proc = -1;
	int fd;

	if (pid != 0) {
		int r = host_proc_dir(pid, &proc);

		if (r < 0)
			return r;
	}
	fd = openat(proc, pid ? "root" : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	*ret_fd = fd;
	return 0;
}

/* Opens for reading what was found, if it is a regular file. */
static int open_found(int found, int *ret_fd)
{
	char path[32];
	struct stat st;
	int fd;

	if (fstat(found, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOTSUP;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

static int check_elf(int fd)
{
	char magic[4];
	ssize_t n = pread(fd, magic, sizeof(magic), 0);

	if (n < 0)
		return -errno;
	return n == 4 && memcmp(magic, "\177ELF", 4) == 0 ? 0 : -ENOEXEC;
}

/* The effective user out of status. The name comes before, but its line ends are escaped. The owner
 * of /proc/PID would be root for a process that changed its user. */
static int user_of(int proc, uid_t *ret_uid)
{
	AUTO(buf_done) struct buf text = BUF_INIT;
	AUTO(close_auto) int fd = openat(proc, "status", O_RDONLY | O_CLOEXEC);
	unsigned int real, effective;
	const char *line;
	int r;

	if (fd < 0)
		return -errno;
	r = io_read_fd(fd, STATUS_MAX, &text);
	if (r < 0)
		return r;
	line = text.data ? strstr(text.data, "\nUid:") : NULL;
	if (!line || sscanf(line, "\nUid: %u %u", &real, &effective) != 2)
		return -ESRCH;
	*ret_uid = effective;
	return 0;
}

/* What a process of that user may have written for itself. (uid_t)-1: it is gone, and whose it was
 * is not known. */
static int check_own(int fd, uid_t uid, off_t bytes_max)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOTSUP;
	if (uid != (uid_t)-1 && st.st_uid != uid && st.st_uid != 0)
		return -EACCES;
	/* A second name may be that of a file which its maker could not read. */
	if (st.st_nlink > 1)
		return -EACCES;
	return st.st_size > bytes_max ? -EFBIG : 0;
}

/* pid 0: of one that is gone. */
static int user_of_pid(pid_t pid, uid_t *ret_uid)
{
	AUTO(close_auto) int proc = -1;
	int r;

	*ret_uid = (uid_t)-1;
	if (pid == 0)
		return 0;
	r = host_proc_dir(pid, &proc);
	return r < 0 ? r : user_of(proc, ret_uid);
}

static int check_jitdump(int fd, pid_t pid)
{
	uint32_t magic = 0;
	uid_t uid;
	int r = user_of_pid(pid, &uid);

	if (r == 0)
		r = check_own(fd, uid, JITDUMP_BYTES_MAX);
	if (r < 0)
		return r;
	if (pread(fd, &magic, sizeof(magic), 0) != (ssize_t)sizeof(magic))
		return -ENOEXEC;
	return magic == JITDUMP_MAGIC || magic == __builtin_bswap32(JITDUMP_MAGIC) ? 0 : -ENOEXEC;
}

/* Device and inode of the file as /proc/PID/maps tells them, which is not what fstat(2) tells on
 * overlay file systems and btrfs: maps it and looks at the own maps. */
static int identity_in_maps(int fd, dev_t *ret_dev, uint64_t *ret_inode)
{
	AUTO(buf_done) struct buf text = BUF_INIT;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *at = mmap(NULL, page, PROT_READ, MAP_PRIVATE, fd, 0);
	char *next = NULL;
	int r;

	if (at == MAP_FAILED)
		return -errno;
	r = io_read_file("/proc/self/maps", OWN_MAPS_MAX, &text);
	munmap(at, page);
	if (r < 0)
		return r;
	for (char *line = strtok_r(text.data, "\n", &next); line;
		line = strtok_r(NULL, "\n", &next)) {
		unsigned long start;
		unsigned int major_id, minor_id;

		if (sscanf(line, "%lx-%*x %*s %*x %x:%x %" SCNu64, &start, &major_id, &minor_id,
			    ret_inode) == 4 &&
			start == (unsigned long)at) {
			*ret_dev = makedev(major_id, minor_id);
			return 0;
		}
	}
	return -ENOENT;
}

/* -ESTALE: another file than the one that is mapped. */
static int check_identity(int fd, const struct request *q)
{
	struct stat st;
	uint64_t inode = 0;
	dev_t dev = 0;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_dev == q->head.dev)
		return st.st_ino == q->head.inode ? 0 : -ESTALE;
	if (identity_in_maps(fd, &dev, &inode) < 0)
		return -ESTALE;
	return dev == q->head.dev && inode == q->head.inode ? 0 : -ESTALE;
}

static int check_mapped(int fd, const struct request *q)
{
	return q->head.op == BROKER_OP_JITDUMP ? check_jitdump(fd, q->head.pid) : check_elf(fd);
}

/* found is taken. */
static int open_mapped_found(int found_taken, const struct request *q, bool known, int *ret_fd)
{
	AUTO(close_auto) int found = found_taken, fd = -1;
	int r = open_found(found, &fd);

	if (r == 0)
		r = check_mapped(fd, q);
	if (r == 0 && known)
		r = check_identity(fd, q);
	if (r == 0)
		*ret_fd = MOVE_FD(fd);
	return r;
}

/* Reaches deleted files and those of other mount namespaces; wants CAP_CHECKPOINT_RESTORE. */
static int by_map_files(int proc, const struct request *q, int *ret_fd)
{
	char path[64];
	int found;

	snprintf(path, sizeof(path), "map_files/%" PRIx64 "-%" PRIx64, q->head.start, q->head.end);
	found = openat(proc, path, O_PATH | O_CLOEXEC);
	if (found < 0)
		return -errno;
	return open_mapped_found(found, q, q->head.inode != 0, ret_fd);
}

/* The program itself may be had so even when it was deleted. */
static int by_exe(int proc, const struct request *q, int *ret_fd)
{
	int found = openat(proc, "exe", O_PATH | O_CLOEXEC);

	if (found < 0)
		return -errno;
	return open_mapped_found(found, q, true, ret_fd);
}

static int by_path(const struct request *q, int *ret_fd)
{
	AUTO(close_auto) int root = -1;
	int found = -1, r;

	r = open_root(q->head.pid, &root);
	if (r < 0)
		return r;
	/* The kernel wrote the path without links, so a link at its end is not what was mapped. */
	r = find_inside(root, q->text, O_NOFOLLOW, &found);
	if (r < 0)
		return r;
	return open_mapped_found(found, q, true, ret_fd);
}

int files_open_mapped(const struct request *q, int *ret_fd)
{
	AUTO(close_auto) int proc = -1;
	int r = host_proc_dir(q->head.pid, &proc);

	if (r < 0)
		return r;
	r = by_map_files(proc, q, ret_fd);
	/* That is the file, and what is wrong with it. */
	if (r == 0 || r == -ENOEXEC || r == -ENOTSUP)
		return r;
	/* Without an identity any file that took the name would do. */
	if (q->head.inode == 0)
		return r;
	if (q->text[0])
		r = by_path(q, ret_fd);
	return r < 0 && by_exe(proc, q, ret_fd) == 0 ? 0 : r;
}

int files_open_jitdump(const struct request *q, int *ret_fd)
{
	if (q->head.pid == 0)
		return by_path(q, ret_fd);
	return q->head.inode == 0 ? -ENOENT : files_open_mapped(q, ret_fd);
}

int files_open_elf(const struct request *q, int *ret_fd)
{
	AUTO(close_auto) int root = -1, found = -1, fd = -1;
	int r = open_root(q->head.pid, &root);

	if (r < 0)
		return r;
	/* Links are usual here, as in build-id folders; they resolve inside that root. */
	r = find_inside(root, q->text, 0, &found);
	if (r < 0)
		return r;
	r = open_found(found, &fd);
	if (r < 0)
		return r;
	r = check_elf(fd);
	if (r < 0)
		return r;
	*ret_fd = MOVE_FD(fd);
	return 0;
}

int files_open_perfmap(const struct request *q, int *ret_fd)
{
	AUTO(close_auto) int root = -1, folder = -1, found = -1;
	char name[32];
	uid_t uid;
	int r = user_of_pid(q->head.pid, &uid);

	if (r < 0)
		return r;
	r = open_root(q->head.pid, &root);
	if (r < 0)
		return r;
	r = find_inside(root, "/tmp", O_DIRECTORY, &folder);
	if (r < 0)
		return r;
	snprintf(name, sizeof(name), "perf-%d.map", q->head.tid);
	r = find_inside(folder, name, O_NOFOLLOW, &found);
	if (r < 0)
		return r;
	r = check_own(found, uid, PERFMAP_BYTES_MAX);
	if (r < 0)
		return r;
	return open_found(found, ret_fd);
}
