#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#include "daemon/symbol/space.h"
#include "daemon/unwind/unwind.h"
#include "tests/unit/fake_broker.h"
#include "tests/unit/make_table.h"
#include "tests/unit/trap_sample.h"

#define NI __attribute__((noinline, noclone))

/* Those before LIBDW agree in all. */
enum { LIBUNWIND, TABLE, LIBDW, ENGINES };
static const char *const engines[ENGINES] = {"libunwind", "table", "libdw"};

struct fixture {
	struct modules *modules;
	struct space *space;
	struct unwinder *unwinders[ENGINES];
};

static volatile unsigned long sink;
static struct trap_sample traps[4000];
static struct unwind_chain chain;

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	if (!f || modules_new(fake_broker(), 100, &f->modules) < 0 ||
		space_new(f->modules, getpid(), &f->space) < 0 || space_read(f->space, 0) < 0)
		return -1;
	for (int i = 0; i < ENGINES; i++)
		if (unwinder_new(engines[i], &f->unwinders[i]) < 0)
			return -1;
	unwinder_ask_tables(f->unwinders[TABLE], make_table, NULL);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < ENGINES; i++) {
		unwinder_forget(f->unwinders[i], f->space);
		unwinder_free(f->unwinders[i]);
	}
	space_free(f->space);
	modules_free(f->modules);
	free(f);
	return 0;
}

static void print_chain(const char *who, const struct trap_sample *t)
{
	fprintf(stderr, "%s: %u frames, %s\n", who, chain.count, unwind_end_name(chain.end));
	for (unsigned i = 0; i < chain.count || i < t->expected_count; i++)
		fprintf(stderr, "  %2u %12llx how %u  expected %12llx\n", i,
			(unsigned long long)(i < chain.count ? chain.addrs[i] : 0), chain.how[i],
			(unsigned long long)(i < t->expected_count ? t->expected[i] : 0));
}

/* True when the chain is the compiler's unwinder's, to the outermost frame. That one takes the
 * trampoline of a signal for a caller as others are: one byte less. */
static bool is_expected(const struct trap_sample *t, unsigned signals)
{
	unsigned off_by_one = 0;

	if (chain.end != UNWIND_ROOT || chain.count != t->expected_count)
		return false;
	for (unsigned i = 0; i < chain.count; i++) {
		if (chain.addrs[i] == t->expected[i])
			continue;
		if (chain.addrs[i] != t->expected[i] + 1)
			return false;
		off_by_one++;
	}
	return off_by_one == signals;
}

static void check_but(struct fixture *f, const struct trap_sample *t, unsigned signals,
	unsigned min_frames, int without)
{
	assert_true(t->expected_count >= min_frames);
	/* Twice: the first time the rules of some modules are yet to be compiled. */
	for (int j = 0; j < 2 * ENGINES; j++) {
		int i = j % ENGINES;

		if (i == without)
			continue;
		unwinder_run(f->unwinders[i], f->space, &t->sample, UNWIND_FRAMES_MAX, &chain);
		if (!is_expected(t, signals)) {
			print_chain(engines[i], t);
			fail_msg("%s differs", engines[i]);
		}
	}
}

static void check(
	struct fixture *f, const struct trap_sample *t, unsigned signals, unsigned min_frames)
{
	check_but(f, t, signals, min_frames, -1);
}

static NI void leaf(void)
{
	trap_here();
	sink++;
}

static NI int middle(int n)
{
	int r = 1;

	if (n > 0)
		r += middle(n - 1);
	else
		leaf();
	sink += (unsigned long)r;
	return r;
}

static NI void outer(int n)
{
	sink += (unsigned long)middle(n);
}

static void plain_calls_and_recursion(void **state)
{
	trap_begin(traps, 4, TRAP_STACK_BYTES);
	outer(0);
	outer(20);
	assert_int_equal(trap_end(), 2);
	check(*state, &traps[0], 0, 6);
	check(*state, &traps[1], 0, 26);
}

static void on_usr1(int sig)
{
	(void)sig;
	leaf();
	sink++;
}

