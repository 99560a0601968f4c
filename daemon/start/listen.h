/* The sockets that HTTP is served on. */
#ifndef PFL_START_LISTEN_H
#define PFL_START_LISTEN_H

#include <stdbool.h>
#include "base/buf.h"

/* All: 0, or -errno and a sentence. */

/* Replaces what a daemon that is no more has left. -EADDRINUSE: one listens there. Anybody may
 * connect: who it is decides what is seen. */
int listen_unix(const char *path, int *ret_fd, struct buf *message);
/* "ADDRESS:PORT", "[ADDRESS]:PORT", "localhost:PORT". */
int listen_tcp(const char *text, bool allow_remote, int *ret_fd, struct buf *message);
/* One that was handed to us: -EPERM when it is beyond loopback and that is not allowed. */
int listen_check_tcp(int fd, bool allow_remote, struct buf *message);
/* "http://127.0.0.1:9611" of a listening socket, for a client on this host. */
int listen_url(int fd, char *ret_url, size_t bytes);

#endif
