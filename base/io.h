/* Whole-file reads and descriptor helpers. */
#ifndef PFL_BASE_IO_H
#define PFL_BASE_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/buf.h"

/* Appends all that can be read, at most max_bytes more: -EFBIG beyond. Handles short reads, EINTR.
 * After an error the bytes in the buffer are those that were there before. */
int io_read_fd(int fd, size_t max_bytes, struct buf *into);
int io_read_file(const char *path, size_t max_bytes, struct buf *into);
/* openat2(2) with O_CLOEXEC that asks again for as long as renames elsewhere get in its way.
 * resolve: RESOLVE_*. */
int io_open_within(int dir, const char *path, uint64_t flags, uint64_t resolve, int *ret_fd);
int io_write_all(int fd, const void *data, size_t len);
/* Writes beside the file, fsyncs, renames over it and fsyncs the folder: a reader (or a power cut)
 * sees the old bytes or the new. mode is exact: the umask does not apply. */
int io_write_atomic(const char *path, const void *data, size_t len, mode_t mode);

/* Closes all but keep_fd (3 or above) and the standard ones. 0 or a negative errno. */
int io_close_others(int keep_fd);

#define IO_FDS_MAX 8
/* One message with descriptors over a Unix socket. Returns the bytes, or a negative errno; 0 at the
 * end. io_recv_fds sets O_CLOEXEC; *fd_count_in_out is the room, then the count (NULL: no room).
 * -EMSGSIZE: bytes or descriptors did not fit; then all descriptors that came are closed, and -1 is
 * in their places. So are those of a message without bytes, which nobody sends: it reads as the
 * end.
 */
ssize_t io_send_fds(int sock, const void *data, size_t len, const int *fds, size_t fd_count);
ssize_t io_recv_fds(int sock, void *data, size_t len, int *ret_fds, size_t *fd_count_in_out);

/* CLOCK_MONOTONIC and CLOCK_REALTIME in nanoseconds. */
uint64_t time_mono_ns(void);
uint64_t time_wall_ns(void);
/* Of the processor, by the calling thread. */
uint64_t time_thread_cpu_ns(void);

#endif
