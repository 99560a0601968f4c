/* Captures of real processes. Skipped where the kernel lets us sample nothing. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "base/io.h"
#include "daemon/proc/procinfo.h"
#include "daemon/sample/capture.h"
#include "daemon/sample/collect.h"
#include "tests/unit/fake_broker.h"

#define PAGES 2000u

/* ---- a process that does as it is told ---- */

struct puppet {
	pid_t pid;
	int orders, answers, thread_orders;
};

static void touch_pages(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *at = mmap(
		NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		_exit(98);
	for (unsigned i = 0; i < PAGES; i++)
		at[i * page] = 1;
	munmap(at, PAGES * page);
}

static int thread_orders = -1;

/* A thread is there at once, and waits for its own order before it does anything. */
static void *thread_main(void *arg)
{
	int answers = *(int *)arg;
	char order;

	while (read(thread_orders, &order, 1) == 1) {
		touch_pages();
		if (write(answers, "d", 1) != 1)
			break;
	}
	return NULL;
}

static void child_touches(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		touch_pages();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/* Stays, and does what threads are told. */
static void child_stays(int answers)
{
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		thread_main(&answers);
		_exit(0);
	}
}

static void puppet_main(int orders, int answers)
{
	pthread_t thread;
	char order;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(orders, &order, 1) == 1) {
		switch (order) {
		case 'f': touch_pages(); break;
		case 'p': child_touches(); break;
		case 'k': child_stays(answers); break;
		case 't': pthread_create(&thread, NULL, thread_main, &answers); break;
		case 'n': prctl(PR_SET_NAME, "renamed"); break;
		case 'b':
			/* Busy until the next order. */
			if (write(answers, "d", 1) != 1)
				_exit(98);
			for (;;)
				;
		case 'x': execl("/bin/true", "true", NULL); break;
		case 'l': pthread_exit(NULL);
		default: _exit(0);
		}
		if (write(answers, "d", 1) != 1)
			break;
	}
	_exit(0);
}

static struct puppet puppet_new(void)
{
	int orders[2], answers[2], threads[2];
	struct puppet p;

	assert_int_equal(pipe2(orders, O_CLOEXEC), 0);
	assert_int_equal(pipe2(answers, O_CLOEXEC), 0);
	assert_int_equal(pipe2(threads, O_CLOEXEC), 0);
	thread_orders = threads[0];
	p.pid = fork();
	if (p.pid == 0) {
		close(orders[1]);
		close(threads[1]);
		puppet_main(orders[0], answers[1]);
	}
	close(orders[0]);
	close(answers[1]);
	close(threads[0]);
	p.orders = orders[1];
	p.answers = answers[0];
	p.thread_orders = threads[1];
	return p;
}

static void order(const struct puppet *p, char what)
{
	char answer;

	assert_int_equal(write(p->orders, &what, 1), 1);
	assert_int_equal(read(p->answers, &answer, 1), 1);
}

static void order_thread(const struct puppet *p)
{
	char answer;

	assert_int_equal(write(p->thread_orders, "f", 1), 1);
	assert_int_equal(read(p->answers, &answer, 1), 1);
}

/* Of one that has ended already. */
static void puppet_done(struct puppet *p)
{
	close(p->orders);
	close(p->answers);
	close(p->thread_orders);
}

static void puppet_end(struct puppet *p)
{
	kill(p->pid, SIGKILL);
	assert_int_equal(waitpid(p->pid, NULL, 0), p->pid);
	puppet_done(p);
}

/* ---- what comes out of a capture ---- */

struct seen {
	uint64_t samples, weight, last_ns;
	uint64_t sideband[SIDEBAND_EXIT + 1];
	uint64_t disordered;
	uint64_t of_cpu[2];
	pid_t last_pid;
	uint64_t chained; /* have the kernel's chain of the user side */
	bool bad;
};

static void on_sample(void *arg, const struct sample *s, unsigned event)
{
	struct seen *seen = arg;

	seen->samples++;
	seen->weight += s->period;
	seen->disordered += s->t_ns < seen->last_ns;
	seen->last_ns = s->t_ns;
	seen->last_pid = s->pid;
	seen->chained += s->user_chain != NULL;
	if (s->user_chain && s->regs && s->user_chain[0] != s->regs[SAMPLE_REG_RIP])
		seen->bad = true;
	if (s->cpu < 2)
		seen->of_cpu[s->cpu]++;
	if (event >= EVENTS_MAX || s->period == 0 || s->stack_bytes > s->stack_asked)
		seen->bad = true;
}

static void on_sideband(void *arg, const struct sideband *s)
{
	struct seen *seen = arg;

	seen->sideband[s->kind]++;
	seen->disordered += s->t_ns < seen->last_ns;
	seen->last_ns = s->t_ns;
}

