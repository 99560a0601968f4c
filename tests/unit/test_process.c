/* The process table of a session, fed with records; /proc and modules are fakes linked in their
 * place. */
#include "daemon/run/process.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon/proc/cgroup.h"

/* ---- fakes of the stages below ---- */

struct space {
	pid_t pid;
	unsigned maps, reads;
};
static int spaces_alive;
static unsigned maps_there;
static struct procinfo proc_answer;
static int proc_error;

int space_new(struct modules *ms, pid_t pid, struct space **ret)
{
	*ret = calloc(1, sizeof(**ret));
	(*ret)->pid = pid;
	spaces_alive++;
	return 0;
}

void space_free(struct space *s)
{
	if (s)
		spaces_alive--;
	free(s);
}

int space_read(struct space *s, pid_t tid)
{
	s->reads++;
	s->maps += maps_there;
	return proc_error;
}

struct range *space_range(struct space *s, unsigned index)
{
	static char some;

	return index < s->maps ? (struct range *)&some : NULL;
}

int space_map(struct space *s, uint64_t start, uint64_t end, uint64_t pgoff, dev_t dev,
	uint64_t inode, const char *path)
{
	s->maps++;
	return 0;
}

void space_clear(struct space *s)
{
	s->maps = 0;
}

size_t space_bytes(const struct space *s)
{
	return (size_t)s->maps << 20;
}

int space_clone(const struct space *from, pid_t pid, struct space **ret)
{
	space_new(NULL, pid, ret);
	(*ret)->maps = from->maps;
	return 0;
}

void unwinder_forget(struct unwinder *u, struct space *s)
{
}

int procinfo_read(struct broker *b, pid_t pid, struct procinfo *ret)
{
	*ret = proc_answer;
	return proc_error;
}

int cgroup_of(struct broker *b, pid_t pid, char *ret_path, size_t path_bytes)
{
	snprintf(ret_path, path_bytes, "%s", "/asked.slice");
	return proc_error;
}

int broker_open_proc(struct broker *b, pid_t pid, pid_t tid, enum broker_proc what, int *ret_fd)
{
	if (proc_error < 0)
		return proc_error;
	*ret_fd = memfd_create("cmdline", MFD_CLOEXEC);
	return pwrite(*ret_fd, "asked\0-x", 8, 0) == 8 ? 0 : -EIO;
}

int procinfo_read_stat(struct broker *b, pid_t pid, struct procinfo *ret)
{
	return procinfo_read(b, pid, ret);
}

/* ---- */

static struct processes *table;

static int set_up(void **state)
{
	memset(&proc_answer, 0, sizeof(proc_answer));
	strcpy(proc_answer.comm, "asked");
	proc_answer.start_ticks = 77;
	proc_answer.uid = 1000;
	proc_answer.threads = 1;
	proc_error = 0;
	return processes_new(NULL, NULL, NULL, &table);
}

static int set_up_recorded(void **state)
{
	return set_up(state) || (processes_free(table), table = NULL, 0) ||
		processes_new_recorded(NULL, NULL, &table);
}

static int tear_down(void **state)
{
	processes_free(table);
	table = NULL;
	return spaces_alive != 0;
}

static void send(enum sideband_kind kind, pid_t pid, pid_t tid, pid_t ppid, const char *text)
{
	struct sideband s = {
		.kind = kind, .pid = pid, .tid = tid, .ppid = ppid, .ptid = ppid, .text = text};

	processes_sideband(table, &s);
}

static void unknown_process_is_read_from_proc(void **state)
{
	struct session_process *p = processes_get(table, 10, 10);

	assert_string_equal(p->comm, "asked");
	assert_int_equal(p->start_ticks, 77);
	assert_int_equal(p->uid, 1000);
	assert_int_equal(p->space->reads, 1);
	assert_ptr_equal(processes_get(table, 10, 11), p);
}

static void command_and_cgroup_go_with_the_image(void **state)
{
	struct session_process *p = processes_get(table, 10, 10);

	assert_string_equal(p->command, "asked -x");
	assert_string_equal(p->cgroup, "/asked.slice");
	assert_true(p->origin_new);
	/* A child is what its parent is, until it runs something else. */
	proc_error = -ESRCH;
	send(SIDEBAND_FORK, 20, 20, 10, NULL);
	p = processes_find(table, 20);
	assert_string_equal(p->command, "asked -x");
	send(SIDEBAND_EXEC, 20, 20, 0, "other");
	p = processes_get(table, 20, 20);
	processes_identify(table, p);
	assert_null(p->command);
	assert_string_equal(p->cgroup, "/asked.slice");
	proc_error = 0;
	processes_hide_arguments(table);
	p = processes_get(table, 30, 30);
	assert_string_equal(p->command, "asked");
}