static NI void raiser(void)
{
	raise(SIGUSR1);
	sink++;
}

static void handle_usr1(int flags)
{
	struct sigaction action = {0};

	action.sa_handler = on_usr1;
	action.sa_flags = flags;
	sigaction(SIGUSR1, &action, NULL);
}

static void through_a_signal_handler(void **state)
{
	trap_begin(traps, 4, TRAP_STACK_BYTES);
	handle_usr1(0);
	raiser();
	assert_int_equal(trap_end(), 1);
	check(*state, &traps[0], 1, 8);
}

/* The handler's stack alone was copied: the frames below it are on another. */
static void a_handler_on_its_own_stack(void **state)
{
	struct fixture *f = *state;
	static struct {
		char stack[65536], more[TRAP_STACK_BYTES];
	} memory;
	stack_t alt = {.ss_sp = memory.stack, .ss_size = sizeof(memory.stack)};
	stack_t none = {.ss_flags = SS_DISABLE};

	trap_begin(traps, 4, TRAP_STACK_BYTES);
	handle_usr1(SA_ONSTACK);
	assert_int_equal(sigaltstack(&alt, NULL), 0);
	raiser();
	assert_int_equal(sigaltstack(&none, NULL), 0);
	assert_int_equal(trap_end(), 1);
	for (int i = 0; i < ENGINES; i++) {
		unwinder_run(f->unwinders[i], f->space, &traps[0].sample, 100, &chain);
		/* leaf, on_usr1, the trampoline, and what it interrupted, whose registers are on
		 * the handler's stack */
		assert_true(chain.count >= 4);
		for (unsigned j = 0; j < chain.count; j++)
			assert_in_range(chain.addrs[j], traps[0].expected[j],
				traps[0].expected[j] + (j == 2));
		if (i != LIBDW)
			assert_int_equal(chain.end, UNWIND_STACK_CUT);
	}
}

void before_first(void);
void trap_first(void);
__asm__(".text\n"
	".type before_first, @function\n"
	"before_first:\n"
	".cfi_startproc\n"
	"	sub $72, %rsp\n"
	"	.cfi_adjust_cfa_offset 72\n"
	"	hlt\n"
	".cfi_endproc\n"
	".size before_first, . - before_first\n"
	".type trap_first, @function\n"
	"trap_first:\n"
	".cfi_startproc\n"
	"	ud2\n"
	"	ret\n"
	".cfi_endproc\n"
	".size trap_first, . - trap_first\n");

static void interrupted_at_a_first_instruction(void **state)
{
	trap_begin(traps, 4, TRAP_STACK_BYTES);
	trap_first();
	assert_int_equal(trap_end(), 1);
	assert_int_equal(traps[0].regs[8], (uintptr_t)trap_first);
	check(*state, &traps[0], 0, 5);
}

void wild_rbp(void);
void rule_of_the_cie(void);
__asm__(".text\n"
	".type rule_of_the_cie, @function\n"
	"rule_of_the_cie:\n"
	".cfi_startproc\n"
	"	int3\n"
	"	ret\n"
	".cfi_endproc\n"
	".size rule_of_the_cie, . - rule_of_the_cie\n"
	".type wild_rbp, @function\n"
	"wild_rbp:\n"
	".cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset %rbp, -16\n"
	"	mov $0x4141414141414141, %rbp\n"
	"	call rule_of_the_cie\n"
	"	pop %rbp\n"
	"	.cfi_restore %rbp\n"
	"	.cfi_def_cfa_offset 8\n"
	"	ret\n"
	".cfi_endproc\n"
	".size wild_rbp, . - wild_rbp\n");

static void rules_of_the_cie_alone(void **state)
{
	trap_begin(traps, 4, TRAP_STACK_BYTES);
	wild_rbp();
	assert_int_equal(trap_end(), 1);
	check(*state, &traps[0], 0, 5);
}

static jmp_buf back;

static NI __attribute__((noreturn)) void never_returns(void)
{
	leaf();
	longjmp(back, 1);
}

