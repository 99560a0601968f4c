/* sigframe [SECONDS]: an illegal instruction as the first one of trap_entry: handler;burn stands on
 * main;trap_caller;trap_entry. Before trap_entry lies before_fn, which has another frame. */
#include <signal.h>
#include <ucontext.h>

#include "target.h"

void trap_entry(void);

__asm__(".text\n"
	".globl before_fn\n"
	".type before_fn, @function\n"
	"before_fn:\n"
	"	.cfi_startproc\n"
	"	sub $72, %rsp\n"
	"	.cfi_adjust_cfa_offset 72\n"
	"	hlt\n"
	"	.cfi_endproc\n"
	"	.size before_fn, . - before_fn\n"
	".globl trap_entry\n"
	".type trap_entry, @function\n"
	"trap_entry:\n"
	"	.cfi_startproc\n"
	"	ud2\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	.size trap_entry, . - trap_entry\n");

NI void burn(void)
{
	spin(3000000);
}

static void handler(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	burn();
	u->uc_mcontext.gregs[REG_RIP] += 2; /* over ud2 */
	(void)sig;
	(void)info;
}

NI void trap_caller(void)
{
	trap_entry();
	KEEP;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_NODEFER};

	target_ends_after(argc > 1 ? argv[1] : NULL);
	sigaction(SIGILL, &action, NULL);
	for (;;)
		trap_caller();
}
