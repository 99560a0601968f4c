#include <config.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon/broker/caps.h"
#include "daemon/sandbox.h"

#ifdef PFL_SANITIZED
#define SANITIZED true
#else
#define SANITIZED false
#endif

/* A line number from a child that found something wrong, since a filter is for good. */
#define CHECK(condition)                                           \
	do {                                                       \
		if (!(condition))                                  \
			wrong_at = wrong_at ? wrong_at : __LINE__; \
	} while (0)
#define REFUSED(call) CHECK(((call) < 0) && errno == EPERM)

static int wrong_at;

static void in_child(void (*body)(void))
{
	int report[2], line = -1;
	const char *preloaded = getenv("LD_PRELOAD");
	pid_t pid;

	/* valgrind does not live through a filter: it makes code. */
	if (preloaded && strstr(preloaded, "vgpreload"))
		skip();
	assert_int_equal(pipe(report), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		body();
		(void)!write(report[1], &wrong_at, sizeof(wrong_at));
		_exit(0);
	}
	close(report[1]);
	assert_int_equal(read(report[0], &line, sizeof(line)), sizeof(line));
	close(report[0]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	if (line != 0)
		fail_msg("the check in line %d", line);
}

static bool status_says(const char *line)
{
	char text[8192];
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, text, sizeof(text) - 1);

	close(fd);
	text[n > 0 ? n : 0] = 0;
	return strstr(text, line) != NULL;
}

static void check_given_up(uint64_t keep)
{
	CHECK((caps_effective() & ~keep) == 0);
	CHECK((caps_permitted() & ~keep) == 0);
	CHECK(status_says("NoNewPrivs:\t1\n"));
	CHECK(status_says("Seccomp:\t2\n"));
	/* Not dumpable: what is in /proc of it is root's. */
	CHECK(SANITIZED || access("/proc/self/environ", R_OK) < 0 || geteuid() == 0);
	/* Of no use to any of us, with whatever rights. */
	REFUSED(socket(AF_INET, SOCK_STREAM, 0));
	REFUSED(socket(AF_UNIX, SOCK_DGRAM, 0));
	REFUSED(mount("none", "/", "tmpfs", 0, NULL));
	REFUSED((int)syscall(SYS_bpf, 0, NULL, 0));
	REFUSED((int)syscall(SYS_unshare, 0));
	REFUSED((int)syscall(SYS_setns, -1, 0));
	REFUSED(chroot("/"));
}

static void *set_flag(void *arg)
{
	*(bool *)arg = true;
	return NULL;
}

static void engine_body(void)
{
	static char *const argv[] = {(char *)"true", NULL};
	struct rlimit l = {10, 10};
	bool ran = false;
	pthread_t thread;
	void *code;
	int fd;

	CHECK(sandbox_engine(false) == 0);
	check_given_up(CAPS_ENGINE);
	REFUSED(execve("/bin/true", argv, NULL));

	/* What it lives by. */
	CHECK(pthread_create(&thread, NULL, set_flag, &ran) == 0);
	CHECK(pthread_join(thread, NULL) == 0 && ran);
	fd = eventfd(0, EFD_CLOEXEC);
	CHECK(fd >= 0 && close(fd) == 0);
	fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && write(fd, "x", 1) == 1 && fsync(fd) == 0 && close(fd) == 0);
	free(malloc(1 << 20));
	CHECK(getrlimit(RLIMIT_NOFILE, &l) == 0);
	if (SANITIZED)
		return;

	REFUSED((int)syscall(SYS_fork));
	REFUSED((int)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL));
	CHECK(syscall(SYS_clone3, NULL, 0) == -1 && errno == ENOSYS);
	REFUSED((int)ptrace(PTRACE_TRACEME, 0, NULL, NULL));
	REFUSED(kill(getppid(), 0));
	l.rlim_cur = 5;
	REFUSED(setrlimit(RLIMIT_NOFILE, &l));
	REFUSED(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
	REFUSED((int)syscall(SYS_perf_event_open, NULL, 0, 0, 0, 0));
	REFUSED((int)syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0));
	REFUSED((int)syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, NULL));
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(code == MAP_FAILED && errno == EPERM);
	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(code != MAP_FAILED);
	REFUSED(mprotect(code, 4096, PROT_READ | PROT_EXEC));
	CHECK(munmap(code, 4096) == 0);
}

