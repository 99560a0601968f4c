#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

#define READ_BYTES   ((size_t)16 << 10)
#define WITHIN_TRIES 1000

static ssize_t read_retry(int fd, void *data, size_t len)
{
	ssize_t n;

	do
		n = read(fd, data, len);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static int read_on(int fd, size_t max_bytes, struct buf *into)
{
	size_t got = 0;

	for (;;) {
		size_t want = READ_BYTES;
		ssize_t n;
		char *at;
		int r;

		/* One byte past the cap tells a file that is too large from one that just fits. */
		if (want > max_bytes - got)
			want = max_bytes - got + 1;
		r = buf_reserve(into, want, &at);
		if (r < 0)
			return r;
		n = read_retry(fd, at, want);
		if (n <= 0)
			return (int)n;
		got += (size_t)n;
		if (got > max_bytes)
			return -EFBIG;
		into->len += (size_t)n;
	}
}

/* As read_on, with the bytes read in pieces no larger than what into may still take. */
int io_read_fd(int fd, size_t max_bytes, struct buf *into)
{
	size_t before = into->len;
	size_t cap = into->max_bytes;
	size_t room = cap > before ? cap - before : 0;
	int r;

	if (into->error)
		return into->error;
	if (max_bytes > SIZE_MAX / 4)
		max_bytes = SIZE_MAX / 4;
	if (cap && max_bytes > room)
		max_bytes = room;

	/* The cap is checked above; the byte past it must not count against it. */
	into->max_bytes = 0;
	r = read_on(fd, max_bytes, into);
	into->max_bytes = cap;
	if (r < 0)
		into->len = before;
	if (into->data)
		into->data[into->len] = 0;
	return r;
}

int io_read_file(const char *path, size_t max_bytes, struct buf *into)
{
	AUTO(close_auto) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return -errno;
	return io_read_fd(fd, max_bytes, into);
}

int io_open_within(int dir, const char *path, uint64_t flags, uint64_t resolve, int *ret_fd)
{
	struct open_how how = {.flags = flags | O_CLOEXEC, .resolve = resolve};
	long fd;

	/* EAGAIN: somebody renamed or mounted anything on this machine while a ".." was followed,
	 * so the kernel cannot vouch for the way. Asking again is what openat2(2) advises. */
	for (int i = 0; i < WITHIN_TRIES; i++) {
		fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	if (fd < 0)
		return -errno;
	*ret_fd = (int)fd;
	return 0;
}

int io_write_all(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len > 0) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

static int sync_folder_of(const char *path)
{
	AUTO(close_auto) int fd = -1;
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX];

	if (!slash)
		strcpy(folder, ".");
	else
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path + 1), path);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) < 0)
		return -errno;
	return 0;
}

static int write_and_close(int fd_taken, const void *data, size_t len, mode_t mode)
{
	AUTO(close_auto) int fd = fd_taken;
	int r;

	/* The umask must not decide who may read a token or a socket's address. */
	if (fchmod(fd, mode) < 0)
		return -errno;
	r = io_write_all(fd, data, len);
	if (r < 0)
		return r;
	if (fsync(fd) < 0)
		return -errno;
	/* Some file systems report a failed write no earlier than here. */
	return close(MOVE_FD(fd)) < 0 ? -errno : 0;
}

int io_write_atomic(const char *path, const void *data, size_t len, mode_t mode)
{
	char beside[PATH_MAX];
	int fd, r;

	r = snprintf(beside, sizeof(beside), "%s.XXXXXX", path);
	if (r < 0 || (size_t)r >= sizeof(beside))
		return -ENAMETOOLONG;
	fd = mkostemp(beside, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = write_and_close(fd, data, len, mode);
	if (r == 0 && rename(beside, path) < 0)
		r = -errno;
	if (r < 0) {
		unlink(beside);
		return r;
	}
	return sync_folder_of(path);
}

union fds_control {
	char bytes[CMSG_SPACE(IO_FDS_MAX * sizeof(int))];
	struct cmsghdr align;
};

int io_close_others(int keep_fd)
{
	if (keep_fd > 3 && close_range(3, (unsigned)keep_fd - 1, 0) != 0)
		return -errno;
	return close_range((unsigned)keep_fd + 1, ~0u, 0) != 0 ? -errno : 0;
}

ssize_t io_send_fds(int sock, const void *data, size_t len, const int *fds, size_t fd_count)
{
	union fds_control control = {0};
	struct iovec iov = {.iov_base = (void *)data, .iov_len = len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	if (fd_count > IO_FDS_MAX)
		return -EINVAL;
	if (fd_count > 0) {
		struct cmsghdr *c;

		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
		memcpy(CMSG_DATA(c), fds, fd_count * sizeof(int));
	}
	do
		n = sendmsg(sock, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* Puts the message's descriptors into fds; those beyond room are closed. Returns how many came. */
static size_t unpack_fds(struct msghdr *msg, int *fds, size_t room)
{
	size_t came = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t n;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++, came++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (came < room)
				fds[came] = fd;
			else
				close(fd);
		}
	}
	return came;
}

ssize_t io_recv_fds(int sock, void *data, size_t len, int *ret_fds, size_t *fd_count_in_out)
{
	union fds_control control = {0};
	struct iovec iov = {.iov_base = data, .iov_len = len};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	size_t room = fd_count_in_out ? *fd_count_in_out : 0;
	size_t came;
	ssize_t n;

	do
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;

	came = unpack_fds(&msg, ret_fds, room);
	if (n == 0 || came > room || (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
		for (size_t i = 0; i < came && i < room; i++) {
			close(ret_fds[i]);
			ret_fds[i] = -1;
		}
		if (n > 0)
			return -EMSGSIZE;
		came = 0;
	}
	if (fd_count_in_out)
		*fd_count_in_out = came;
	return n;
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t time_mono_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t time_wall_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

uint64_t time_thread_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}
