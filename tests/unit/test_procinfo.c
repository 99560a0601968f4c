#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "daemon/proc/procinfo.h"
#include "tests/unit/fake_broker.h"

/* As the kernel prints it: the fields after the name are those of a real process. */
#define REST                                                                                       \
	" S 41 42 42 0 -1 4194560 1532 61424 15 79 17 5 63 48 20 0 3 0 8812 173486080 3067 "       \
	"18446744073709551615 1 1 0 0 0 0 671173123 4096 1260 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 " \
	"0\n"

static struct procinfo info;

static int parse_stat(const char *text)
{
	memset(&info, 0, sizeof(info));
	return procinfo_parse_stat(text, strlen(text), &info);
}

static void fields_of_stat(void **state)
{
	assert_int_equal(parse_stat("42 (cat)" REST), 0);
	assert_int_equal(info.pid, 42);
	assert_int_equal(info.ppid, 41);
	assert_string_equal(info.comm, "cat");
	assert_int_equal(info.state, 'S');
	assert_int_equal(info.cpu_ticks, 22);
	assert_int_equal(info.threads, 3);
	assert_int_equal(info.start_ticks, 8812);
	assert_int_equal(info.rss_bytes, 3067 * (uint64_t)sysconf(_SC_PAGESIZE));
}

static void a_name_may_hold_any_byte(void **state)
{
	static const char *const names[] = {"a) R 1 (b", ") R 1 (", "x;y z", "q\"<&>\\",
		"\xff\xfe\x80z", "\x1b[31mred", "nl\nnl", "   ", "\xe2\x82", "", "))))", "(((("};
	char text[1024];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(text, sizeof(text), "42 (%s)" REST, names[i]);
		assert_int_equal(parse_stat(text), 0);
		assert_string_equal(info.comm, names[i]);
		assert_int_equal(info.state, 'S');
		assert_int_equal(info.start_ticks, 8812);
	}
}

static void a_long_worker_name_is_cut(void **state)
{
	char name[201], text[1024];

	memset(name, 'w', 200);
	name[200] = '\0';
	snprintf(text, sizeof(text), "42 (%s)" REST, name);
	assert_int_equal(parse_stat(text), 0);
	assert_int_equal(strlen(info.comm), sizeof(info.comm) - 1);
	assert_int_equal(info.start_ticks, 8812);
}

static void what_is_no_stat_is_refused(void **state)
{
	static const char *const bad[] = {"", "42", "42 ", "42 (", "42 (a", "42 (a)", "42 (a) ",
		"42 (a) S", "42 (a) S 1 2 3", "x (a)" REST, "-1 (a)" REST,
		"99999999999999999999 (a)" REST, "42 a" REST,
		"42 (a) S 41 42 42 0 -1 4194560 1532 61424 15 79 17 5 63 48 20 0 3 0 "
		"99999999999999999999999 173486080 3067\n",
		"42 (a) S 41 42 42 0 -1 x 1532 61424 15 79 17 5 63 48 20 0 3 0 8812 1 3067\n"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(parse_stat(bad[i]), -EINVAL);
}

static void fields_of_status(void **state)
{
	static const char text[] = "Name:\tUid:\\n\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t40\n"
				   "Pid:\t42\nUid:\t1000\t1001\t1002\t1003\nGid:\t1\t1\t1\t1\n"
				   "NStgid:\t40\t7\t1\nNSpid:\t42\t9\t3\n";

	memset(&info, 0, sizeof(info));
	assert_int_equal(procinfo_parse_status(text, sizeof(text) - 1, &info), 0);
	assert_int_equal(info.uid, 1001);
	assert_int_equal(info.tgid, 40);
	assert_int_equal(info.ns_pid, 3);
}

static void a_status_without_uid_is_refused(void **state)
{
	static const char *const bad[] = {
		"", "Uid:", "Uid:\t1\n", "Uid:\t4294967296\t1\n", "Uid:\t1 x\n", "xUid:\t1\t1\n"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(procinfo_parse_status(bad[i], strlen(bad[i]), &info), -EINVAL);
}

static void our_own_process_is_read(void **state)
{
	struct procinfo self;

	assert_int_equal(procinfo_read(fake_broker(), getpid(), &self), 0);
	assert_int_equal(self.pid, getpid());
	assert_int_equal(self.tgid, getpid());
	assert_int_equal(self.ppid, getppid());
	assert_int_equal(self.uid, geteuid());
	assert_int_equal(self.threads, 1);
	assert_true(self.start_ticks > 0);
	assert_false(procinfo_is_gone(fake_broker(), getpid(), self.start_ticks));
	assert_true(procinfo_is_gone(fake_broker(), getpid(), self.start_ticks + 1));
}

static void a_zombie_is_gone_and_then_not_there(void **state)
{
	struct procinfo child;
	siginfo_t si;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT), 0);
	assert_int_equal(procinfo_read(fake_broker(), pid, &child), 0);
	assert_int_equal(child.state, 'Z');
	assert_true(procinfo_is_gone(fake_broker(), pid, child.start_ticks));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(procinfo_read(fake_broker(), pid, &child), -ESRCH);
	assert_int_equal(procinfo_read_stat(fake_broker(), pid, &child), -ESRCH);
	assert_true(procinfo_is_gone(fake_broker(), pid, child.start_ticks));
}

static void *wait_for_ever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void a_zombie_leader_with_threads_is_not_gone(void **state)
{
	struct procinfo child = {0};
	pid_t pid = fork();

	if (pid == 0) {
		pthread_t thread;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pthread_create(&thread, NULL, wait_for_ever, NULL);
		pthread_exit(NULL);
	}
	while (child.state != 'Z')
		assert_int_equal(procinfo_read(fake_broker(), pid, &child), 0);
	assert_false(procinfo_is_gone(fake_broker(), pid, child.start_ticks));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(procinfo_is_gone(fake_broker(), pid, child.start_ticks));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_of_stat),
		cmocka_unit_test(a_name_may_hold_any_byte),
		cmocka_unit_test(a_long_worker_name_is_cut),
		cmocka_unit_test(what_is_no_stat_is_refused),
		cmocka_unit_test(fields_of_status),
		cmocka_unit_test(a_status_without_uid_is_refused),
		cmocka_unit_test(our_own_process_is_read),
		cmocka_unit_test(a_zombie_is_gone_and_then_not_there),
		cmocka_unit_test(a_zombie_leader_with_threads_is_not_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
