/* Other programs, stopped where they trap: static ones, and those whose unwind tables are
 * elsewhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "daemon/symbol/space.h"
#include "daemon/unwind/unwind.h"
#include "tests/unit/fake_broker.h"
#include "tests/unit/make_table.h"

#define STACK_BYTES 65528
#define STEPS_MAX   100000

struct target {
	pid_t pid;
	uint64_t functions[4]; /* innermost first */
	uint64_t regs[SAMPLE_REGS];
	uint8_t stack[STACK_BYTES];
	struct sample sample;
	struct modules *modules;
	struct space *space;
};

static struct unwind_chain chain;

static void path_of(const char *name, char *path, size_t bytes)
{
	char own[4096];
	ssize_t len = readlink("/proc/self/exe", own, sizeof(own) - 1);
	char *slash;

	assert_true(len > 0);
	own[len] = '\0';
	slash = strrchr(own, '/');
	assert_non_null(slash);
	*slash = '\0';
	assert_true(snprintf(path, bytes, "%s/../targets/%s", own, name) < (int)bytes);
}

static void take_sample(struct target *t)
{
	struct user_regs_struct u;
	struct iovec into = {t->stack, sizeof(t->stack)}, from;
	ssize_t got;

	assert_int_equal(ptrace(PTRACE_GETREGS, t->pid, NULL, &u), 0);
	memcpy(t->regs,
		(uint64_t[SAMPLE_REGS]){u.rax, u.rbx, u.rcx, u.rdx, u.rsi, u.rdi, u.rbp, u.rsp,
			u.rip, u.r8, u.r9, u.r10, u.r11, u.r12, u.r13, u.r14, u.r15},
		sizeof(t->regs));
	/* Up to where the stack's mapping ends: a page at a time. */
	got = 0;
	while ((size_t)got < sizeof(t->stack)) {
		size_t step = 4096 - (u.rsp + (uint64_t)got) % 4096;

		if (step > sizeof(t->stack) - (size_t)got)
			step = sizeof(t->stack) - (size_t)got;
		into = (struct iovec){t->stack + got, step};
		from = (struct iovec){(void *)(u.rsp + (uint64_t)got), step};
		if (process_vm_readv(t->pid, &into, 1, &from, 1, 0) != (ssize_t)step)
			break;
		got += (ssize_t)step;
	}
	assert_true(got > 0);
	t->sample = (struct sample){.pid = t->pid,
		.tid = t->pid,
		.ip = u.rip,
		.abi = PERF_SAMPLE_REGS_ABI_64,
		.regs = t->regs,
		.stack = t->stack,
		.stack_bytes = (uint32_t)got,
		.stack_asked = STACK_BYTES};
}

static void start(struct target *t, const char *name)
{
	int out[2], status;
	char path[4200];

	memset(t, 0, sizeof(*t));
	path_of(name, path, sizeof(path));
	assert_int_equal(pipe(out), 0);
	t->pid = fork();
	if (t->pid == 0) {
		dup2(out[1], STDOUT_FILENO);
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
			execl(path, path, (char *)NULL);
		_exit(126);
	}
	assert_true(t->pid > 0);
	close(out[1]);
	assert_int_equal(waitpid(t->pid, &status, 0), t->pid);
	assert_true(WIFSTOPPED(status)); /* after its exec */
	assert_int_equal(ptrace(PTRACE_CONT, t->pid, NULL, NULL), 0);
	assert_int_equal(waitpid(t->pid, &status, 0), t->pid);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(WSTOPSIG(status), SIGTRAP);
	assert_int_equal(
		read(out[0], t->functions, sizeof(t->functions)), (ssize_t)sizeof(t->functions));
	close(out[0]);
	take_sample(t);
	assert_int_equal(modules_new(fake_broker(), 50, &t->modules), 0);
	assert_int_equal(space_new(t->modules, t->pid, &t->space), 0);
	assert_int_equal(space_read(t->space, 0), 0);
}

static bool agree(const struct unwind_chain *a, const struct unwind_chain *b)
{
	return a->count == b->count && a->end == b->end &&
		memcmp(a->addrs, b->addrs, a->count * sizeof(a->addrs[0])) == 0 &&
		memcmp(a->sps, b->sps, a->count * sizeof(a->sps[0])) == 0;
}

static void stop(struct target *t)
{
	int status;

	kill(t->pid, SIGKILL);
	waitpid(t->pid, &status, 0);
	space_free(t->space);
	modules_free(t->modules);
}

