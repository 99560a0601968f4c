#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/io.h"

/* What the next calls do: interrupted so often, then at most so many bytes a call, then this error.
 */
static struct {
	int interrupts;
	size_t most;
	int error;
	int fsync_error, rename_error;
} faults;

ssize_t __real_read(int fd, void *data, size_t len);
ssize_t __wrap_read(int fd, void *data, size_t len);
ssize_t __real_write(int fd, const void *data, size_t len);
ssize_t __wrap_write(int fd, const void *data, size_t len);
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);

static bool fault_hits(void)
{
	if (faults.interrupts > 0) {
		faults.interrupts--;
		errno = EINTR;
		return true;
	}
	if (faults.error) {
		errno = faults.error;
		return true;
	}
	return false;
}

ssize_t __wrap_read(int fd, void *data, size_t len)
{
	if (fault_hits())
		return -1;
	return __real_read(fd, data, faults.most && len > faults.most ? faults.most : len);
}

ssize_t __wrap_write(int fd, const void *data, size_t len)
{
	if (fault_hits())
		return -1;
	return __real_write(fd, data, faults.most && len > faults.most ? faults.most : len);
}

int __wrap_fsync(int fd)
{
	if (faults.fsync_error) {
		errno = faults.fsync_error;
		return -1;
	}
	return __real_fsync(fd);
}

int __wrap_rename(const char *from, const char *to)
{
	if (faults.rename_error) {
		errno = faults.rename_error;
		return -1;
	}
	return __real_rename(from, to);
}

static char folder[64];