static struct seen seen;
static const struct capture_sink sink = {on_sample, on_sideband, &seen};
static struct capture *c;
static struct buf message;
static struct target_spec target;
static struct capture_options options;
static unsigned fds_before;
static bool as_root, has_pidfds; /* valgrind may know none */

static int setup(void **state)
{
	fake_broker_reset();
	memset(&seen, 0, sizeof(seen));
	memset(&target, 0, sizeof(target));
	memset(&options, 0, sizeof(options));
	target.only_uid = (uid_t)-1;
	options.period = 1;
	options.event_count = 1;
	options.kernel = as_root;
	options.stack = STACK_FP;
	options.allow_cpu_wide = as_root;
	options.fd_budget = 1000;
	assert_int_equal(event_parse(fake_broker(), "page-faults", &options.events[0]), 0);
	c = NULL;
	fds_before = fake_count_fds();
	return 0;
}

static int teardown(void **state)
{
	capture_free(c);
	buf_done(&message);
	assert_int_equal(fake_count_fds(), fds_before);
	return 0;
}

static int begin(void)
{
	buf_clear(&message);
	return capture_new(fake_broker(), &target, &options, &c, &message);
}

static void begin_pid(pid_t pid)
{
	target.kind = TARGET_PIDS;
	target.pids = &pid;
	target.pid_count = 1;
	if (begin() < 0)
		fail_msg("%s", message.data ? message.data : "no message");
	target.pids = NULL;
}

static void begin_command(const char *name)
{
	target.kind = TARGET_COMMAND;
	snprintf(target.command, sizeof(target.command), "%s", name);
	if (begin() < 0)
		fail_msg("%s", message.data ? message.data : "no message");
}

static void read_all(void)
{
	assert_true(capture_round(c, &sink) >= 0);
}

/* Stops, and checks that every occurrence that the kernel counted is accounted for. Of CPU-wide
 * events Linux 6.18 sometimes counts a few without any attempt to write a sample, which a program
 * that does no more than count the records sees as well: there, none may be accounted for that was
 * not counted. */
static struct capture_stats finish(void)
{
	struct capture_stats stats;
	uint64_t counted = 0, accounted;

	capture_stop(c);
	read_all();
	capture_get_stats(c, &stats);
	for (unsigned i = 0; i < EVENTS_MAX; i++)
		counted += stats.counted[i];
	accounted = stats.samples + stats.filtered + stats.lost + stats.malformed;
	if (options.period == 1 && stats.plan == CAPTURE_TASK)
		assert_int_equal(accounted, counted);
	else if (options.period == 1)
		assert_true(accounted <= counted && accounted >= counted - counted / 10);
	assert_int_equal(stats.samples, seen.samples);
	assert_int_equal(stats.unknown, 0);
	assert_int_equal(stats.malformed, 0);
	assert_int_equal(stats.malformed_bytes, 0);
	assert_int_equal(stats.fds, target.kind == TARGET_PIDS && has_pidfds);
	assert_false(seen.bad);
	capture_free(MOVE(c));
	return stats;
}

/* ---- tests ---- */

static void every_occurrence_is_accounted_for(void **state)
{
	for (unsigned run = 0; run < 20; run++) {
		struct puppet p = puppet_new();
		struct capture_stats stats;

		options.stack = run % 2 ? STACK_DWARF : STACK_FP;
		options.stack_bytes = 8192;
		options.ring_bytes = run % 4 < 2 ? 65536 : 0; /* the small one overflows */
		begin_pid(p.pid);
		order(&p, 'f');
		order(&p, 'p');
		if (run % 3 == 0)
			read_all();
		order(&p, 't');
		order_thread(&p);
		stats = finish();
		assert_int_equal(stats.plan, CAPTURE_TASK);
		assert_true(stats.counted[0] >= 3 * PAGES);
		if (options.ring_bytes)
			assert_true(stats.lost > 0 && stats.ring_peak > 0.7);
		assert_true(stats.ring_peak <= 1);
		puppet_end(&p);
		memset(&seen, 0, sizeof(seen));
	}
}

static void so_is_it_in_cpu_wide_events(void **state)
{
	struct capture_stats stats;
	struct puppet p;

	if (!as_root)
		skip();
	options.ring_bytes = 1 << 20;
	prctl(PR_SET_NAME, "puppet-of-test");
	p = puppet_new();
	prctl(PR_SET_NAME, "test_capture");
	begin_command("puppet-of-test");
	order(&p, 'f');
	order(&p, 'p');
	stats = finish();
	assert_int_equal(stats.plan, CAPTURE_CPU);
	assert_true(stats.samples + stats.lost >= 2 * PAGES * 9 / 10);
	assert_true(seen.sideband[SIDEBAND_FORK] == 1 && seen.sideband[SIDEBAND_EXIT] == 1);
	assert_int_equal(seen.disordered, 0);
	puppet_end(&p);
}