void calls_last(void);
void comes_next(void);
void call_it(void);
void call_it(void)
{
	never_returns();
}
__asm__(".text\n"
	".type calls_last, @function\n"
	"calls_last:\n"
	".cfi_startproc\n"
	"	sub $24, %rsp\n"
	"	.cfi_def_cfa_offset 32\n"
	"	call call_it\n"
	".cfi_endproc\n"
	".size calls_last, . - calls_last\n"
	".type comes_next, @function\n"
	"comes_next:\n"
	".cfi_startproc\n"
	"	ud2\n"
	"	ret\n"
	".cfi_endproc\n"
	".size comes_next, . - comes_next\n");

/* The return address is the first of the next function, which is sampled too: both orders. */
static void a_call_at_the_end_of_a_function(void **state)
{
	trap_begin(traps, 4, TRAP_STACK_BYTES);
	if (setjmp(back) == 0)
		calls_last();
	comes_next();
	if (setjmp(back) == 0)
		calls_last();
	assert_int_equal(trap_end(), 3);
	for (int i = 0; i < 3; i++)
		check(*state, &traps[i], 0, 5);
	assert_int_equal(traps[1].regs[8], (uintptr_t)comes_next);
	assert_int_equal(traps[0].expected[2], traps[2].expected[2]);
}

static NI void realigned(int n)
{
	char aligned[64] __attribute__((aligned(64)));
	char *more = __builtin_alloca((size_t)n);

	aligned[0] = more[0] = 1;
	leaf();
	sink += (unsigned long)(aligned[0] + more[0]);
	__asm__ volatile("" ::"r"(aligned), "r"(more) : "memory");
}

static void a_realigned_stack_with_alloca(void **state)
{
	trap_begin(traps, 8, TRAP_STACK_BYTES);
	for (int i = 0; i < 3; i++)
		realigned(16 + i * 100);
	assert_int_equal(trap_end(), 3);
	for (int i = 0; i < 3; i++)
		check(*state, &traps[i], 0, 5);
}

/* As the run-time linker's trampoline and OpenSSL's ciphers do: a stack that is realigned by hand,
 * its place kept in rbx, or in a slot of its own. */
__asm__(".text\n"
	"keeps_it_in_rbx:\n.cfi_startproc\n"
	"push %rbx\n.cfi_def_cfa_offset 16\n.cfi_offset %rbx,-16\n"
	"mov %rsp,%rbx\n.cfi_def_cfa_register %rbx\n"
	"and $-64,%rsp\nsub $192,%rsp\ncall *%rdi\n"
	"mov %rbx,%rsp\n.cfi_def_cfa_register %rsp\n"
	"pop %rbx\n.cfi_def_cfa_offset 8\n.cfi_restore %rbx\nret\n.cfi_endproc\n"
	"keeps_it_in_a_slot:\n.cfi_startproc\n"
	"mov %rsp,%rax\n.cfi_def_cfa_register %rax\n"
	"push %rbx\n.cfi_offset %rbx,-16\npush %rbp\n.cfi_offset %rbp,-24\n"
	"sub $256,%rsp\nand $-64,%rsp\nmov %rax,152(%rsp)\n"
	/* the word at rsp + 152, + 8 */
	".cfi_escape 0x0f,6,0x77,0x98,0x01,0x06,0x23,8\n"
	"xor %ebx,%ebx\nxor %ebp,%ebp\ncall *%rdi\n"
	"mov 152(%rsp),%rsi\n.cfi_def_cfa %rsi,8\n"
	"mov -16(%rsi),%rbp\n.cfi_restore %rbp\nmov -8(%rsi),%rbx\n.cfi_restore %rbx\n"
	"mov %rsi,%rsp\n.cfi_def_cfa_register %rsp\nret\n.cfi_endproc\n");
void keeps_it_in_rbx(void (*fn)(void));
void keeps_it_in_a_slot(void (*fn)(void));

static NI void uses_both(void)
{
	keeps_it_in_rbx(leaf);
	keeps_it_in_a_slot(leaf);
	sink++;
}

