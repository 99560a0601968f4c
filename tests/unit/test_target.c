#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "daemon/proc/procinfo.h"
#include "daemon/sample/explain.h"
#include "daemon/sample/target.h"
#include "tests/unit/fake_broker.h"
#include "tests/unit/fake_proc.h"

static struct target_processes found;
static struct buf message;
static struct target_spec target;

static int setup(void **state)
{
	fake_proc_begin();
	memset(&target, 0, sizeof(target));
	target.only_uid = (uid_t)-1;
	return 0;
}

static int teardown(void **state)
{
	target_processes_done(&found);
	buf_done(&message);
	fake_proc_end();
	return 0;
}

static int resolve(void)
{
	target_processes_done(&found);
	buf_clear(&message);
	return target_resolve(fake_broker(), &target, &found, &message);
}

static int resolve_pids(pid_t a, pid_t b)
{
	pid_t pids[] = {a, b};

	target.kind = TARGET_PIDS;
	target.pids = pids;
	target.pid_count = b ? 2 : 1;
	return resolve();
}

static void expect_words(const char *words)
{
	assert_non_null(message.data);
	if (!strstr(message.data, words))
		fail_msg("\"%s\" has no \"%s\"", message.data, words);
}

static void pids_are_found_once_each(void **state)
{
	struct fake_process p = {.pid = 42, .comm = "x", .start_ticks = 7, .threads = 3};

	fake_proc_put(&p);
	p.pid = 43;
	fake_proc_put(&p);
	assert_int_equal(resolve_pids(42, 43), 0);
	assert_int_equal(found.count, 2);
	assert_int_equal(found.list[0].pid, 42);
	assert_int_equal(found.list[0].start_ticks, 7);
	assert_int_equal(found.list[0].threads, 3);
	assert_int_equal(resolve_pids(43, 43), 0);
	assert_int_equal(found.count, 1);
}

static void pids_that_will_not_do(void **state)
{
	struct fake_process p = {.pid = 42, .comm = "x", .uid = 1000};

	fake_proc_put(&p);
	assert_int_equal(resolve_pids(42, 77), -ESRCH);
	expect_words("no process 77");
	assert_int_equal(resolve_pids(0, 0), -ESRCH);
	assert_int_equal(resolve_pids(-5, 0), -ESRCH);
	target.only_uid = 1001;
	assert_int_equal(resolve_pids(42, 0), -EACCES);
	expect_words("another user");
	target.only_uid = 1000;
	assert_int_equal(resolve_pids(42, 0), 0);
	p.tgid = 40;
	fake_proc_put(&p);
	assert_int_equal(resolve_pids(42, 0), -ESRCH);
	expect_words("thread of process 40");
	p.tgid = 0;
	p.state = 'Z';
	fake_proc_put(&p);
	assert_int_equal(resolve_pids(42, 0), -ESRCH);
	expect_words("has ended");
	p.threads = 2; /* the leader alone has ended */
	fake_proc_put(&p);
	assert_int_equal(resolve_pids(42, 0), 0);
}

static void commands_by_what_the_kernel_keeps_of_them(void **state)
{
	struct fake_process p = {.pid = 42, .comm = "a-very-long-com"};

	fake_proc_put(&p);
	p.pid = 43;
	p.comm = "a-very-long-co";
	fake_proc_put(&p);
	p.pid = 44;
	p.comm = "a-very-long-com";
	p.uid = 1000;
	fake_proc_put(&p);
	p.pid = 45;
	p.state = 'Z';
	fake_proc_put(&p);
	target.kind = TARGET_COMMAND;
	strcpy(target.command, "a-very-long-command");
	assert_int_equal(resolve(), 0);
	assert_int_equal(found.count, 2);
	target.only_uid = 1000;
	assert_int_equal(resolve(), 0);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.list[0].pid, 44);
	strcpy(target.command, "none");
	assert_int_equal(resolve(), 0);
	assert_int_equal(found.count, 0);
}

static void a_cgroup_that_is_not_there(void **state)
{
	char empty[] = "/tmp/profiled-group-XXXXXX";

	assert_non_null(mkdtemp(empty));
	fake.cgroup_root = empty;
	target.kind = TARGET_CGROUP;
	strcpy(target.cgroup, "/none");
	assert_int_equal(resolve(), -ENOENT);
	expect_words("no cgroup /none");
	assert_int_equal(rmdir(empty), 0);
}