static void several_events_share_a_ring(void **state)
{
	struct puppet p = puppet_new();
	struct capture_stats stats;

	assert_int_equal(event_parse(fake_broker(), "minor-faults", &options.events[1]), 0);
	options.event_count = 2;
	options.ring_bytes = 1 << 20;
	begin_pid(p.pid);
	order(&p, 'f');
	stats = finish();
	assert_true(stats.counted[0] >= PAGES && stats.counted[1] >= PAGES);
	assert_int_equal(seen.disordered, 0);
	puppet_end(&p);
}

static void captures_of_the_same_event_do_not_disturb_each_other(void **state)
{
	struct capture_options several = options;
	struct puppet p = puppet_new();
	struct capture *others[2] = {NULL};
	struct capture_stats stats;

	/* One before and one after the one that is looked at, with other events beside it. */
	options.ring_bytes = several.ring_bytes = 1 << 20;
	begin_pid(p.pid);
	others[0] = MOVE(c);
	assert_int_equal(event_parse(fake_broker(), "minor-faults", &several.events[1]), 0);
	assert_int_equal(event_parse(fake_broker(), "cpu-clock", &several.events[2]), 0);
	several.event_count = 2;
	options = several;
	begin_pid(p.pid);
	others[1] = MOVE(c);
	c = MOVE(others[0]);
	order(&p, 'f');
	stats = finish();
	assert_true(stats.samples >= PAGES);
	memset(&seen, 0, sizeof(seen));
	c = MOVE(others[1]);
	stats = finish();
	assert_int_equal(stats.rings, 3 * sysconf(_SC_NPROCESSORS_ONLN));
	assert_true(stats.samples >= 2 * PAGES);
	puppet_end(&p);
}

static void a_fixed_period_is_the_weight(void **state)
{
	struct puppet p = puppet_new();
	struct capture_stats stats;

	options.period = 100;
	begin_pid(p.pid);
	order(&p, 'f');
	stats = finish();
	assert_true(stats.samples >= PAGES / 100 - 2 && stats.samples <= PAGES / 100 + 20);
	assert_int_equal(seen.weight, stats.samples * 100);
	puppet_end(&p);
}

static void clocks_are_weighed_in_nanoseconds(void **state)
{
	struct puppet p = puppet_new();
	struct capture_stats stats;

	assert_int_equal(event_parse(fake_broker(), "cpu-clock", &options.events[0]), 0);
	options.period = 0;
	options.freq_hz = 1000;
	options.stack = STACK_DWARF;
	options.stack_bytes = 4096;
	begin_pid(p.pid);
	order(&p, 'b');
	while (seen.samples < 50)
		read_all();
	stats = finish();
	assert_int_equal(seen.weight, stats.samples * 1000000);
	assert_int_equal(seen.last_pid, p.pid);
	assert_true(stats.counted[0] > 40000000);
	puppet_end(&p);
}

/* At the nth opening of an event, the puppet makes a thread. */
struct meddler {
	const struct puppet *puppet;
	unsigned left;
};

static int make_thread(const struct perf_event_attr *attr, pid_t pid, int cpu, void *arg)
{
	struct meddler *m = arg;

	if (pid > 0 && m->left > 0 && --m->left == 0)
		order(m->puppet, 't');
	return 0;
}

static void a_thread_born_while_events_are_opened_counts_once(void **state)
{
	unsigned cpus = (unsigned)sysconf(_SC_NPROCESSORS_ONLN), per_thread = 2 * cpus;

	/* Before, between and after the openings for its parent. */
	for (unsigned nth = 1; nth <= per_thread + 1; nth++) {
		struct puppet p = puppet_new();
		struct meddler m = {&p, nth};
		struct capture_stats stats;

		fake.before_perf_open = make_thread;
		fake.arg = &m;
		options.ring_bytes = 1 << 20;
		begin_pid(p.pid);
		fake_broker_reset();
		if (nth > per_thread)
			order(&p, 't');
		for (unsigned i = 0; i < 10; i++) {
			order_thread(&p);
			usleep(2000); /* older than what a round leaves for the next */
			read_all();
		}
		stats = finish();
		/* As long as it was not noticed, there may have been two samples. */
		assert_true(stats.samples + stats.lost >= 10 * PAGES);
		assert_true(stats.samples + stats.lost < 15 * PAGES);
		puppet_end(&p);
		memset(&seen, 0, sizeof(seen));
	}
}