static void stacks_realigned_by_hand(void **state)
{
	struct fixture *f = *state;
	struct unwinder_stats before, after;

	trap_begin(traps, 8, TRAP_STACK_BYTES);
	uses_both();
	keeps_it_in_rbx(uses_both);
	keeps_it_in_a_slot(uses_both);
	assert_int_equal(trap_end(), 6);
	/* libdw does not know that callees keep rbx. */
	for (int i = 0; i < 6; i++)
		check_but(f, &traps[i], 0, 5, LIBDW);
	/* By compiled rules alone. */
	unwinder_get_stats(f->unwinders[TABLE], &before);
	for (int i = 0; i < 6; i++)
		unwinder_run(f->unwinders[TABLE], f->space, &traps[i].sample, 100, &chain);
	unwinder_get_stats(f->unwinders[TABLE], &after);
	assert_int_equal(after.stacks, before.stacks + 6);
	assert_int_equal(after.asked_stacks, before.asked_stacks);
	assert_int_equal(after.asked_frames, before.asked_frames);
}

static NI long steps_into_a_library(void)
{
	long x;

	trap_steps_on();
	x = a64l("zz"); /* called here alone: the first call goes through the stub and the linker */
	x += a64l("zy");
	trap_steps_off();
	return x;
}

/* Prologues, epilogues, stubs, the run-time linker: right at each single instruction. */
static void at_every_instruction(void **state)
{
	struct fixture *f = *state;
	size_t count, whole_by_libdw = 0;

	trap_begin(traps, sizeof(traps) / sizeof(traps[0]), TRAP_STACK_BYTES);
	assert_int_not_equal(steps_into_a_library(), 0);
	count = trap_end();
	assert_true(count > 30);
	for (size_t i = 0; i < count; i++) {
		for (int j = 0; j < LIBDW; j++) {
			unwinder_run(f->unwinders[j], f->space, &traps[i].sample, 1000, &chain);
			if (!is_expected(&traps[i], 0))
				print_chain(engines[j], &traps[i]);
			assert_true(is_expected(&traps[i], 0));
		}
		/* libdw does not know the linker's trampoline, whose CFA is in rbx, but it says so.
		 */
		unwinder_run(f->unwinders[LIBDW], f->space, &traps[i].sample, 1000, &chain);
		for (unsigned j = 0; j < chain.count; j++)
			assert_int_equal(chain.addrs[j], traps[i].expected[j]);
		if (chain.count < traps[i].expected_count)
			assert_int_equal(chain.end, UNWIND_ERROR);
		else
			whole_by_libdw++;
	}
	assert_true(whole_by_libdw > 20);
}

static void make_own_table(void *arg, struct module *m)
{
	if (!strstr(m->path, ".so"))
		make_table(arg, m);
}

static void make_other_tables(void *arg, struct module *m)
{
	if (strstr(m->path, ".so"))
		make_table(arg, m);
}

/* Some files have no table of rules: those that a stack needs are compiled by themselves, say the
 * same, and leave libunwind as little to do. */
static void check_with_some(
	struct fixture *f, size_t count, void (*want)(void *arg, struct module *m))
{
	struct unwinder_stats stats;
	struct unwinder *u;

	assert_int_equal(unwinder_new("table", &u), 0);
	unwinder_ask_tables(u, want, NULL);
	for (int again = 0; again < 2; again++)
		for (size_t i = 0; i < count; i++) {
			unwinder_run(u, f->space, &traps[i].sample, 1000, &chain);
			if (!is_expected(&traps[i], 0))
				print_chain("table", &traps[i]);
			assert_true(is_expected(&traps[i], 0));
		}
	unwinder_get_stats(u, &stats);
	assert_int_equal(stats.stacks, 2 * count);
	assert_true(stats.asked_frames < count);
	unwinder_forget(u, f->space);
	unwinder_free(u);
}

static void make_no_table(void *arg, struct module *m)
{
}

static NI long steps_into_another(void)
{
	long x;

	trap_steps_on();
	x = ffsl(12); /* called here alone */
	x += ffsl(8);
	trap_steps_off();
	return x;
}

