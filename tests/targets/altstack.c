/* altstack [SECONDS]: two threads in thread;raiser;raise, interrupted by handler;on_alt on stacks
 * of their own, one below and one above the thread's. */
#include <pthread.h>
#include <sys/mman.h>

#include "target.h"

#define ALT_BYTES (1 << 16)

NI void on_alt(void)
{
	spin(3000000);
}

static void handler(int sig)
{
	(void)sig;
	on_alt();
	KEEP;
}

NI void raiser(void)
{
	raise(SIGUSR1);
	KEEP;
}

static void *thread(void *at)
{
	stack_t stack = {.ss_size = ALT_BYTES};

	stack.ss_sp =
		mmap(at, ALT_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack.ss_sp == MAP_FAILED || sigaltstack(&stack, NULL) != 0)
		_exit(1);
	for (;;)
		raiser();
	return at;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	pthread_t t;

	target_ends_after(argc > 1 ? argv[1] : NULL);
	sigaction(SIGUSR1, &action, NULL);
	if (pthread_create(&t, NULL, thread, (void *)0x10000000) ||
		pthread_create(&t, NULL, thread, NULL))
		return 1;
	for (;;)
		pause();
}