static void the_end_of_the_process_is_seen(void **state)
{
	struct puppet p = puppet_new();

	begin_pid(p.pid);
	assert_int_equal(capture_refresh(c), 0);
	assert_false(capture_target_gone(c));
	puppet_end(&p);
	assert_int_equal(capture_refresh(c), 0);
	assert_true(capture_target_gone(c));
	finish();
	assert_int_equal(seen.sideband[SIDEBAND_EXIT], 1);
}

static void a_leader_that_ends_before_its_threads_is_not_the_end(void **state)
{
	struct procinfo info = {0};
	struct puppet p = puppet_new();

	order(&p, 't');
	begin_pid(p.pid);
	assert_int_equal(write(p.orders, "l", 1), 1);
	while (info.state != 'Z')
		assert_int_equal(procinfo_read(fake_broker(), p.pid, &info), 0);
	assert_int_equal(capture_refresh(c), 0);
	assert_false(capture_target_gone(c));
	order_thread(&p);
	assert_true(finish().samples >= PAGES);
	puppet_end(&p);
}

static void a_process_that_is_gone_cannot_be_sampled(void **state)
{
	struct puppet p = puppet_new();
	pid_t pid = p.pid;

	puppet_end(&p);
	target.kind = TARGET_PIDS;
	target.pids = &pid;
	target.pid_count = 1;
	assert_int_equal(begin(), -ESRCH);
	assert_non_null(strstr(message.data, "There is no process"));
}

/* At the nth opening of an event, the process ends. */
static int end_process(const struct perf_event_attr *attr, pid_t pid, int cpu, void *arg)
{
	struct meddler *m = arg;

	if (m->left > 0 && --m->left == 0) {
		kill(m->puppet->pid, SIGKILL);
		waitpid(m->puppet->pid, NULL, 0);
	}
	return 0;
}

static void a_process_may_end_while_events_are_opened(void **state)
{
	for (unsigned nth = 1; nth < 14; nth++) {
		struct puppet p = puppet_new();
		struct meddler m = {&p, nth};
		pid_t pid = p.pid;

		fake.before_perf_open = end_process;
		fake.arg = &m;
		target.kind = TARGET_PIDS;
		target.pids = &pid;
		target.pid_count = 1;
		if (begin() == 0) {
			/* It ended after all that, or not at all. */
			assert_true(m.left > 0);
			capture_free(MOVE(c));
		} else {
			assert_non_null(strstr(message.data, "just ended"));
		}
		fake_broker_reset();
		if (m.left > 0)
			kill(p.pid, SIGKILL);
		waitpid(p.pid, NULL, 0);
		puppet_done(&p);
	}
}

struct failure {
	unsigned left;
	int error;
};

static int fail_at(const struct perf_event_attr *attr, pid_t pid, int cpu, void *arg)
{
	struct failure *f = arg;

	return f->left > 0 && --f->left == 0 ? f->error : 0;
}

static void whatever_fails_everything_is_closed_again(void **state)
{
	static const int errors[] = {-EMFILE, -EACCES, -ENOMEM, -EINVAL, -EPIPE};
	struct puppet p = puppet_new();
	pid_t pid = p.pid;

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		for (unsigned nth = 1; nth <= 20; nth++) {
			struct failure f = {nth, errors[i]};
			unsigned open = fake_count_fds();

			fake.before_perf_open = fail_at;
			fake.arg = &f;
			target.kind = nth % 2 && as_root ? TARGET_ALL : TARGET_PIDS;
			target.pids = &pid;
			target.pid_count = 1;
			if (begin() == 0)
				capture_free(MOVE(c));
			else
				assert_true(message.len > 0);
			assert_int_equal(fake_count_fds(), open);
		}
	}
	fake_broker_reset();
	puppet_end(&p);
}

static void an_offline_cpu_is_passed_over(void **state)
{
	struct failure f;

	if (!as_root || sysconf(_SC_NPROCESSORS_ONLN) < 2)
		skip();
	/* The anchors of all come first, then a CPU's sentinel. */
	f = (struct failure){2 * (unsigned)sysconf(_SC_NPROCESSORS_ONLN) + 1, -ENODEV};
	fake.before_perf_open = fail_at;
	fake.arg = &f;
	target.kind = TARGET_ALL;
	assert_int_equal(begin(), 0);
	assert_false(events_slot(c->events, 0)->open);
	assert_true(events_slot(c->events, 1)->open);
	assert_int_equal(capture_refresh(c), 0);
	assert_true(events_slot(c->events, 0)->open);
	finish();
}

/* As the kernel answers, whatever the list of CPUs says. Events of a task may be for any CPU. */
static int is_offline(const struct perf_event_attr *attr, pid_t pid, int cpu, void *arg)
{
	return pid < 0 && cpu == *(const int *)arg ? -ENODEV : 0;
}