static void with_rules_of_this_program_alone(void **state)
{
	trap_begin(traps, sizeof(traps) / sizeof(traps[0]), TRAP_STACK_BYTES);
	assert_int_not_equal(steps_into_another(), 0);
	check_with_some(*state, trap_end(), make_own_table);
}

static void with_rules_of_libraries_alone(void **state)
{
	trap_begin(traps, sizeof(traps) / sizeof(traps[0]), TRAP_STACK_BYTES);
	assert_int_not_equal(steps_into_a_library(), 0);
	check_with_some(*state, trap_end(), make_other_tables);
}

static void without_any_table(void **state)
{
	trap_begin(traps, sizeof(traps) / sizeof(traps[0]), TRAP_STACK_BYTES);
	assert_int_not_equal(steps_into_a_library(), 0);
	check_with_some(*state, trap_end(), make_no_table);
}

/* Once there are rules, libunwind has little to do; and what was found of a space is forgotten when
 * its code is another's. */
/* Rules are rules, whether the compiler kept a frame pointer for them to go by or not. */
static unsigned way(unsigned how)
{
	return how == UNWIND_BY_CFI_BP ? UNWIND_BY_CFI : how;
}

static void rules_are_used_and_forgotten(void **state)
{
	struct fixture *f = *state;
	struct unwinder *u = f->unwinders[TABLE];
	static struct unwind_chain by_libunwind;
	struct unwinder_stats before, after;

	trap_begin(traps, 1, TRAP_STACK_BYTES);
	outer(30);
	assert_int_equal(trap_end(), 1);
	check(f, &traps[0], 0, 30);
	unwinder_get_stats(u, &before);
	unwinder_run(u, f->space, &traps[0].sample, 1000, &chain);
	unwinder_get_stats(u, &after);
	assert_int_equal(after.asked_frames, before.asked_frames);
	assert_int_equal(after.asked_stacks, before.asked_stacks);
	assert_int_equal(after.stacks, before.stacks + 1);

	/* The same addresses, of other memory. */
	space_clear(f->space);
	unwinder_run(u, f->space, &traps[0].sample, 1000, &chain);
	assert_int_equal(chain.end, UNWIND_NO_MODULE);
	assert_int_equal(chain.count, 1);
	assert_int_equal(space_read(f->space, 0), 0);
	check(f, &traps[0], 0, 30);
	assert_int_equal(space_map(f->space, (uintptr_t)outer & ~4095ull,
				 ((uintptr_t)outer & ~4095ull) + 4096, 0, 0, 0, "//anon"),
		0);
	unwinder_run(f->unwinders[LIBUNWIND], f->space, &traps[0].sample, 1000, &chain);
	by_libunwind = chain;
	unwinder_run(u, f->space, &traps[0].sample, 1000, &chain);
	assert_int_equal(chain.end, by_libunwind.end);
	assert_int_equal(chain.count, by_libunwind.count);
	for (unsigned i = 0; i < chain.count; i++)
		assert_int_equal(way(chain.how[i]), way(by_libunwind.how[i]));
}

void without_cfi(void (*fn)(void));
extern const char without_cfi_end[];
__asm__(".text\n"
	".type without_cfi, @function\n"
	"without_cfi:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	sub $32, %rsp\n"
	"	call *%rdi\n"
	"	leave\n"
	"	ret\n"
	".size without_cfi, . - without_cfi\n"
	"without_cfi_end:\n");

/* The same frames as a call straight to leaf() would have, with one more in the middle. */
static void check_with_frame_in_middle(struct fixture *f, const struct trap_sample *t, uint64_t low,
	uint64_t high, const struct trap_sample *without)
{
	for (int i = 0; i < ENGINES; i++) {
		unwinder_run(f->unwinders[i], f->space, &t->sample, 1000, &chain);
		if (chain.end != UNWIND_ROOT)
			print_chain(engines[i], t);
		assert_int_equal(chain.end, UNWIND_ROOT);
		assert_int_equal(chain.count, without->expected_count + 1);
		assert_in_range(chain.addrs[1], low, high - 1);
		/* The caller's own frame is at another call. */
		for (unsigned j = 3; j < chain.count; j++)
			assert_int_equal(chain.addrs[j], without->expected[j - 1]);
		if (i != LIBDW) {
			assert_int_equal(way(chain.how[1]), UNWIND_BY_CFI);
			assert_int_equal(way(chain.how[2]), UNWIND_BY_FP);
			assert_int_equal(way(chain.how[3]), UNWIND_BY_CFI);
		}
	}
}

