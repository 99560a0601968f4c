#include "daemon/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"

#define FIRST_FD    3 /* of the protocol */
#define SOCKETS_MAX 16

int notify_open(int *ret_fd)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	AUTO(close_auto) int fd = -1;
	socklen_t len;

	if (!path || (path[0] != '/' && path[0] != '@'))
		return -ENOENT;
	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path));
	if (path[0] == '@')
		address.sun_path[0] = 0;
	len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, len) < 0)
		return -errno;
	*ret_fd = MOVE_FD(fd);
	return 0;
}

void notify_send(int fd, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	int len;

	if (fd < 0)
		return;
	va_start(ap, fmt);
	len = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* A manager that does not listen is its own trouble, and must not hold us up. */
	if (len > 0 && (size_t)len < sizeof(text))
		(void)send(fd, text, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* True when the variables that go with it are meant for this process. */
static bool meant_for_us(const char *pid_variable)
{
	const char *text = getenv(pid_variable);
	uint64_t pid;

	return !text || (parse_u64(text, INT32_MAX, &pid) == 0 && (pid_t)pid == getpid());
}

uint64_t notify_watchdog_ns(void)
{
	const char *text = getenv("WATCHDOG_USEC");
	uint64_t us;

	if (!text || parse_u64(text, UINT64_MAX / 1000, &us) < 0 || !meant_for_us("WATCHDOG_PID"))
		return 0;
	return us * 1000;
}

static int socket_option(int fd, int option)
{
	int value = -1;
	socklen_t len = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &len) < 0 ? -1 : value;
}

/* Takes the descriptor if it listens and is the first of its kind. */
static bool take_socket(int fd, struct activation *sockets)
{
	int domain = socket_option(fd, SO_DOMAIN);
	int *place = domain == AF_UNIX ? &sockets->unix_fd : &sockets->tcp_fd;

	if (domain != AF_UNIX && domain != AF_INET && domain != AF_INET6)
		return false;
	if (socket_option(fd, SO_TYPE) != SOCK_STREAM || socket_option(fd, SO_ACCEPTCONN) != 1)
		return false;
	if (*place >= 0)
		return false;
	*place = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FD + SOCKETS_MAX);
	return *place >= 0;
}

int notify_sockets(struct activation *ret_sockets, int *ret_bad)
{
	const char *text = getenv("LISTEN_FDS");
	struct activation sockets = {-1, -1};
	uint64_t count = 0;
	int bad = -1;

	/* Without LISTEN_PID the variable is a leftover of somebody else. */
	if (text && getenv("LISTEN_PID") && meant_for_us("LISTEN_PID"))
		(void)parse_u64(text, SOCKETS_MAX, &count);
	for (int fd = FIRST_FD; fd < FIRST_FD + (int)count; fd++) {
		if (!take_socket(fd, &sockets) && bad < 0)
			bad = fd;
		close(fd);
	}
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDNAMES");
	if (bad >= 0) {
		if (sockets.unix_fd >= 0)
			close(sockets.unix_fd);
		if (sockets.tcp_fd >= 0)
			close(sockets.tcp_fd);
		*ret_bad = bad;
		return -EINVAL;
	}
	*ret_sockets = sockets;
	return 0;
}
