/* endless: last_call ends with the call of a function that never returns, so its return address is
 * the first one of bystander, which is never called. With -DBARE last_call has no unwind rules. */
#include "target.h"

static volatile int sink;

__attribute__((noreturn)) NI void endless(void)
{
	for (;;)
		spin(100000);
}

void last_call(void);
void bystander(void);

#ifdef BARE
__asm__(".text\n"
	".globl last_call\n"
	".type last_call, @function\n"
	"last_call:\n"
	"	sub $24, %rsp\n"
	"	call endless\n"
	".size last_call, . - last_call\n"
	".globl bystander\n"
	".type bystander, @function\n"
	"bystander:\n"
	"	.cfi_startproc\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size bystander, . - bystander\n");
#else
NI void last_call(void)
{
	sink = 1;
	endless();
}

NI void bystander(void)
{
	sink = 2;
}
#endif

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 9)
		bystander();
	last_call();
}