static void code_without_cfi_by_frame_pointer(void **state)
{
	trap_begin(traps, 4, TRAP_STACK_BYTES);
	leaf();
	without_cfi(leaf);
	assert_int_equal(trap_end(), 2);
	check_with_frame_in_middle(
		*state, &traps[1], (uintptr_t)without_cfi, (uintptr_t)without_cfi_end, &traps[0]);
}

static void code_without_a_file_by_frame_pointer(void **state)
{
	struct fixture *f = *state;
	size_t bytes = (size_t)(without_cfi_end - (const char *)without_cfi);
	void *at = mmap(
		NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*jit)(void (*fn)(void));

	assert_ptr_not_equal(at, MAP_FAILED);
	memcpy(at, (const void *)without_cfi, bytes);
	memcpy(&jit, &at, sizeof(jit));
	trap_begin(traps, 4, TRAP_STACK_BYTES);
	leaf();
	jit(leaf);
	assert_int_equal(trap_end(), 2);

	/* Not mapped, as far as we have been told. */
	for (int i = 0; i < LIBDW; i++) {
		unwinder_run(f->unwinders[i], f->space, &traps[1].sample, 1000, &chain);
		assert_int_equal(chain.count, 1);
		assert_int_equal(chain.end, UNWIND_NO_MODULE);
	}

	assert_int_equal(
		space_map(f->space, (uintptr_t)at, (uintptr_t)at + 4096, 0, 0, 0, "//anon"), 0);
	check_with_frame_in_middle(f, &traps[1], (uintptr_t)at, (uintptr_t)at + bytes, &traps[0]);
	munmap(at, 4096);
}

void at_entry(void);
void at_entry_ends(void);
__asm__(".text\n"
	".type at_entry, @function\n"
	"at_entry:\n"
	"	endbr64\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	nop\n"
	"	pop %rbp\n"
	"	ret\n"
	"at_entry_ends:\n"
	".size at_entry, . - at_entry\n");

static NI void steps_at_entry(void)
{
	trap_steps_on();
	at_entry();
	trap_steps_off();
}

/* Where the frame pointer is not set up yet, or no more, the code itself tells. */
static void entry_and_exit_without_cfi(void **state)
{
	struct fixture *f = *state;
	size_t count, checked = 0;

	trap_begin(traps, 100, TRAP_STACK_BYTES);
	leaf();
	steps_at_entry();
	count = trap_end();
	for (size_t i = 0; i < count; i++) {
		uint64_t pc = traps[i].regs[8];

		if (pc < (uintptr_t)at_entry || pc >= (uintptr_t)at_entry_ends)
			continue;
		for (int e = 0; e < LIBDW; e++) {
			unwinder_run(f->unwinders[e], f->space, &traps[i].sample, 1000, &chain);
			if (chain.end != UNWIND_ROOT)
				print_chain(engines[e], &traps[i]);
			assert_int_equal(chain.end, UNWIND_ROOT);
			assert_int_equal(chain.count, traps[0].expected_count + 1);
			for (unsigned j = 3; j < chain.count; j++)
				assert_int_equal(chain.addrs[j], traps[0].expected[j - 1]);
			checked++;
		}
	}
	assert_int_equal(checked, 12);
}

