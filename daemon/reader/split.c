#include "daemon/reader/split.h"

#include <errno.h>
#include <linux/fcntl.h> /* not the C library's, which may declare open() as something else */
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "daemon/reader/dwp.h"
#include "daemon/reader/wire.h"

/* The unit whose file is asked for next. One thread serves one request at a time. */
static struct {
	const struct split *split;
	uint64_t id;
	bool entered;
} now;

static int map_files(struct split *s, int fd)
{
	struct reader_files_head head;
	off_t bytes = lseek(fd, 0, SEEK_END);
	void *map;

	if (bytes < (off_t)sizeof(head))
		return -EBADMSG;
	map = mmap(NULL, (size_t)bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	s->files = map;
	s->bytes = (size_t)bytes;
	memcpy(&head, s->files, sizeof(head));
	return head.count <= (s->bytes - sizeof(head)) / sizeof(struct reader_file) ? 0 : -EBADMSG;
}

int split_open(struct split *s, int fd, bool is_package)
{
	int r;

	memset(s, 0, sizeof(*s));
	s->is_package = is_package;
	r = is_package ? image_open(fd, &s->package) : map_files(s, fd);
	if (r < 0)
		split_done(s);
	return r;
}

void split_done(struct split *s)
{
	if (s->is_package)
		image_done(&s->package);
	if (s->files)
		munmap((void *)(uintptr_t)s->files, s->bytes);
	memset(s, 0, sizeof(*s));
}

void split_enter(const struct split *s, uint64_t unit_id)
{
	now.split = s;
	now.id = unit_id;
	now.entered = true;
}

void split_leave(void)
{
	memset(&now, 0, sizeof(now));
}

static int new_file(const void *data, size_t len)
{
	int fd = memfd_create("dwo", MFD_CLOEXEC), r;

	if (fd < 0)
		return -errno;
	r = io_write_all(fd, data, len);
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

static int of_package(const struct split *s, uint64_t id)
{
	AUTO(buf_done) struct buf file = BUF_INIT;
	int r = dwp_extract(&s->package, id, &file);

	return r < 0 ? r : new_file(file.data, file.len);
}

static int of_files(const struct split *s, uint64_t id)
{
	struct reader_files_head head;
	struct reader_file f;

	memcpy(&head, s->files, sizeof(head));
	for (uint32_t i = 0; i < head.count; i++) {
		memcpy(&f, s->files + sizeof(head) + i * sizeof(f), sizeof(f));
		if (f.id == id && f.offset <= s->bytes && f.bytes <= s->bytes - f.offset)
			return new_file(s->files + f.offset, f.bytes);
	}
	return -ENOENT;
}

/* Instead of the C library's, for libdw: it knows no other way to come by a split file. */
__attribute__((visibility("default"))) int open(const char *path, int flags, ...);

int open(const char *path, int flags, ...)
{
	va_list ap;
	int mode, fd;

	if (now.entered) {
		fd = !now.split                 ? -ENOENT
			: now.split->is_package ? of_package(now.split, now.id)
						: of_files(now.split, now.id);
		if (fd < 0)
			errno = -fd;
		return fd < 0 ? -1 : fd;
	}
	va_start(ap, flags);
	mode = flags & O_CREAT ? va_arg(ap, int) : 0;
	va_end(ap);
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