static void fault_on_both_cpus(const struct puppet *p)
{
	for (unsigned cpu = 0; cpu < 2; cpu++) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		assert_int_equal(sched_setaffinity(p->pid, sizeof(set), &set), 0);
		order(p, 'f');
	}
	read_all();
}

static void a_cpu_that_comes_back_is_sampled_again(void **state)
{
	struct puppet p;
	int offline;

	if (!as_root || sysconf(_SC_NPROCESSORS_ONLN) < 2)
		skip();
	p = puppet_new();
	for (offline = 0; offline < 2; offline++) {
		memset(&seen, 0, sizeof(seen));
		fake.before_perf_open = is_offline;
		fake.arg = &offline;
		fake.cpus_online = "0-1\n";
		target.kind = TARGET_ALL;
		assert_int_equal(begin(), 0);
		fault_on_both_cpus(&p);
		assert_true(seen.of_cpu[!offline] >= PAGES / 2);
		assert_int_equal(seen.of_cpu[offline], 0);
		/* It stays away, and comes back. */
		assert_int_equal(capture_refresh(c), 0);
		fault_on_both_cpus(&p);
		assert_int_equal(seen.of_cpu[offline], 0);
		fake.before_perf_open = NULL;
		assert_int_equal(capture_refresh(c), 0);
		fault_on_both_cpus(&p);
		assert_true(seen.of_cpu[offline] >= PAGES / 2);
		finish();
	}
	puppet_end(&p);
}

static void cpus_come_and_go(void **state)
{
	struct capture_stats stats;
	unsigned opened;

	if (!as_root || sysconf(_SC_NPROCESSORS_ONLN) < 2)
		skip();
	fake.cpus_online = "0\n";
	target.kind = TARGET_ALL;
	assert_int_equal(begin(), 0);
	assert_int_equal(events_slot_count(c->events), 1);
	fake.cpus_online = "0-1\n";
	assert_int_equal(capture_refresh(c), 0);
	assert_int_equal(events_slot_count(c->events), 2);
	assert_true(events_slot(c->events, 1)->open);
	/* Nothing is opened again without a reason. */
	opened = fake.perf_opened;
	assert_int_equal(capture_refresh(c), 0);
	assert_int_equal(capture_refresh(c), 0);
	assert_int_equal(fake.perf_opened, opened);
	/* What a CPU that goes offline does to its events: they stay off. */
	assert_int_equal(ioctl(events_slot(c->events, 1)->sentinel, PERF_EVENT_IOC_DISABLE, 0), 0);
	assert_int_equal(capture_refresh(c), 0);
	assert_int_equal(capture_refresh(c), 0);
	assert_int_equal(fake.perf_opened, opened + 3);
	read_all();
	assert_int_equal(capture_refresh(c), 0);
	assert_int_equal(fake.perf_opened, opened + 3);
	stats = finish();
	assert_int_equal(stats.rings, 4);
}

static void a_new_cpu_gets_events_of_the_threads_there_are(void **state)
{
	struct puppet p;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		skip();
	p = puppet_new();
	fake.cpus_online = "1\n";
	begin_pid(p.pid);
	order(&p, 't');
	usleep(2000);
	read_all();
	fake.cpus_online = "0-1\n";
	assert_int_equal(capture_refresh(c), 0);
	for (unsigned i = 0; i < 5; i++)
		order_thread(&p);
	assert_true(finish().counted[0] >= 5 * PAGES);
	puppet_end(&p);
}

static void later_processes_of_a_command_are_found(void **state)
{
	struct puppet p, q;
	struct capture_stats stats;

	options.allow_cpu_wide = false;
	p = puppet_new();
	order(&p, 'n');
	begin_command("renamed");
	q = puppet_new();
	order(&q, 'n');
	order(&q, 'f');
	assert_int_equal(capture_refresh(c), 0);
	read_all(); /* opens what the refresh found */
	order(&p, 'f');
	order(&q, 'f');
	usleep(2000);
	read_all();
	capture_get_stats(c, &stats);
	assert_int_equal(stats.plan, CAPTURE_TASK);
	assert_true(stats.samples + stats.lost >= 2 * PAGES);
	assert_true(stats.samples + stats.lost < 3 * PAGES);
	assert_false(capture_target_gone(c));
	/* The events of those that have ended are closed. */
	puppet_end(&q);
	kill(p.pid, SIGKILL);
	waitpid(p.pid, NULL, 0);
	for (unsigned i = 0; i < 3; i++) {
		usleep(2000);
		read_all();
		assert_int_equal(capture_refresh(c), 0);
	}
	capture_get_stats(c, &stats);
	assert_int_equal(stats.fds, 2 * sysconf(_SC_NPROCESSORS_ONLN));
	finish();
	puppet_done(&p);
}