static const char *in_folder(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static int make_folder(void **state)
{
	(void)state;
	memset(&faults, 0, sizeof(faults));
	strcpy(folder, "/tmp/profiled-test-io.XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static unsigned entries_of_folder(void)
{
	DIR *dir = opendir(folder);
	unsigned count = 0;

	while (readdir(dir))
		count++;
	closedir(dir);
	return count - 2; /* without . and .. */
}

static int remove_folder(void **state)
{
	(void)state;
	memset(&faults, 0, sizeof(faults));
	unlink(in_folder("file"));
	return rmdir(folder);
}

static void short_reads_and_writes_are_completed(void **state)
{
	AUTO(close_auto) int fd = open(in_folder("file"), O_RDWR | O_CREAT, 0600);
	struct buf b = BUF_INIT;

	(void)state;
	faults.interrupts = 2;
	faults.most = 3;
	assert_int_equal(io_write_all(fd, "hello, world", 12), 0);
	assert_int_equal(faults.interrupts, 0);
	faults.interrupts = 2;
	assert_int_equal(buf_append_str(&b, "> "), 0);
	assert_int_equal(io_read_file(in_folder("file"), 100, &b), 0);
	assert_string_equal(b.data, "> hello, world");
	buf_done(&b);
}

static void errors_of_read_and_write_come_through(void **state)
{
	AUTO(close_auto) int fd = open(in_folder("file"), O_RDWR | O_CREAT, 0600);
	struct buf b = BUF_INIT;

	(void)state;
	faults.error = ENOSPC;
	assert_int_equal(io_write_all(fd, "hello", 5), -ENOSPC);
	faults.error = EIO;
	assert_int_equal(buf_append_str(&b, "old"), 0);
	assert_int_equal(io_read_fd(fd, 10, &b), -EIO);
	assert_string_equal(b.data, "old");
	assert_int_equal(io_read_file(in_folder("missing"), 10, &b), -ENOENT);
	buf_done(&b);
}

static void file_that_just_fits_is_told_from_one_too_large(void **state)
{
	struct buf b = BUF_INIT, capped = {.max_bytes = 39999}, fits = {.max_bytes = 40000};
	char *bytes = malloc(40000);
	int fd = open(in_folder("file"), O_RDWR | O_CREAT, 0600);

	(void)state;
	memset(bytes, 'k', 40000);
	assert_int_equal(io_write_all(fd, bytes, 40000), 0);
	close(fd);
	free(bytes);

	assert_int_equal(io_read_file(in_folder("file"), 39999, &b), -EFBIG);
	assert_int_equal(b.len, 0);
	assert_int_equal(io_read_file(in_folder("file"), 40000, &b), 0);
	assert_int_equal(b.len, 40000);
	assert_int_equal(io_read_file(in_folder("file"), 0, &b), -EFBIG);
	assert_int_equal(b.len, 40000);
	assert_int_equal(io_read_file("/dev/null", 0, &b), 0);
	assert_int_equal(io_read_file(in_folder("file"), SIZE_MAX, &capped), -EFBIG);
	assert_int_equal(io_read_file(in_folder("file"), SIZE_MAX, &fits), 0);
	assert_int_equal(fits.len, 40000);
	assert_int_equal(io_read_file(in_folder("file"), SIZE_MAX, &fits), -EFBIG);
	assert_int_equal(fits.len, 40000);
	buf_done(&b);
	buf_done(&capped);
	buf_done(&fits);
}

static void atomic_write_replaces_with_exact_mode(void **state)
{
	struct buf b = BUF_INIT;
	struct stat st;
	mode_t before = umask(077);

	(void)state;
	assert_int_equal(io_write_atomic(in_folder("file"), "old", 3, 0600), 0);
	assert_int_equal(io_write_atomic(in_folder("file"), "newer", 5, 0644), 0);
	umask(before);
	assert_int_equal(io_read_file(in_folder("file"), 100, &b), 0);
	assert_string_equal(b.data, "newer");
	assert_int_equal(stat(in_folder("file"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_int_equal(entries_of_folder(), 1);
	buf_done(&b);
}

static void failed_atomic_write_leaves_the_old_file_alone(void **state)
{
	struct buf b = BUF_INIT;
	char name[5000];

	(void)state;
	assert_int_equal(io_write_atomic(in_folder("file"), "old", 3, 0600), 0);
	faults.most = 2;
	faults.fsync_error = EIO;
	assert_int_equal(io_write_atomic(in_folder("file"), "newer", 5, 0600), -EIO);
	faults.fsync_error = 0;
	faults.rename_error = EACCES;
	assert_int_equal(io_write_atomic(in_folder("file"), "newer", 5, 0600), -EACCES);
	faults.rename_error = 0;
	faults.error = ENOSPC;
	assert_int_equal(io_write_atomic(in_folder("file"), "newer", 5, 0600), -ENOSPC);
	faults.error = 0;
	assert_int_equal(io_write_atomic(in_folder("no/file"), "newer", 5, 0600), -ENOENT);
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = 0;
	assert_int_equal(io_write_atomic(name, "newer", 5, 0600), -ENAMETOOLONG);

	assert_int_equal(io_read_file(in_folder("file"), 100, &b), 0);
	assert_string_equal(b.data, "old");
	assert_int_equal(entries_of_folder(), 1);
	buf_done(&b);
}

struct pair {
	int a, b;
};

static struct pair socket_pair(void)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	return (struct pair){.a = fds[0], .b = fds[1]};
}

/* The lowest descriptor that is free: the same before and after means that none was left open. */
static int lowest_free_fd(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	close(fd);
	return fd;
}

static void message_carries_its_descriptors(void **state)
{
	struct pair p = socket_pair();
	int pipe_fds[2], got[IO_FDS_MAX];
	size_t count = IO_FDS_MAX;
	char text[16] = "";

	(void)state;
	assert_int_equal(pipe(pipe_fds), 0);
	assert_int_equal(io_send_fds(p.a, "hi", 2, pipe_fds, 2), 2);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	assert_int_equal(io_recv_fds(p.b, text, sizeof(text), got, &count), 2);
	assert_int_equal(count, 2);
	assert_string_equal(text, "hi");
	assert_true(fcntl(got[0], F_GETFD) & FD_CLOEXEC);

	assert_int_equal(write(got[1], "through", 7), 7);
	assert_int_equal(read(got[0], text, sizeof(text)), 7);
	assert_memory_equal(text, "through", 7);
	close(got[0]);
	close(got[1]);

	count = IO_FDS_MAX;
	assert_int_equal(io_send_fds(p.a, "none", 4, NULL, 0), 4);
	assert_int_equal(io_recv_fds(p.b, text, sizeof(text), got, &count), 4);
	assert_int_equal(count, 0);
	close(p.a);
	assert_int_equal(io_recv_fds(p.b, text, sizeof(text), got, &count), 0);
	close(p.b);
}

static void message_that_does_not_fit_leaves_no_descriptor_open(void **state)
{
	struct pair p = socket_pair();
	int zeros[IO_FDS_MAX + 1] = {0}, got[2];
	int free_before = lowest_free_fd();
	size_t count;
	char text[4];

	(void)state;
	for (int i = 0; i < IO_FDS_MAX + 1; i++)
		zeros[i] = p.a;
	assert_int_equal(io_send_fds(p.a, "x", 1, zeros, IO_FDS_MAX + 1), -EINVAL);

	/* More descriptors than there is room for, */
	assert_int_equal(io_send_fds(p.a, "x", 1, zeros, 3), 1);
	count = 2;
	assert_int_equal(io_recv_fds(p.b, text, sizeof(text), got, &count), -EMSGSIZE);
	/* (whose caller may close what it has, as a matter of course) */
	assert_true(got[0] == -1 && got[1] == -1);
	/* a descriptor where none is wanted, */
	assert_int_equal(io_send_fds(p.a, "x", 1, zeros, 1), 1);
	assert_int_equal(io_recv_fds(p.b, text, sizeof(text), NULL, NULL), -EMSGSIZE);
	/* more bytes than there is room for. */
	assert_int_equal(io_send_fds(p.a, "12345", 5, zeros, 2), 5);
	count = 2;
	assert_int_equal(io_recv_fds(p.b, text, sizeof(text), got, &count), -EMSGSIZE);
	/* Descriptors without a byte. */
	assert_int_equal(io_send_fds(p.a, "", 0, zeros, 2), 0);
	count = 2;
	assert_int_equal(io_recv_fds(p.b, text, sizeof(text), got, &count), 0);
	assert_int_equal(count, 0);
	assert_true(got[0] == -1 && got[1] == -1);
	assert_int_equal(lowest_free_fd(), free_before);

	close(p.b);
	assert_int_equal(io_send_fds(p.a, "x", 1, NULL, 0), -EPIPE);
	assert_int_equal(io_recv_fds(-1, text, sizeof(text), NULL, NULL), -EBADF);
	close(p.a);
}

static void monotonic_time_does_not_go_back(void **state)
{
	uint64_t first = time_mono_ns();

	(void)state;
	assert_true(time_mono_ns() >= first);
	assert_true(time_wall_ns() > 1600000000ull * 1000000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			short_reads_and_writes_are_completed, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			errors_of_read_and_write_come_through, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			file_that_just_fits_is_told_from_one_too_large, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			atomic_write_replaces_with_exact_mode, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			failed_atomic_write_leaves_the_old_file_alone, make_folder, remove_folder),
		cmocka_unit_test(message_carries_its_descriptors),
		cmocka_unit_test(message_that_does_not_fit_leaves_no_descriptor_open),
		cmocka_unit_test(monotonic_time_does_not_go_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
