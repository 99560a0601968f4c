#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "daemon/sample/members.h"
#include "tests/unit/fake_broker.h"
#include "tests/unit/fake_proc.h"

/* Later than the start of this machine by more than it will be up. */
#define LATE UINT64_C(1000000000000)
#define ANY  ((uid_t)-1)

static struct members *m;

static void start(enum members_rule rule, const char *name, uid_t uid)
{
	assert_int_equal(members_new(fake_broker(), rule, name, uid, true, &m), 0);
}

static int setup(void **state)
{
	fake_proc_begin();
	m = NULL;
	return 0;
}

static int teardown(void **state)
{
	members_free(m);
	fake_proc_end();
	return 0;
}

static bool fork_process(pid_t pid, pid_t ppid, pid_t ptid)
{
	struct sideband s = {
		.kind = SIDEBAND_FORK, .pid = pid, .tid = pid, .ppid = ppid, .ptid = ptid};

	return members_follow(m, &s);
}

static bool start_thread(pid_t pid, pid_t tid)
{
	struct sideband s = {
		.kind = SIDEBAND_FORK, .pid = pid, .tid = tid, .ppid = pid, .ptid = pid};

	return members_follow(m, &s);
}

static bool end_thread(pid_t pid, pid_t tid)
{
	struct sideband s = {.kind = SIDEBAND_EXIT, .pid = pid, .tid = tid, .ppid = 1, .ptid = 1};

	return members_follow(m, &s);
}

static bool take_name(enum sideband_kind kind, pid_t pid, pid_t tid, const char *name)
{
	struct sideband s = {.kind = kind, .pid = pid, .tid = tid, .text = name};

	return members_follow(m, &s);
}

static bool map_file(pid_t pid)
{
	struct sideband s = {.kind = SIDEBAND_MMAP, .pid = pid, .tid = pid, .text = "/x"};

	return members_follow(m, &s);
}

static void children_join_and_the_dead_leave(void **state)
{
	start(MEMBERS_TREE, NULL, ANY);
	assert_int_equal(members_add(m, 42, 100), 0);
	assert_true(members_has(m, 42));
	assert_false(members_has(m, 43));
	assert_true(fork_process(50, 42, 42));
	assert_true(fork_process(51, 50, 50));
	assert_false(fork_process(60, 59, 59));
	assert_true(members_has(m, 50) && members_has(m, 51));
	assert_false(members_has(m, 60));
	assert_true(map_file(51));
	assert_false(map_file(60));
	assert_true(end_thread(50, 50)); /* it was one, up to here */
	assert_false(members_has(m, 50));
	assert_true(members_has(m, 51));
}

static void a_process_lives_as_long_as_a_thread_of_it(void **state)
{
	start(MEMBERS_TREE, NULL, ANY);
	members_add(m, 42, 100);
	fork_process(50, 42, 42);
	assert_true(start_thread(50, 52));
	assert_true(start_thread(50, 53));
	end_thread(50, 50); /* the leader alone */
	assert_true(members_has(m, 50));
	end_thread(50, 52);
	assert_true(members_has(m, 50));
	end_thread(50, 53);
	assert_false(members_has(m, 50));
}

static void a_pid_that_comes_back_is_another_process(void **state)
{
	start(MEMBERS_TREE, NULL, ANY);
	members_add(m, 42, 100);
	end_thread(42, 42);
	fork_process(42, 7, 7);
	assert_false(members_has(m, 42));
	/* and back again, as a child of a member */
	members_add(m, 43, 100);
	fork_process(42, 43, 43);
	assert_true(members_has(m, 42));
}