static void process_that_is_gone_has_an_empty_space(void **state)
{
	struct session_process *p;

	proc_error = -ESRCH;
	p = processes_get(table, 10, 10);
	assert_non_null(p);
	assert_int_equal(p->start_ticks, 0);
	assert_int_equal(p->uid, (uid_t)-1);
}

static void process_that_is_expected_is_read_at_once(void **state)
{
	struct session_process *p;

	maps_there = 3;
	processes_expect(table, 10);
	maps_there = 0;
	p = processes_find(table, 10);
	assert_non_null(p);
	assert_int_equal(p->space->reads, 1);
	assert_ptr_equal(processes_get(table, 10, 11), p); /* though it may be gone by now */
	assert_int_equal(p->space->reads, 1);
	/* One whose leader has exited is read by a thread of it, when that is known. */
	processes_expect(table, 12);
	assert_null(processes_find(table, 12));
}

static void forked_child_has_the_parents_mappings(void **state)
{
	struct session_process *parent = processes_get(table, 10, 10), *child;

	send(SIDEBAND_MMAP, 10, 10, 0, "/lib/x.so");
	assert_int_equal(parent->space->maps, 1);
	send(SIDEBAND_FORK, 20, 20, 10, "");
	child = processes_find(table, 20);
	assert_non_null(child);
	assert_int_equal(child->space->maps, 1);
	assert_string_equal(child->comm, "asked");
	assert_int_equal(child->space->reads, 0);
}

static void exec_starts_with_an_empty_space(void **state)
{
	struct session_process *p = processes_get(table, 10, 10);

	send(SIDEBAND_MMAP, 10, 10, 0, "/bin/old");
	send(SIDEBAND_EXEC, 10, 10, 0, "new");
	assert_int_equal(p->space->maps, 0);
	assert_string_equal(p->comm, "new");
	assert_false(p->asked);
}

static void exec_of_an_unknown_process_needs_no_proc(void **state)
{
	send(SIDEBAND_EXEC, 30, 30, 0, "brief");
	send(SIDEBAND_MMAP, 30, 30, 0, "/bin/brief");
	assert_int_equal(processes_find(table, 30)->space->reads, 0);
	assert_int_equal(processes_find(table, 30)->space->maps, 1);
}

static void exit_of_the_last_thread_forgets_the_process(void **state)
{
	processes_get(table, 10, 10);
	send(SIDEBAND_FORK, 10, 11, 10, "");
	send(SIDEBAND_EXIT, 10, 10, 1, "");
	assert_non_null(processes_find(table, 10)); /* a worker goes on */
	assert_true(processes_find(table, 10)->leader_exited);
	send(SIDEBAND_EXIT, 10, 11, 1, "");
	assert_null(processes_find(table, 10));
}

static void sweep_forgets_what_records_did_not_tell(void **state)
{
	processes_get(table, 10, 10)->threads = 5;
	processes_get(table, 12, 12);
	send(SIDEBAND_EXIT, 10, 10, 1, "");
	proc_error = -ESRCH;
	processes_sweep(table);
	assert_null(processes_find(table, 10));
	assert_non_null(processes_find(table, 12)); /* its leader has not exited */
}

static void reused_pid_is_another_process(void **state)
{
	processes_get(table, 10, 10);
	send(SIDEBAND_MMAP, 10, 10, 0, "/bin/first");
	send(SIDEBAND_FORK, 10, 10, 99, "");
	assert_int_equal(processes_find(table, 10)->space->maps, 0);
	assert_int_equal(processes_find(table, 10)->tree_index, -1);
}

static void comm_of_a_thread_is_not_the_process(void **state)
{
	processes_get(table, 10, 10);
	send(SIDEBAND_COMM, 10, 11, 0, "worker");
	assert_string_equal(processes_find(table, 10)->comm, "asked");
	send(SIDEBAND_COMM, 10, 10, 0, "renamed");
	assert_string_equal(processes_find(table, 10)->comm, "renamed");
}

static void process_outside_our_namespace_is_one_entry(void **state)
{
	struct session_process *p = processes_get(table, 0, 0);

	assert_string_equal(p->comm, "[other pid namespace]");
	assert_int_equal(p->space->reads, 0);
	assert_string_equal(processes_get(table, -1, -1)->comm, "[exited]");
}