static void an_exec_ends_membership_of_a_command(void **state)
{
	struct puppet p;

	if (!as_root)
		skip();
	p = puppet_new();
	order(&p, 'n');
	begin_command("renamed");
	order(&p, 'f');
	assert_int_equal(write(p.orders, "x", 1), 1);
	assert_int_equal(waitpid(p.pid, NULL, WUNTRACED), p.pid);
	finish();
	assert_int_equal(seen.sideband[SIDEBAND_EXEC], 1);
	assert_int_equal(seen.sideband[SIDEBAND_EXIT], 0); /* of another name by then */
	puppet_done(&p);
}

static void change(void)
{
	buf_clear(&message);
	if (capture_change(c, &options, &message) < 0)
		fail_msg("%s", message.data ? message.data : "no message");
}

static void a_change_keeps_what_was_born_before(void **state)
{
	struct puppet p = puppet_new();
	struct capture_stats stats;

	begin_pid(p.pid);
	order(&p, 'k');
	order(&p, 't');
	usleep(2000);
	read_all();
	options.ring_bytes = 1 << 20;
	options.kernel = false;
	change();
	/* What was in the rings, and the new ones, are read by one round. */
	assert_int_equal(capture_change(c, &options, &message), -EBUSY);
	read_all();
	memset(&seen, 0, sizeof(seen));
	for (unsigned i = 0; i < 2; i++) /* the child and the thread, in whatever order */
		order_thread(&p);
	order(&p, 'p');
	usleep(2000);
	read_all();
	assert_true(seen.samples >= 3 * PAGES);
	assert_int_equal(seen.sideband[SIDEBAND_FORK], 1);
	assert_int_equal(seen.disordered, 0);
	capture_stop(c);
	read_all();
	capture_get_stats(c, &stats);
	assert_int_equal(stats.samples + stats.lost, stats.counted[0]);
	assert_int_equal(stats.lost, 0);
	assert_false(seen.bad);
	puppet_end(&p);
}

static void weights_are_right_over_a_change(void **state)
{
	struct puppet p = puppet_new();
	struct capture_stats stats;

	options.ring_bytes = 1 << 20;
	begin_pid(p.pid);
	order(&p, 'f');
	options.period = 4;
	change(); /* with the samples of before in the rings */
	order(&p, 'f');
	stats = finish();
	assert_int_equal(stats.lost, 0);
	assert_true(stats.samples < 2 * PAGES);
	assert_true(stats.counted[0] >= 2 * PAGES);
	/* A part of the last period on each CPU has no sample. */
	assert_true(seen.weight <= stats.counted[0]);
	assert_true(seen.weight + 4 * (uint64_t)sysconf(_SC_NPROCESSORS_ONLN) > stats.counted[0]);
	puppet_end(&p);
}

static void chains_come_beside_copies_and_go(void **state)
{
	struct puppet p = puppet_new();
	struct capture_stats stats;
	uint64_t without;

	options.stack = STACK_DWARF;
	options.stack_bytes = 1024;
	options.ring_bytes = 4 << 20;
	begin_pid(p.pid);
	order(&p, 'f');
	options.stack_bytes = 512;
	options.chain = true;
	change(); /* with the samples of before in the rings */
	order(&p, 'f');
	while (seen.chained < PAGES)
		read_all();
	assert_true(seen.samples - seen.chained >= PAGES);
	options.stack_bytes = 1024;
	options.chain = false;
	without = seen.samples - seen.chained;
	change();
	order(&p, 'f');
	stats = finish();
	assert_true(seen.samples - seen.chained - without >= PAGES);
	assert_int_equal(stats.lost, 0);
	assert_false(seen.bad);
	puppet_end(&p);
}

static void a_change_that_fails_changes_nothing(void **state)
{
	struct failure f = {1, -EMFILE};
	struct puppet p = puppet_new();
	struct capture_options before = options;

	begin_pid(p.pid);
	order(&p, 'f');
	fake.before_perf_open = fail_at;
	fake.arg = &f;
	options.period = 4;
	buf_clear(&message);
	assert_int_equal(capture_change(c, &options, &message), -EMFILE);
	assert_true(message.len > 0);
	fake.before_perf_open = NULL;
	options = before;
	order(&p, 'f');
	assert_true(finish().counted[0] >= 2 * PAGES);
	puppet_end(&p);
}