static int plan(const struct capture_options *o, unsigned threads, enum capture_plan *ret)
{
	struct target_process one = {.pid = 42, .threads = threads, .pidfd = -1};
	struct target_processes list = {&one, 1, 1};

	buf_clear(&message);
	return target_plan(&target, o, &list, 2, ret, &message);
}

static void the_cheapest_plan_that_fits(void **state)
{
	struct capture_options o = {.event_count = 1, .allow_cpu_wide = true, .fd_budget = 1024};
	enum capture_plan p;

	target.kind = TARGET_PIDS;
	assert_int_equal(plan(&o, 10, &p), 0);
	assert_int_equal(p, CAPTURE_TASK);
	assert_int_equal(plan(&o, 256, &p), 0); /* 2 x 257 x 2 is 1,028 */
	assert_int_equal(p, CAPTURE_CPU);
	o.fd_budget = 1028;
	assert_int_equal(plan(&o, 256, &p), 0);
	assert_int_equal(p, CAPTURE_TASK);
	o.fd_budget = 100000;
	assert_int_equal(plan(&o, 257, &p), 0);
	assert_int_equal(p, CAPTURE_CPU);
	o.allow_cpu_wide = false;
	assert_int_equal(plan(&o, 2000, &p), 0);
	assert_int_equal(p, CAPTURE_TASK);
	o.fd_budget = 1024;
	assert_int_equal(plan(&o, 2000, &p), -EMFILE);
	expect_words("file descriptors");
	expect_words("RLIMIT_NOFILE");
}

static void plans_of_the_other_targets(void **state)
{
	struct capture_options o = {.event_count = 2, .allow_cpu_wide = true, .fd_budget = 1024};
	enum capture_plan p;

	target.kind = TARGET_ALL;
	assert_int_equal(plan(&o, 0, &p), 0);
	assert_int_equal(p, CAPTURE_CPU);
	target.kind = TARGET_COMMAND;
	assert_int_equal(plan(&o, 1, &p), 0);
	assert_int_equal(p, CAPTURE_CPU);
	target.kind = TARGET_CGROUP;
	assert_int_equal(plan(&o, 1, &p), 0);
	assert_int_equal(p, CAPTURE_CGROUP);
	o.fd_budget = 13;
	assert_int_equal(plan(&o, 1, &p), -EMFILE);
	expect_words("file descriptors");
	o.fd_budget = 1024;
	o.allow_cpu_wide = false;
	assert_int_equal(plan(&o, 1, &p), 0);
	assert_int_equal(p, CAPTURE_TASK);
	target.kind = TARGET_COMMAND;
	assert_int_equal(plan(&o, 1, &p), 0);
	assert_int_equal(p, CAPTURE_TASK);
	target.kind = TARGET_ALL;
	assert_int_equal(plan(&o, 0, &p), -EACCES);
	expect_words("CAP_PERFMON");
	expect_words("perf_event_paranoid");
}

static void a_pinned_process_is_seen_to_end(void **state)
{
	struct procinfo info;
	siginfo_t si;
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	fake.proc_root = NULL;
	assert_int_equal(resolve_pids(pid, 0), 0);
	assert_int_equal(target_processes_pin(fake_broker(), &found, &message), 0);
	assert_false(target_processes_are_gone(fake_broker(), &found));
	assert_int_equal(procinfo_read(fake_broker(), pid, &info), 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT), 0);
	assert_true(target_processes_are_gone(fake_broker(), &found)); /* a zombie is gone */
	/* Without a descriptor /proc tells the same. */
	if (found.list[0].pidfd >= 0) /* valgrind may know none */
		close(MOVE_FD(found.list[0].pidfd));
	found.list[0].gone = false;
	assert_true(target_processes_are_gone(fake_broker(), &found));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	found.list[0].gone = false;
	assert_true(target_processes_are_gone(fake_broker(), &found));
}

static void another_of_the_same_pid_is_not_pinned(void **state)
{
	fake.proc_root = NULL;
	assert_int_equal(resolve_pids(getpid(), 0), 0);
	found.list[0].start_ticks--;
	assert_int_equal(target_processes_pin(fake_broker(), &found, &message), -ESRCH);
	expect_words("has just ended");
}