static void those_that_were_there_before_are_looked_at_when_a_thread_ends(void **state)
{
	struct fake_process p = {.pid = 42, .comm = "x", .start_ticks = 100, .threads = 2};

	start(MEMBERS_TREE, NULL, ANY);
	fake_proc_put(&p);
	members_add(m, 42, 100);
	end_thread(42, 43);
	members_prune(m);
	assert_true(members_has(m, 42));
	end_thread(42, 42);
	p.state = 'Z'; /* the leader; a thread goes on */
	fake_proc_put(&p);
	members_prune(m);
	assert_true(members_has(m, 42));
	end_thread(42, 44);
	p.threads = 1;
	fake_proc_put(&p);
	members_prune(m);
	assert_false(members_has(m, 42));
	assert_int_equal(members_count(m), 0);
}

static void a_later_process_of_that_pid_is_not_taken_for_it(void **state)
{
	struct fake_process p = {.pid = 42, .comm = "x", .start_ticks = 101};

	start(MEMBERS_TREE, NULL, ANY);
	members_add(m, 42, 100);
	end_thread(42, 42);
	fake_proc_put(&p);
	members_prune(m);
	assert_false(members_has(m, 42));
}

static void a_name_is_joined_and_left(void **state)
{
	struct fake_process p = {.pid = 50, .comm = "wanted", .start_ticks = 100};

	start(MEMBERS_NAME, "wanted", ANY);
	fake_proc_put(&p);
	assert_false(take_name(SIDEBAND_EXEC, 50, 50, "other"));
	assert_true(take_name(SIDEBAND_COMM, 50, 50, "wanted"));
	assert_true(members_has(m, 50));
	assert_true(take_name(SIDEBAND_COMM, 50, 51, "a-thread"));
	assert_true(members_has(m, 50));                        /* only the leader's counts */
	assert_true(take_name(SIDEBAND_EXEC, 50, 50, "other")); /* it leaves */
	assert_false(members_has(m, 50));
	assert_true(take_name(SIDEBAND_EXEC, 50, 50, "wanted"));
	assert_true(members_has(m, 50));
	end_thread(50, 50); /* an exec leaves one thread, so this was the last */
	assert_false(members_has(m, 50));
}

static void a_long_name_counts_as_the_kernel_keeps_it(void **state)
{
	start(MEMBERS_NAME, "a-very-long-command-name", ANY);
	assert_true(take_name(SIDEBAND_EXEC, 50, 50, "a-very-long-com"));
	assert_false(take_name(SIDEBAND_EXEC, 51, 51, "a-very-long-co"));
	assert_true(members_has(m, 50));
}

static void a_child_has_the_name_of_the_thread_that_forked(void **state)
{
	struct fake_process p = {.pid = 60, .comm = "worker", .start_ticks = 100};

	start(MEMBERS_NAME, "wanted", ANY);
	take_name(SIDEBAND_EXEC, 50, 50, "wanted");
	assert_true(fork_process(51, 50, 50));
	assert_true(members_has(m, 51));
	fake_proc_put(&p);
	assert_true(fork_process(60, 50, 55)); /* about its parent */
	assert_false(members_has(m, 60));
	p.pid = 61;
	p.comm = "wanted";
	fake_proc_put(&p);
	fork_process(61, 50, 55);
	assert_true(members_has(m, 61));
	fork_process(62, 50, 55); /* gone by now: nobody knows */
	assert_false(members_has(m, 62));
}

static void of_one_user_alone(void **state)
{
	struct fake_process p = {.pid = 50, .comm = "x", .uid = 1000};

	start(MEMBERS_ALL, NULL, 1000);
	fake_proc_put(&p);
	p.pid = 51;
	p.uid = 0;
	fake_proc_put(&p);
	assert_true(members_has(m, 50));
	assert_false(members_has(m, 51));
	assert_false(members_has(m, 52)); /* gone: not shown */
	assert_false(members_has(m, 0));
	assert_false(members_has(m, -1));
	/* A child is its parent's user's, and no file is read for it. */
	assert_true(fork_process(60, 50, 50));
	assert_true(members_has(m, 60));
	fake.requests = 0;
	assert_true(members_has(m, 50));
	assert_int_equal(fake.requests, 0);
}