static void many_births_bring_cpu_wide_events(void **state)
{
	struct capture_stats stats;
	unsigned opened;
	struct puppet p;

	if (!as_root)
		skip();
	p = puppet_new();
	assert_int_equal(event_parse(fake_broker(), "cpu-clock", &options.events[0]), 0);
	options.period = 0;
	options.freq_hz = 5000;
	begin_pid(p.pid);
	for (unsigned i = 0; i < 20; i++)
		order(&p, 'p');
	usleep(2000);
	read_all();
	assert_int_equal(seen.sideband[SIDEBAND_FORK], 20);
	assert_int_equal(capture_refresh(c), 0);
	capture_get_stats(c, &stats);
	assert_int_equal(stats.plan, CAPTURE_CPU);
	read_all();
	for (unsigned i = 0; i < 20; i++)
		order(&p, 'p');
	usleep(2000);
	read_all();
	assert_int_equal(seen.sideband[SIDEBAND_FORK], 40);
	assert_int_equal(seen.sideband[SIDEBAND_EXIT], 40);
	memset(&seen, 0, sizeof(seen));
	while (seen.samples == 0 || seen.last_pid == p.pid) {
		order(&p, 'p'); /* of the children too */
		read_all();
	}
	/* And there it stays. */
	opened = fake.perf_opened;
	assert_int_equal(capture_refresh(c), 0);
	assert_int_equal(fake.perf_opened, opened);
	assert_false(capture_target_gone(c));
	puppet_end(&p);
	assert_int_equal(capture_refresh(c), 0);
	assert_true(capture_target_gone(c));
	read_all();
	assert_int_equal(seen.disordered, 0);
}

static void without_leave_the_plan_stays(void **state)
{
	struct capture_stats stats;
	struct failure f = {1, -EACCES};
	struct puppet p;

	if (!as_root)
		skip();
	p = puppet_new();
	assert_int_equal(event_parse(fake_broker(), "cpu-clock", &options.events[0]), 0);
	options.period = 0;
	options.freq_hz = 5000;
	begin_pid(p.pid);
	for (unsigned i = 0; i < 20; i++)
		order(&p, 'p');
	usleep(2000);
	read_all();
	fake.before_perf_open = fail_at;
	fake.arg = &f;
	assert_int_equal(capture_refresh(c), -EACCES);
	assert_int_equal(capture_refresh(c), 0);
	capture_get_stats(c, &stats);
	assert_int_equal(stats.plan, CAPTURE_TASK);
	order(&p, 'f');
	usleep(2000);
	read_all();
	puppet_end(&p);
}

static void a_session_without_descriptors_takes_few(void **state)
{
	struct capture_stats stats;
	struct puppet p = puppet_new();

	options.fd_budget = 16;
	if (!as_root) {
		pid_t pid = p.pid;

		order(&p, 't');
		options.fd_budget = 8;
		target.kind = TARGET_PIDS;
		target.pids = &pid;
		target.pid_count = 1;
		assert_int_equal(begin(), -EMFILE);
	} else {
		for (unsigned i = 0; i < 10; i++)
			order(&p, 't');
		begin_pid(p.pid);
		order_thread(&p);
		order(&p, 'p');
		stats = finish();
		assert_int_equal(stats.plan, CAPTURE_CPU);
		assert_true(stats.samples + stats.lost >= 2 * PAGES * 9 / 10);
	}
	puppet_end(&p);
}

static void rings_shrink_to_what_may_be_locked(void **state)
{
	static struct capture *held[100];
	struct rlimit none = {65536, 65536};
	struct capture_stats stats;
	int status;
	pid_t pid;

	if (!as_root)
		skip();
	pid = fork();
	if (pid > 0) {
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
		return;
	}
	/* The limit is for an ordinary user; events on oneself may be opened by all. */
	options.kernel = options.allow_cpu_wide = false;
	options.ring_bytes = 4 << 20;
	options.stack = STACK_DWARF;
	options.stack_bytes = 4096;
	target.kind = TARGET_PIDS;
	pid = getpid();
	target.pids = &pid;
	target.pid_count = 1;
	if (setrlimit(RLIMIT_MEMLOCK, &none) < 0 || setresuid(65534, 65534, 65534) < 0 ||
		begin() < 0)
		_exit(1);
	capture_get_stats(c, &stats);
	if (stats.ring_bytes >= 4 << 20 || stats.ring_bytes < RING_BYTES_MIN)
		_exit(2);
	/* Many sessions more: in the end not even the smallest fits. */
	for (unsigned i = 0; i < 100; i++) {
		unsigned open = fake_count_fds();
		int r;

		held[i] = c;
		r = begin();

		if (r == 0)
			continue;
		if (r != -EPERM || !strstr(message.data, "RLIMIT_MEMLOCK") ||
			!strstr(message.data, "perf_event_mlock_kb"))
			_exit(3);
		_exit(held[i] && fake_count_fds() == open ? 0 : 4);
	}
	_exit(5);
}

