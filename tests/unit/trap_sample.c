#include "tests/unit/trap_sample.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unwind.h>

static struct trap_sample *traps;
static size_t trap_max, trap_count, trap_stack_bytes;
static uintptr_t main_stack_end;

static const int perf_order[SAMPLE_REGS] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI,
	REG_RBP, REG_RSP, REG_RIP, REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14,
	REG_R15};

struct tracing {
	struct trap_sample *t;
	uint64_t from; /* frames above (inside) this one are the handler's */
	bool begun;
};

static _Unwind_Reason_Code on_frame(struct _Unwind_Context *context, void *arg)
{
	struct tracing *tr = arg;
	int before = 0;
	uint64_t ip = _Unwind_GetIPInfo(context, &before);

	if (before && ip == tr->from && tr->t->expected_count == 0)
		tr->begun = true;
	if (tr->begun && ip != 0 && tr->t->expected_count < TRAP_FRAMES)
		tr->t->expected[tr->t->expected_count++] = ip - !before;
	return _URC_NO_REASON;
}

/* By hand, as a checker of memory accesses would object to a copy over its red zones. */
__attribute__((no_sanitize("address", "undefined"))) static void copy_stack(
	uint8_t *into, uintptr_t from, size_t len)
{
	volatile const uint8_t *bytes = (volatile const uint8_t *)from;

	for (size_t i = 0; i < len; i++)
		into[i] = bytes[i];
}

static void take(struct trap_sample *t, const ucontext_t *uc)
{
	uintptr_t sp = (uintptr_t)uc->uc_mcontext.gregs[REG_RSP];
	struct tracing tr = {t, (uint64_t)uc->uc_mcontext.gregs[REG_RIP], false};
	size_t len = trap_stack_bytes;

	if (sp < main_stack_end && main_stack_end - sp < len)
		len = main_stack_end - sp;
	for (int i = 0; i < SAMPLE_REGS; i++)
		t->regs[i] = (uint64_t)uc->uc_mcontext.gregs[perf_order[i]];
	copy_stack(t->stack, sp, len);
	t->expected_count = 0;
	_Unwind_Backtrace(on_frame, &tr);
	t->sample = (struct sample){.pid = getpid(),
		.tid = getpid(),
		.ip = t->regs[8],
		.abi = PERF_SAMPLE_REGS_ABI_64,
		.regs = t->regs,
		.stack = t->stack,
		.stack_bytes = (uint32_t)len,
		.stack_asked = (uint32_t)trap_stack_bytes,
		.period = 1};
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)info;
	if (trap_count < trap_max)
		take(&traps[trap_count++], uc);
	if (sig == SIGILL)
		uc->uc_mcontext.gregs[REG_RIP] += 2;
}

void trap_begin(struct trap_sample *samples, size_t max, size_t stack_bytes)
{
	struct sigaction action = {0};
	pthread_attr_t attr;
	void *low;
	size_t bytes;

	if (pthread_getattr_np(pthread_self(), &attr) != 0 ||
		pthread_attr_getstack(&attr, &low, &bytes) != 0)
		abort();
	pthread_attr_destroy(&attr);
	main_stack_end = (uintptr_t)low + bytes;
	traps = samples;
	trap_max = max;
	trap_count = 0;
	trap_stack_bytes = stack_bytes < TRAP_STACK_BYTES ? stack_bytes : TRAP_STACK_BYTES;
	action.sa_sigaction = on_trap;
	action.sa_flags = SA_SIGINFO | SA_NODEFER;
	if (sigaction(SIGTRAP, &action, NULL) < 0 || sigaction(SIGILL, &action, NULL) < 0)
		abort();
}

size_t trap_end(void)
{
	signal(SIGTRAP, SIG_DFL);
	signal(SIGILL, SIG_DFL);
	return trap_count;
}

/* By hand, so that the rules hold at each instruction. The flag takes effect one instruction later.
 */
__asm__(".text\n"
	".globl trap_steps_on\n"
	".type trap_steps_on, @function\n"
	"trap_steps_on:\n"
	".cfi_startproc\n"
	"	pushf\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	orq $0x100, (%rsp)\n"
	"	popf\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	".cfi_endproc\n"
	".size trap_steps_on, . - trap_steps_on\n"
	".globl trap_steps_off\n"
	".type trap_steps_off, @function\n"
	"trap_steps_off:\n"
	".cfi_startproc\n"
	"	pushf\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	andq $~0x100, (%rsp)\n"
	"	popf\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	".cfi_endproc\n"
	".size trap_steps_off, . - trap_steps_off\n");