static void a_cut_stack_gives_the_innermost_frames(void **state)
{
	struct fixture *f = *state;

	trap_begin(traps, 1, 512);
	outer(30);
	assert_int_equal(trap_end(), 1);
	for (int i = 0; i < ENGINES; i++) {
		unwinder_run(f->unwinders[i], f->space, &traps[0].sample, 1000, &chain);
		assert_int_equal(chain.end, UNWIND_STACK_CUT);
		assert_in_range(chain.count, 5, 40);
		for (unsigned j = 0; j < chain.count; j++)
			assert_int_equal(chain.addrs[j], traps[0].expected[j]);
	}
	traps[0].sample.stack = NULL;
	traps[0].sample.stack_bytes = 0;
	for (int i = 0; i < LIBDW; i++) {
		unwinder_run(f->unwinders[i], f->space, &traps[0].sample, 1000, &chain);
		assert_int_equal(chain.end, UNWIND_STACK_CUT);
		assert_int_equal(chain.count, 1);
	}
}

static void more_frames_than_asked_for(void **state)
{
	struct fixture *f = *state;
	unsigned all;

	trap_begin(traps, 1, TRAP_STACK_BYTES);
	outer(30);
	trap_end();
	all = traps[0].expected_count;
	for (int i = 0; i < ENGINES; i++) {
		unwinder_run(f->unwinders[i], f->space, &traps[0].sample, 10, &chain);
		assert_int_equal(chain.end, UNWIND_MAX_FRAMES);
		assert_int_equal(chain.count, 10);
		unwinder_run(f->unwinders[i], f->space, &traps[0].sample, all, &chain);
		assert_int_equal(chain.end, UNWIND_ROOT);
		assert_int_equal(chain.count, all);
	}
}

static void the_end_says_why(void **state)
{
	struct fixture *f = *state;
	struct trap_sample *t = &traps[0];
	uint64_t ra, word;

	trap_begin(traps, 1, TRAP_STACK_BYTES);
	trap_first();
	trap_end();
	memcpy(&ra, t->stack, 8);
	word = 0;
	memcpy(t->stack, &word, 8);
	for (int i = 0; i < ENGINES; i++) {
		unwinder_run(f->unwinders[i], f->space, &t->sample, 100, &chain);
		assert_int_equal(chain.end, UNWIND_ROOT);
		assert_int_equal(chain.count, 1);
	}
	word = 0x123456;
	memcpy(t->stack, &word, 8);
	for (int i = 0; i < ENGINES; i++) {
		unwinder_run(f->unwinders[i], f->space, &t->sample, 100, &chain);
		assert_int_equal(chain.end, UNWIND_NO_MODULE);
		assert_int_equal(chain.count, 1);
	}
	/* A call from code that has no CFI, with a frame pointer that is none. */
	word = (uintptr_t)without_cfi + 5;
	memcpy(t->stack, &word, 8);
	t->regs[6] = 0x4141414141414141;
	for (int i = 0; i < LIBDW; i++) {
		unwinder_run(f->unwinders[i], f->space, &t->sample, 100, &chain);
		assert_int_equal(chain.end, UNWIND_NO_CFI);
		assert_int_equal(chain.count, 2);
	}

	trap_begin(traps, 1, TRAP_STACK_BYTES);
	realigned(100);
	trap_end();
	t->regs[6] = 0x4141414141414141; /* the CFA is found by it */
	for (int i = 0; i < LIBDW; i++) {
		unwinder_run(f->unwinders[i], f->space, &t->sample, 100, &chain);
		assert_int_equal(chain.end, UNWIND_BAD_MEMORY);
		assert_int_equal(chain.count, 2);
	}
}

static void without_64_bit_registers(void **state)
{
	struct fixture *f = *state;
	uint64_t regs[SAMPLE_REGS] = {[8] = 0x8048123};
	struct sample sample = {.ip = 0x8048123, .abi = PERF_SAMPLE_REGS_ABI_32, .regs = regs};

	unwinder_run(f->unwinders[TABLE], f->space, &sample, 100, &chain);
	assert_int_equal(chain.end, UNWIND_NO_USER);
	assert_int_equal(chain.count, 1);
	assert_int_equal(chain.addrs[0], 0x8048123);
	sample.ip = 0xffffffff81000000;
	sample.kernel_ip = true;
	unwinder_run(f->unwinders[TABLE], f->space, &sample, 100, &chain);
	assert_int_equal(chain.addrs[0], 0x8048123);
	sample.abi = PERF_SAMPLE_REGS_ABI_NONE;
	sample.regs = NULL;
	unwinder_run(f->unwinders[TABLE], f->space, &sample, 100, &chain);
	assert_int_equal(chain.end, UNWIND_NO_USER);
	assert_int_equal(chain.count, 0);
}