static void forty_thousand_short_processes_leave_nothing(void **state)
{
	processes_get(table, 10, 10);
	for (pid_t pid = 100; pid < 40100; pid++) {
		send(SIDEBAND_FORK, pid, pid, 10, "");
		send(SIDEBAND_EXEC, pid, pid, 0, "brief");
		send(SIDEBAND_EXIT, pid, pid, 10, "");
	}
	assert_int_equal(processes_count(table), 1);
	assert_int_equal(spaces_alive, 1);
}

#define RECORDED(name) cmocka_unit_test_setup_teardown(name, set_up_recorded, tear_down)
#define TEST(name)     cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static void a_recording_tells_all_there_is(void **state)
{
	struct session_process *p;

	send(SIDEBAND_COMM, 10, 10, 0, "app");
	send(SIDEBAND_MMAP, 10, 10, 0, "/bin/app");
	send(SIDEBAND_FORK, 10, 11, 10, NULL);
	send(SIDEBAND_COMM, 10, 12, 0, "worker");
	p = processes_get(table, 10, 10);
	assert_string_equal(p->comm, "app");
	assert_int_equal(p->space->reads, 0); /* a living process of that number is another one */
	assert_int_equal(p->space->maps, 1);
	assert_true(p->start_ticks >= UINT64_C(1) << 41); /* nor has that one such a start */
	processes_identify(table, p);
	assert_int_equal(p->uid, (uid_t)-1);
	assert_string_equal(processes_thread_comm(table, 11), "app");
	assert_string_equal(processes_thread_comm(table, 12), "worker");
	assert_null(processes_thread_comm(table, 13));
	assert_string_equal(processes_get(table, 20, 20)->comm, ":20");
	assert_string_equal(processes_get(table, 0, 0)->comm, "swapper");
}

static void a_recorded_process_outlives_its_end(void **state)
{
	struct session_process *p;
	uint64_t first;

	send(SIDEBAND_COMM, 10, 10, 0, "app");
	send(SIDEBAND_MMAP, 10, 10, 0, "/bin/app");
	send(SIDEBAND_EXIT, 10, 10, 1, NULL);
	p = processes_find(table, 10);
	assert_non_null(p);
	assert_int_equal(p->space->maps, 1);
	first = p->start_ticks;
	send(SIDEBAND_FORK, 10, 10, 1, NULL); /* another one of that number */
	p = processes_find(table, 10);
	assert_int_equal(p->space->maps, 0);
	assert_int_not_equal(p->start_ticks, first);
}

static void a_recorded_storm_of_forks_has_a_limit(void **state)
{
	size_t most = RECORDED_FORKED_MAX >> 20;

	send(SIDEBAND_COMM, 1, 1, 0, "parent");
	send(SIDEBAND_MMAP, 1, 1, 0, "/bin/app");
	for (pid_t pid = 2; pid < 6002; pid++)
		send(SIDEBAND_FORK, pid, pid, 1, NULL);
	assert_int_equal(processes_find(table, 2)->space->maps, 1);
	assert_int_equal(processes_find(table, 6001)->space->maps, 0);
	assert_true(processes_left_out(table) >= 6000 - most);
	assert_true(processes_left_out(table) < 6000 - most + 8);
}

static void recorded_forks_that_end_make_room(void **state)
{
	send(SIDEBAND_COMM, 1, 1, 0, "parent");
	send(SIDEBAND_MMAP, 1, 1, 0, "/bin/app");
	for (pid_t pid = 2; pid < 20002; pid++) {
		send(SIDEBAND_FORK, pid, pid, 1, NULL);
		send(SIDEBAND_EXIT, pid, pid, 1, NULL);
	}
	/* Room is made each few thousand processes. */
	assert_true(processes_count(table) < 10000);
	assert_true(processes_left_out(table) < 19000);
	assert_non_null(processes_find(table, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(unknown_process_is_read_from_proc),
		TEST(command_and_cgroup_go_with_the_image),
		TEST(process_that_is_gone_has_an_empty_space),
		TEST(process_that_is_expected_is_read_at_once),
		TEST(forked_child_has_the_parents_mappings),
		TEST(exec_starts_with_an_empty_space),
		TEST(exec_of_an_unknown_process_needs_no_proc),
		TEST(exit_of_the_last_thread_forgets_the_process),
		TEST(sweep_forgets_what_records_did_not_tell),
		TEST(reused_pid_is_another_process),
		TEST(comm_of_a_thread_is_not_the_process),
		TEST(process_outside_our_namespace_is_one_entry),
		TEST(forty_thousand_short_processes_leave_nothing),
		RECORDED(a_recording_tells_all_there_is),
		RECORDED(a_recorded_process_outlives_its_end),
		RECORDED(a_recorded_storm_of_forks_has_a_limit),
		RECORDED(recorded_forks_that_end_make_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