static void engine_can_serve_and_no_more(void **state)
{
	in_child(engine_body);
}

static void broker_body(void)
{
	static char *const argv[] = {(char *)"true", NULL};
	int fd, status;
	pid_t pid;

	CHECK(sandbox_broker(false) == 0);
	check_given_up(CAPS_BROKER);

	/* What it lives by. */
	fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0 && close(fd) == 0);
	CHECK(syscall(SYS_perf_event_open, NULL, 0, 0, 0, 0) < 0 && errno != EPERM);
	pid = fork();
	if (pid == 0) {
		execve("/bin/true", argv, NULL);
		_exit(1);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
	if (SANITIZED)
		return;

	REFUSED(open("/tmp/broker-was-here", O_WRONLY | O_CREAT, 0600));
	REFUSED(open("/dev/null", O_RDWR));
	REFUSED(unlink("/tmp/broker-was-here"));
	REFUSED(rename("/tmp/a", "/tmp/b"));
	REFUSED(chmod("/tmp/a", 0));
	REFUSED((int)ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
	REFUSED((int)syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0));
	REFUSED((int)syscall(SYS_process_vm_writev, getppid(), NULL, 0, NULL, 0, 0));
	REFUSED((int)syscall(SYS_setresuid, 0, 0, 0));
	REFUSED((int)syscall(SYS_clone, SIGCHLD | 0x10000000, NULL, NULL, NULL, NULL));
}

static void broker_can_read_and_start_the_reader(void **state)
{
	in_child(broker_body);
}

static void filter_goes_through_exec_body(void)
{
	int status = -1;
	pid_t pid;

	/* As in the daemon, which is never root: over an exec root would keep some. */
	if (geteuid() == 0)
		CHECK(caps_become(65534, 65534, CAPS_BROKER, 0) == 0);
	CHECK(sandbox_broker(true) == 0);
	/* What a program that was taken over could start has its filter, and no capability. */
	pid = fork();
	if (pid == 0) {
		execl("/bin/sh", "sh", "-c",
			"grep -q '^CapEff:.0000000000000000$' /proc/self/status && "
			"! (echo x >/tmp/broker-was-here)",
			(char *)NULL);
		_exit(9);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(SANITIZED || status == 0);
}

static void what_the_broker_starts_has_its_filter_and_no_rights(void **state)
{
	in_child(filter_goes_through_exec_body);
}

static void become_nobody_body(void)
{
	CHECK(caps_become(65534, 65534, CAP_BIT(CAP_SYS_PTRACE), 0) == 0);
	CHECK(geteuid() == 65534 && getegid() == 65534 && getuid() == 65534);
	CHECK(caps_effective() == CAP_BIT(CAP_SYS_PTRACE));
	CHECK(setuid(0) < 0);
	/* Again, with less. */
	CHECK(caps_become((uid_t)-1, (gid_t)-1, 0, 0) == 0);
	CHECK(caps_permitted() == 0);
}

static void becoming_a_user_keeps_what_was_asked_for(void **state)
{
	if (geteuid() != 0 || !(caps_permitted() & CAP_BIT(CAP_SYS_PTRACE)))
		skip();
	in_child(become_nobody_body);
}

static void capabilities_have_names(void **state)
{
	for (unsigned cap = 0; cap < 64; cap++) {
		bool known = (CAPS_BROKER | CAPS_ENGINE) & CAP_BIT(cap);

		assert_int_equal(strncmp(caps_name(cap), "CAP_", 4) == 0, known);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engine_can_serve_and_no_more),
		cmocka_unit_test(broker_can_read_and_start_the_reader),
		cmocka_unit_test(what_the_broker_starts_has_its_filter_and_no_rights),
		cmocka_unit_test(becoming_a_user_keeps_what_was_asked_for),
		cmocka_unit_test(capabilities_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