static void a_missing_counter_is_named(void **state)
{
	struct puppet p = puppet_new();
	pid_t pid = p.pid;
	int r;

	assert_int_equal(event_parse(fake_broker(), "cycles", &options.events[0]), 0);
	options.period = 1000000;
	target.kind = TARGET_PIDS;
	target.pids = &pid;
	target.pid_count = 1;
	r = begin();
	if (r < 0) {
		assert_true(r == -ENOENT || r == -EOPNOTSUPP || r == -ENODEV);
		assert_non_null(strstr(message.data, "cycles"));
	}
	puppet_end(&p);
}

static int lost_format_unknown(const struct perf_event_attr *attr, pid_t pid, int cpu, void *arg)
{
	return attr->read_format & PERF_FORMAT_LOST ? -EINVAL : 0;
}

static void kernels_that_cannot_count_losses(void **state)
{
	struct puppet p = puppet_new();

	fake.before_perf_open = lost_format_unknown;
	options.ring_bytes = 1 << 20;
	begin_pid(p.pid);
	order(&p, 'f');
	assert_true(finish().samples >= PAGES);
	puppet_end(&p);
}

static void a_full_ring_wakes_the_reader(void **state)
{
	struct epoll_event event = {0};
	AUTO(close_auto) int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	struct puppet p = puppet_new();

	options.ring_bytes = 65536;
	begin_pid(p.pid);
	assert_int_equal(capture_watch(c, epoll_fd, &p), 0);
	assert_int_equal(epoll_wait(epoll_fd, &event, 1, 0), 0);
	order(&p, 'f');
	assert_int_equal(epoll_wait(epoll_fd, &event, 1, 10000), 1);
	assert_ptr_equal(event.data.ptr, &p);
	/* No end of it is reported over and over once the process is gone. */
	puppet_end(&p);
	usleep(2000);
	read_all();
	while (epoll_wait(epoll_fd, &event, 1, 0) > 0)
		assert_int_equal(event.events & EPOLLHUP, 0);
	finish();
}

/* The record that says how many were lost has to fit beside the next one, or nothing ever does
 * again. */
static void a_ring_has_room_for_more_than_one_record(void **state)
{
	struct puppet p = puppet_new();
	struct capture_stats stats;

	options.ring_bytes = 65536;
	options.stack = STACK_DWARF;
	options.stack_bytes = 65528;
	begin_pid(p.pid);
	capture_get_stats(c, &stats);
	assert_int_equal(stats.ring_bytes, 131072);
	puppet_end(&p);
	finish();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(every_occurrence_is_accounted_for),
		TEST(so_is_it_in_cpu_wide_events),
		TEST(several_events_share_a_ring),
		TEST(captures_of_the_same_event_do_not_disturb_each_other),
		TEST(a_fixed_period_is_the_weight),
		TEST(clocks_are_weighed_in_nanoseconds),
		TEST(a_thread_born_while_events_are_opened_counts_once),
		TEST(the_end_of_the_process_is_seen),
		TEST(a_leader_that_ends_before_its_threads_is_not_the_end),
		TEST(a_process_that_is_gone_cannot_be_sampled),
		TEST(a_process_may_end_while_events_are_opened),
		TEST(whatever_fails_everything_is_closed_again),
		TEST(an_offline_cpu_is_passed_over),
		TEST(a_cpu_that_comes_back_is_sampled_again),
		TEST(cpus_come_and_go),
		TEST(a_new_cpu_gets_events_of_the_threads_there_are),
		TEST(later_processes_of_a_command_are_found),
		TEST(an_exec_ends_membership_of_a_command),
		TEST(a_change_keeps_what_was_born_before),
		TEST(weights_are_right_over_a_change),
		TEST(chains_come_beside_copies_and_go),
		TEST(a_change_that_fails_changes_nothing),
		TEST(many_births_bring_cpu_wide_events),
		TEST(without_leave_the_plan_stays),
		TEST(a_session_without_descriptors_takes_few),
		TEST(rings_shrink_to_what_may_be_locked),
		TEST(a_missing_counter_is_named),
		TEST(kernels_that_cannot_count_losses),
		TEST(a_full_ring_wakes_the_reader),
		TEST(a_ring_has_room_for_more_than_one_record),
	};
	struct event_spec event;
	int pidfd;

	if (event_parse(fake_broker(), "page-faults", &event) < 0 ||
		event_probe(fake_broker(), &event) < 0) {
		fprintf(stderr, "skipped: the kernel lets us open no event\n");
		return 77;
	}
	signal(SIGPIPE, SIG_IGN);
	as_root = geteuid() == 0;
	pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	has_pidfds = pidfd >= 0;
	close(pidfd);
	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