static void chains_of_the_kernel(void **state)
{
	struct fixture *f = *state;
	struct sample sample = {0};
	uint64_t user[200];

	trap_begin(traps, 1, TRAP_STACK_BYTES);
	outer(3);
	trap_end();
	user[0] = traps[0].expected[0];
	for (unsigned i = 1; i < traps[0].expected_count; i++)
		user[i] = traps[0].expected[i] + 1;
	sample.user_chain = user;
	sample.user_count = traps[0].expected_count;
	unwind_from_fp(f->space, &sample, 100, &chain);
	assert_true(is_expected(&traps[0], 0)); /* _start says that it is the outermost */

	sample.user_count--;
	unwind_from_fp(f->space, &sample, 100, &chain);
	assert_int_equal(chain.end, UNWIND_FP_END);
	assert_int_equal(chain.how[0], UNWIND_BY_REGISTERS);
	assert_int_equal(chain.how[1], UNWIND_BY_FP);
	unwind_from_fp(f->space, &sample, 3, &chain);
	assert_int_equal(chain.end, UNWIND_MAX_FRAMES);
	assert_int_equal(chain.count, 3);
	for (unsigned i = 0; i < 120; i++)
		user[i] = traps[0].expected[1] + 1;
	sample.user_count = 120;
	sample.kernel_count = 7;
	unwind_from_fp(f->space, &sample, 1000, &chain);
	assert_int_equal(chain.end, UNWIND_MAX_FRAMES);
	user[119] = 0x1234;
	sample.kernel_count = 0;
	unwind_from_fp(f->space, &sample, 1000, &chain);
	assert_int_equal(chain.end, UNWIND_NO_MODULE);
}

static void names_of_ends_are_all_there(void **state)
{
	(void)state;
	for (int i = 0; i < UNWIND_END_COUNT; i++) {
		assert_non_null(unwind_end_name((enum unwind_end)i));
		for (int j = 0; j < i; j++)
			assert_string_not_equal(unwind_end_name((enum unwind_end)i),
				unwind_end_name((enum unwind_end)j));
	}
	assert_string_equal(unwind_end_name(UNWIND_STACK_CUT), "stack_cut");
}

static void engines_have_names(void **state)
{
	struct unwinder *u = NULL;

	(void)state;
	assert_int_equal(unwinder_new("magic", &u), -EINVAL);
	assert_null(u);
	unwinder_free(NULL);
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FIXTURE(plain_calls_and_recursion),
		WITH_FIXTURE(through_a_signal_handler),
		WITH_FIXTURE(a_handler_on_its_own_stack),
		WITH_FIXTURE(interrupted_at_a_first_instruction),
		WITH_FIXTURE(rules_of_the_cie_alone),
		WITH_FIXTURE(a_call_at_the_end_of_a_function),
		WITH_FIXTURE(a_realigned_stack_with_alloca),
		WITH_FIXTURE(stacks_realigned_by_hand),
		WITH_FIXTURE(at_every_instruction),
		WITH_FIXTURE(with_rules_of_this_program_alone),
		WITH_FIXTURE(with_rules_of_libraries_alone),
		WITH_FIXTURE(without_any_table),
		WITH_FIXTURE(rules_are_used_and_forgotten),
		WITH_FIXTURE(code_without_cfi_by_frame_pointer),
		WITH_FIXTURE(code_without_a_file_by_frame_pointer),
		WITH_FIXTURE(entry_and_exit_without_cfi),
		WITH_FIXTURE(a_cut_stack_gives_the_innermost_frames),
		WITH_FIXTURE(more_frames_than_asked_for),
		WITH_FIXTURE(the_end_says_why),
		WITH_FIXTURE(without_64_bit_registers),
		WITH_FIXTURE(chains_of_the_kernel),
		cmocka_unit_test(names_of_ends_are_all_there),
		cmocka_unit_test(engines_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