/* leaf, middle, outer, main, and on to the outermost frame. */
static void check(const char *name, const char *engine)
{
	static struct target t;
	struct unwinder *u;

	start(&t, name);
	assert_int_equal(unwinder_new(engine, &u), 0);
	unwinder_ask_tables(u, make_table, NULL);
	unwinder_run(u, t.space, &t.sample, 100, &chain);
	unwinder_run(u, t.space, &t.sample, 100,
		&chain); /* by compiled rules, where those are asked for */
	if (chain.end != UNWIND_ROOT)
		for (unsigned i = 0; i < chain.count; i++)
			fprintf(stderr, "%s %s: %llx\n", name, engine,
				(unsigned long long)chain.addrs[i]);
	assert_int_equal(chain.end, UNWIND_ROOT);
	assert_in_range(chain.count, 5, 10);
	for (unsigned i = 0; i < 4; i++)
		assert_in_range(chain.addrs[i], t.functions[i], t.functions[i] + 250);
	unwinder_forget(u, t.space);
	unwinder_free(u);
	stop(&t);
}

static void a_dynamic_program(void **state)
{
	(void)state;
	check("stop_in_leaf", "libunwind");
	check("stop_in_leaf", "table");
	check("stop_in_leaf", "libdw");
}

/* The personality routine of an entry is found by a pointer among the written data. */
static void functions_with_cleanups(void **state)
{
	(void)state;
	check("stop_in_leaf_cleanup", "libunwind");
	check("stop_in_leaf_cleanup", "table");
	check("stop_in_leaf_cleanup", "libdw");
}

/* Has .eh_frame, but no search table over it. */
static void a_static_program(void **state)
{
	(void)state;
	check("stop_in_leaf_static", "libunwind");
	check("stop_in_leaf_static", "table");
	check("stop_in_leaf_static", "libdw");
}

static void a_static_program_at_any_address(void **state)
{
	(void)state;
	check("stop_in_leaf_static_pie", "libunwind");
	check("stop_in_leaf_static_pie", "table");
	check("stop_in_leaf_static_pie", "libdw");
}

/* .eh_frame covers the start-up code alone. */
static void tables_in_debug_frame_alone(void **state)
{
	(void)state;
	check("stop_in_leaf_debug_frame", "libunwind");
	check("stop_in_leaf_debug_frame", "table");
}

/* No table covers them, but each sets its frame pointer up. */
static void frame_pointers_alone(void **state)
{
	(void)state;
	check("stop_in_leaf_fp", "libunwind");
	check("stop_in_leaf_fp", "table");
	check("stop_in_leaf_fp", "libdw");
}

/* From the innermost function on to the end of the program, an instruction at a time: returns, the
 * run-time linker, clean-up at exit. What compiled rules give is what libunwind gives, whatever
 * that is. */
static void at_each_further_instruction(void **state)
{
	static const char *const names[] = {"stop_in_leaf", "stop_in_leaf_static",
		"stop_in_leaf_debug_frame", "stop_in_leaf_cleanup", "stop_in_leaf_fp"};
	static struct unwind_chain by_table;
	static struct target t;
	int status;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct unwinder *table, *libunwind;
		unsigned steps = 0, whole = 0;

		start(&t, names[i]);
		assert_int_equal(unwinder_new("table", &table), 0);
		assert_int_equal(unwinder_new("libunwind", &libunwind), 0);
		unwinder_ask_tables(table, make_table, NULL);
		while (steps < STEPS_MAX) {
			unwinder_run(libunwind, t.space, &t.sample, 100, &chain);
			unwinder_run(table, t.space, &t.sample, 100, &by_table);
			if (!agree(&chain, &by_table))
				fail_msg("%s, step %u at %llx: %u frames, %s; by rules %u, %s",
					names[i], steps, (unsigned long long)t.sample.ip,
					chain.count, unwind_end_name(chain.end), by_table.count,
					unwind_end_name(by_table.end));
			whole += chain.end == UNWIND_ROOT;
			steps++;
			assert_int_equal(ptrace(PTRACE_SINGLESTEP, t.pid, NULL, NULL), 0);
			assert_int_equal(waitpid(t.pid, &status, 0), t.pid);
			if (!WIFSTOPPED(status))
				break;
			take_sample(&t);
		}
		print_message("%s: %u steps, %u whole\n", names[i], steps, whole);
		assert_true(steps > 200 && whole > steps / 2);
		unwinder_forget(table, t.space);
		unwinder_forget(libunwind, t.space);
		unwinder_free(table);
		unwinder_free(libunwind);
		stop(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_dynamic_program),
		cmocka_unit_test(functions_with_cleanups),
		cmocka_unit_test(a_static_program),
		cmocka_unit_test(a_static_program_at_any_address),
		cmocka_unit_test(tables_in_debug_frame_alone),
		cmocka_unit_test(frame_pointers_alone),
		cmocka_unit_test(at_each_further_instruction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
