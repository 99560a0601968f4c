/* coroutines: two that take turns, one on a stack in its data and one on a stack that lies within
 * that of main, where what called main lies right behind it. Neither was called by anybody. */
#include <ucontext.h>

#include "target.h"

#define STACK_BYTES 65536

static ucontext_t mine, first, second;

NI static void first_works(void)
{
	spin(200000);
}

NI static void second_works(void)
{
	spin(200000);
}

static void first_body(void)
{
	for (;;) {
		first_works();
		swapcontext(&first, &second);
	}
}

static void second_body(void)
{
	for (;;) {
		second_works();
		swapcontext(&second, &first);
	}
}

static void prepare(ucontext_t *context, void *stack, void (*body)(void))
{
	getcontext(context);
	context->uc_stack.ss_sp = stack;
	context->uc_stack.ss_size = STACK_BYTES;
	context->uc_link = NULL;
	makecontext(context, body, 0);
}

int main(void)
{
	static char elsewhere[STACK_BYTES] __attribute__((aligned(16)));
	char within[STACK_BYTES] __attribute__((aligned(16)));

	prepare(&first, elsewhere, first_body);
	prepare(&second, within, second_body);
	swapcontext(&mine, &first);
}