static int explain(const struct capture_options *o)
{
	buf_clear(&message);
	return explain_options(fake_broker(), &target, o, &message);
}

static void settings_that_cannot_be_had(void **state)
{
	struct capture_options o = {
		.event_count = 1, .freq_hz = 99, .stack = STACK_DWARF, .stack_bytes = 16384};

	target.kind = TARGET_ALL;
	fake.max_rate = "2000\n";
	assert_int_equal(explain(&o), 0);
	o.freq_hz = 5000;
	assert_int_equal(explain(&o), -EINVAL);
	expect_words("2000 Hz");
	expect_words("perf_event_max_sample_rate");
	o.period = 1;
	assert_int_equal(explain(&o), -EINVAL);
	o.freq_hz = 0;
	assert_int_equal(explain(&o), 0);
	o.stack_bytes = 16383;
	assert_int_equal(explain(&o), -EINVAL);
	o.stack_bytes = 65536;
	assert_int_equal(explain(&o), -EINVAL);
	o.stack_bytes = 0;
	assert_int_equal(explain(&o), -EINVAL);
	o.stack_bytes = STACK_BYTES_MAX;
	assert_int_equal(explain(&o), 0);
	o.ring_bytes = 32768;
	assert_int_equal(explain(&o), -EINVAL);
	expect_words("does not fit");
	o.ring_bytes = 65536;
	assert_int_equal(explain(&o), 0);
	o.ring_bytes = 100000;
	assert_int_equal(explain(&o), -EINVAL);
	expect_words("power of two");
	o.ring_bytes = 0;
	o.event_count = 2;
	assert_int_equal(event_parse(fake_broker(), "page-faults", &o.events[0]), 0);
	assert_int_equal(event_parse(fake_broker(), "page-faults", &o.events[1]), 0);
	assert_int_equal(explain(&o), -EINVAL);
	expect_words("page-faults is asked for twice");
	o.event_count = 0;
	assert_int_equal(explain(&o), -EINVAL);
	o.event_count = EVENTS_MAX + 1;
	assert_int_equal(explain(&o), -EINVAL);
	o.event_count = 1;
	target.kind = TARGET_PIDS;
	assert_int_equal(explain(&o), -EINVAL);
	target.kind = TARGET_COMMAND;
	assert_int_equal(explain(&o), -EINVAL);
	target.kind = TARGET_CGROUP;
	strcpy(target.cgroup, "no/slash");
	assert_int_equal(explain(&o), -EINVAL);
}

static void why(enum capture_plan p, bool kernel, int error)
{
	struct capture_options o = {.event_count = 1, .kernel = kernel};

	assert_int_equal(event_parse(fake_broker(), "cycles", &o.events[0]), 0);
	buf_clear(&message);
	explain_open(fake_broker(), &o, p, 0, error, &message);
}

static void refusals_name_the_setting(void **state)
{
	fake.paranoid = "2\n";
	why(CAPTURE_CPU, true, -EACCES);
	expect_words("whole CPUs");
	expect_words("perf_event_paranoid to 0");
	why(CAPTURE_TASK, true, -EACCES);
	expect_words("perf_event_paranoid to 1");
	expect_words("without the kernel");
	why(CAPTURE_TASK, false, -EPERM);
	expect_words("another user");
	expect_words("CAP_PERFMON");
	fake.paranoid = "3\n";
	why(CAPTURE_TASK, false, -EACCES);
	expect_words("perf_event_paranoid to 2");
	fake.paranoid = "-1\n";
	why(CAPTURE_TASK, true, -EACCES);
	expect_words("another user");
	why(CAPTURE_TASK, true, -EMFILE);
	expect_words("RLIMIT_NOFILE");
	why(CAPTURE_TASK, true, -ENOENT);
	expect_words("cycles");
	expect_words("cpu-clock");
	why(CAPTURE_TASK, true, -EIO);
	expect_words("cycles");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(pids_are_found_once_each),
		TEST(pids_that_will_not_do),
		TEST(commands_by_what_the_kernel_keeps_of_them),
		TEST(a_cgroup_that_is_not_there),
		TEST(the_cheapest_plan_that_fits),
		TEST(plans_of_the_other_targets),
		TEST(a_pinned_process_is_seen_to_end),
		TEST(another_of_the_same_pid_is_not_pinned),
		TEST(settings_that_cannot_be_had),
		TEST(refusals_name_the_setting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
