#include "daemon/start/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "base/parse.h"

#define BACKLOG 128

union address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_un un;
};

static socklen_t address_bytes(const union address *a)
{
	return a->any.sa_family == AF_INET ? sizeof(a->in) : sizeof(a->in6);
}

/* Removes the file of a socket that nobody listens on. */
static int clear_stale(const union address *a, struct buf *message)
{
	AUTO(close_auto) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const char *path = a->un.sun_path;
	struct stat st;

	if (lstat(path, &st) < 0)
		return 0;
	if (!S_ISSOCK(st.st_mode)) {
		buf_printf(message,
			"%s is there and no socket: remove it, or name another folder "
			"by daemon.runtime_dir or --runtime-dir",
			path);
		return -EEXIST;
	}
	/* A full backlog is an answer of a living one too. */
	if (fd < 0 || connect(fd, &a->any, sizeof(a->un)) == 0 || errno == EAGAIN) {
		buf_printf(message, "a daemon listens on %s already", path);
		return -EADDRINUSE;
	}
	return unlink(path) < 0 && errno != ENOENT ? -errno : 0;
}

int listen_unix(const char *path, int *ret_fd, struct buf *message)
{
	union address a = {.un = {.sun_family = AF_UNIX}};
	AUTO(close_auto) int fd = -1;
	mode_t mask;
	int r;

	if (strlen(path) >= sizeof(a.un.sun_path)) {
		buf_printf(message, "%s is too long for a socket's name: at most %zu bytes", path,
			sizeof(a.un.sun_path) - 1);
		return -ENAMETOOLONG;
	}
	strcpy(a.un.sun_path, path);
	r = clear_stale(&a, message);
	if (r < 0)
		return r;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* From the first moment on with the mode that it is to have. */
	mask = umask(0111);
	r = fd < 0 || bind(fd, &a.any, sizeof(a.un)) < 0 ? -errno : 0;
	umask(mask);
	if (r == 0 && listen(fd, BACKLOG) < 0)
		r = -errno;
	if (r < 0) {
		buf_printf(message, "cannot listen on %s: %s", path, strerror(-r));
		return r;
	}
	*ret_fd = MOVE_FD(fd);
	return 0;
}

/* Takes the address apart. Names are not looked up: only "localhost" is known. */
static int parse_address(const char *text, union address *a)
{
	const char *colon = strrchr(text, ':');
	char host[64];
	uint64_t port;
	size_t len;

	if (!colon || parse_u64(colon + 1, 65535, &port) < 0)
		return -EINVAL;
	len = (size_t)(colon - text);
	if (len >= 2 && text[0] == '[' && colon[-1] == ']') {
		text++;
		len -= 2;
	}
	if (len == 0 || len >= sizeof(host))
		return -EINVAL;
	memcpy(host, text, len);
	host[len] = 0;
	memset(a, 0, sizeof(*a));
	if (strcmp(host, "localhost") == 0)
		strcpy(host, "127.0.0.1");
	if (inet_pton(AF_INET, host, &a->in.sin_addr) == 1) {
		a->in.sin_family = AF_INET;
		a->in.sin_port = htons((uint16_t)port);
		return 0;
	}
	if (inet_pton(AF_INET6, host, &a->in6.sin6_addr) == 1) {
		a->in6.sin6_family = AF_INET6;
		a->in6.sin6_port = htons((uint16_t)port);
		return 0;
	}
	return -EINVAL;
}

static bool is_loopback(const union address *a)
{
	const struct in6_addr *six = &a->in6.sin6_addr;

	if (a->any.sa_family == AF_INET)
		return ntohl(a->in.sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(six) || (IN6_IS_ADDR_V4MAPPED(six) && six->s6_addr[12] == 127);
}

static int check_loopback(const union address *a, bool allow_remote, struct buf *message)
{
	if (allow_remote || is_loopback(a))
		return 0;
	buf_append_str(message,
		"the address to listen on is reachable from other hosts, and what "
		"is sent there is not encrypted: set http.allow_remote = yes if "
		"that is meant, or http.listen = 127.0.0.1:9611");
	return -EPERM;
}

static int bind_tcp(const union address *a, int *ret_fd)
{
	AUTO(close_auto)
	int fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
		return -errno;
	if (a->any.sa_family == AF_INET6 &&
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0)
		return -errno;
	if (bind(fd, &a->any, address_bytes(a)) < 0 || listen(fd, BACKLOG) < 0)
		return -errno;
	*ret_fd = MOVE_FD(fd);
	return 0;
}

int listen_tcp(const char *text, bool allow_remote, int *ret_fd, struct buf *message)
{
	union address a;
	int r = parse_address(text, &a);

	if (r < 0) {
		buf_printf(message,
			"http.listen is '%s', but has to be an address in numbers or localhost, a "
			"colon and a port, such as 127.0.0.1:9611 or [::1]:9611",
			text);
		return r;
	}
	r = check_loopback(&a, allow_remote, message);
	if (r < 0)
		return r;
	r = bind_tcp(&a, ret_fd);
	if (r == -EADDRINUSE)
		buf_printf(message,
			"another program listens on %s: choose another port by http.listen or "
			"--listen (port 0 takes any that is free), or \"off\"",
			text);
	else if (r < 0)
		buf_printf(message, "cannot listen on %s (http.listen): %s", text, strerror(-r));
	return r;
}

int listen_check_tcp(int fd, bool allow_remote, struct buf *message)
{
	union address a = {0};
	socklen_t len = sizeof(a);

	if (getsockname(fd, &a.any, &len) < 0)
		return -errno;
	return check_loopback(&a, allow_remote, message);
}

int listen_url(int fd, char *ret_url, size_t bytes)
{
	char host[INET6_ADDRSTRLEN] = "127.0.0.1";
	union address a = {0};
	socklen_t len = sizeof(a);

	if (getsockname(fd, &a.any, &len) < 0)
		return -errno;
	/* An address that stands for all is none to connect to. */
	if (a.any.sa_family == AF_INET) {
		if (a.in.sin_addr.s_addr != INADDR_ANY)
			inet_ntop(AF_INET, &a.in.sin_addr, host, sizeof(host));
		snprintf(ret_url, bytes, "http://%s:%u", host, ntohs(a.in.sin_port));
		return 0;
	}
	if (a.any.sa_family != AF_INET6)
		return -EAFNOSUPPORT;
	if (IN6_IS_ADDR_UNSPECIFIED(&a.in6.sin6_addr))
		strcpy(host, "::1");
	else
		inet_ntop(AF_INET6, &a.in6.sin6_addr, host, sizeof(host));
	snprintf(ret_url, bytes, "http://[%s]:%u", host, ntohs(a.in6.sin6_port));
	return 0;
}