static void a_set_uid_program_is_looked_at_again(void **state)
{
	struct fake_process p = {.pid = 50, .comm = "x", .uid = 1000};

	start(MEMBERS_ALL, NULL, 1000);
	fake_proc_put(&p);
	assert_true(members_has(m, 50));
	p.uid = 0;
	fake_proc_put(&p);
	assert_true(take_name(SIDEBAND_EXEC, 50, 50, "su"));
	assert_false(members_has(m, 50));
}

static void the_table_does_not_grow_with_the_processes(void **state)
{
	struct fake_process p = {.pid = 10, .comm = "x", .uid = 1000};

	start(MEMBERS_ALL, NULL, 1000);
	fake_proc_put(&p);
	assert_true(members_has(m, 10));
	for (pid_t pid = 100; pid < 5100; pid++) {
		fork_process(pid, 10, 10);
		take_name(SIDEBAND_EXEC, pid, pid, "brief");
		members_has(m, pid);
		end_thread(pid, pid);
	}
	members_prune(m);
	assert_int_equal(members_count(m), 1);
	members_free(m);
	start(MEMBERS_TREE, NULL, ANY);
	members_add(m, 10, 0);
	for (pid_t pid = 100; pid < 5100; pid++) {
		fork_process(pid, 10, 10);
		take_name(SIDEBAND_EXEC, pid, pid, "brief");
		end_thread(pid, pid);
	}
	assert_int_equal(members_count(m), 1);
}

static void a_loss_is_made_good(void **state)
{
	struct fake_process p = {.pid = 42, .ppid = 1, .comm = "x", .start_ticks = 100};

	start(MEMBERS_TREE, NULL, ANY);
	members_add(m, 42, 100);
	fork_process(50, 42, 42);
	fork_process(51, 42, 42);
	/* Now 51 is gone and 60 there; another child is older than all this. */
	fake_proc_put(&p);
	p.ppid = 42;
	p.pid = 50;
	p.start_ticks = LATE;
	fake_proc_put(&p);
	p.pid = 60;
	fake_proc_put(&p);
	p.pid = 61;
	p.start_ticks = 1;
	fake_proc_put(&p);
	assert_int_equal(members_rescan(m), 0);
	assert_true(members_has(m, 42) && members_has(m, 50) && members_has(m, 60));
	assert_false(members_has(m, 51) || members_has(m, 61));
	/* Threads may have been born unseen: the end of one says nothing yet. */
	end_thread(50, 50);
	assert_true(members_has(m, 50));
	fake_proc_kill(50);
	members_prune(m);
	assert_false(members_has(m, 50));
}

static void a_loss_of_names_is_made_good(void **state)
{
	struct fake_process p = {.pid = 50, .comm = "other", .start_ticks = 100};

	start(MEMBERS_NAME, "wanted", ANY);
	take_name(SIDEBAND_EXEC, 50, 50, "wanted");
	fake_proc_put(&p);
	p.pid = 51;
	p.comm = "wanted";
	fake_proc_put(&p);
	assert_int_equal(members_rescan(m), 0);
	assert_false(members_has(m, 50));
	assert_true(members_has(m, 51));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(children_join_and_the_dead_leave),
		TEST(a_process_lives_as_long_as_a_thread_of_it),
		TEST(a_pid_that_comes_back_is_another_process),
		TEST(those_that_were_there_before_are_looked_at_when_a_thread_ends),
		TEST(a_later_process_of_that_pid_is_not_taken_for_it),
		TEST(a_name_is_joined_and_left),
		TEST(a_long_name_counts_as_the_kernel_keeps_it),
		TEST(a_child_has_the_name_of_the_thread_that_forked),
		TEST(of_one_user_alone),
		TEST(a_set_uid_program_is_looked_at_again),
		TEST(the_table_does_not_grow_with_the_processes),
		TEST(a_loss_is_made_good),
		TEST(a_loss_of_names_is_made_good),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
