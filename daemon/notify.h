/* The service manager's protocols: readiness and watchdog by datagram, sockets by inheritance. */
#ifndef PFL_NOTIFY_H
#define PFL_NOTIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A socket that is connected to $NOTIFY_SOCKET. -ENOENT: nobody wants to know. */
int notify_open(int *ret_fd);
/* "READY=1", … ; fd -1: does nothing. */
void notify_send(int fd, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* How often the manager wants a sign of life at least; 0: it does not. */
uint64_t notify_watchdog_ns(void);

/* The sockets we were started with: each -1 or the caller's, close-on-exec, listening.
 * -EINVAL: there is one that we have no use for; its number is in *ret_bad. */
struct activation {
	int unix_fd, tcp_fd;
};
int notify_sockets(struct activation *ret_sockets, int *ret_bad);

#endif
