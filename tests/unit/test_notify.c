#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "daemon/notify.h"

/* A service manager's socket; name as in the variable. */
static int manager(const char *name)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	memcpy(a.sun_path, name, strlen(name));
	if (name[0] == '@')
		a.sun_path[0] = 0;
	assert_int_equal(
		bind(fd, (struct sockaddr *)&a,
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name))),
		0);
	return fd;
}

static void hears(const char *name)
{
	AUTO(close_auto) int fd = manager(name), to = -1;
	char text[64] = "";

	setenv("NOTIFY_SOCKET", name, 1);
	assert_int_equal(notify_open(&to), 0);
	notify_send(to, "READY=1\nSTATUS=%d", 7);
	assert_int_equal(recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT), 16);
	assert_string_equal(text, "READY=1\nSTATUS=7");
}

static void manager_hears_by_path_and_by_abstract_name(void **state)
{
	char name[64];

	snprintf(name, sizeof(name), "/tmp/test-notify-%d", getpid());
	hears(name);
	unlink(name);
	name[0] = '@';
	hears(name);
}

static void without_a_manager_nothing_happens(void **state)
{
	char name[200];
	int fd = -1;

	unsetenv("NOTIFY_SOCKET");
	assert_int_equal(notify_open(&fd), -ENOENT);
	setenv("NOTIFY_SOCKET", "relative", 1);
	assert_int_equal(notify_open(&fd), -ENOENT);
	memset(name, 'x', sizeof(name) - 1);
	name[0] = '/';
	name[sizeof(name) - 1] = 0;
	setenv("NOTIFY_SOCKET", name, 1);
	assert_int_equal(notify_open(&fd), -ENAMETOOLONG);
	setenv("NOTIFY_SOCKET", "/no/such", 1);
	assert_int_equal(notify_open(&fd), -ENOENT);
	notify_send(-1, "READY=1");
}

static void manager_that_is_gone_does_no_harm(void **state)
{
	char name[64];
	int fd, to = -1;

	snprintf(name, sizeof(name), "@test-notify-gone-%d", getpid());
	fd = manager(name);
	setenv("NOTIFY_SOCKET", name, 1);
	assert_int_equal(notify_open(&to), 0);
	close(fd);
	notify_send(to, "READY=1");
	close(to);
}

static void watchdog_is_for_the_process_it_names(void **state)
{
	char pid[16];

	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	assert_int_equal(notify_watchdog_ns(), 0);
	setenv("WATCHDOG_USEC", "30000000", 1);
	assert_int_equal(notify_watchdog_ns(), 30000000000);
	snprintf(pid, sizeof(pid), "%d", getpid());
	setenv("WATCHDOG_PID", pid, 1);
	assert_int_equal(notify_watchdog_ns(), 30000000000);
	setenv("WATCHDOG_PID", "1", 1);
	assert_int_equal(notify_watchdog_ns(), 0);
	unsetenv("WATCHDOG_PID");
	setenv("WATCHDOG_USEC", "soon", 1);
	assert_int_equal(notify_watchdog_ns(), 0);
}

static int listening(int family, int type)
{
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_un un;
	} a = {.any.sa_family = (sa_family_t)family};
	int fd = socket(family, type | SOCK_CLOEXEC, 0);

	if (family == AF_INET)
		a.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	/* A Unix socket gets a name of the kernel's choice. */
	assert_int_equal(
		bind(fd, &a.any, family == AF_UNIX ? sizeof(sa_family_t) : sizeof(a.in)), 0);
	if (type == SOCK_STREAM)
		assert_int_equal(listen(fd, 1), 0);
	return fd;
}

struct inherited {
	int fds[2];
	unsigned count;
	const char *pid; /* NULL: of the process itself */
	int result, bad;
	bool unix_there, tcp_there;
};

/* In a child, whose descriptors from 3 on are the ones given. Its status: what did not hold. */
static int check_inherited(const struct inherited *t)
{
	struct activation got = {-7, -7};
	char text[16];
	int bad = -1, high[2], r;

	for (unsigned i = 0; i < t->count; i++)
		high[i] = fcntl(t->fds[i], F_DUPFD, 50);
	for (unsigned i = 0; i < t->count; i++) {
		if (high[i] < 0 || dup2(high[i], 3 + (int)i) < 0)
			return 1;
	}
	snprintf(text, sizeof(text), "%u", t->count);
	setenv("LISTEN_FDS", text, 1);
	snprintf(text, sizeof(text), "%d", getpid());
	setenv("LISTEN_PID", t->pid ? t->pid : text, 1);
	r = notify_sockets(&got, &bad);
	if (r != t->result || getenv("LISTEN_FDS"))
		return 2;
	if (r < 0)
		return bad == t->bad ? 0 : 3;
	if ((got.unix_fd >= 0) != t->unix_there || (got.tcp_fd >= 0) != t->tcp_there)
		return 4;
	if (got.unix_fd >= 0 && !(fcntl(got.unix_fd, F_GETFD) & FD_CLOEXEC))
		return 5;
	return 0;
}

static void assert_inherited(struct inherited t)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(check_inherited(&t));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
}

static void sockets_are_taken_by_their_kind(void **state)
{
	int u = listening(AF_UNIX, SOCK_STREAM), t = listening(AF_INET, SOCK_STREAM);
	int datagram = listening(AF_INET, SOCK_DGRAM);
	int file = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_inherited((struct inherited){{u, t}, 2, .unix_there = true, .tcp_there = true});
	assert_inherited((struct inherited){{t, u}, 2, .unix_there = true, .tcp_there = true});
	assert_inherited((struct inherited){{u}, 1, .unix_there = true});
	assert_inherited((struct inherited){{t}, 1, .tcp_there = true});
	assert_inherited((struct inherited){{0}, 0});
	/* Meant for another process. */
	assert_inherited((struct inherited){{u}, 1, .pid = "1"});
	/* Of no use. */
	assert_inherited((struct inherited){{u, u}, 2, .result = -EINVAL, .bad = 4});
	assert_inherited((struct inherited){{datagram}, 1, .result = -EINVAL, .bad = 3});
	assert_inherited((struct inherited){{t, file}, 2, .result = -EINVAL, .bad = 4});
	close(u);
	close(t);
	close(datagram);
	close(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(manager_hears_by_path_and_by_abstract_name),
		cmocka_unit_test(without_a_manager_nothing_happens),
		cmocka_unit_test(manager_that_is_gone_does_no_harm),
		cmocka_unit_test(watchdog_is_for_the_process_it_names),
		cmocka_unit_test(sockets_are_taken_by_their_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
