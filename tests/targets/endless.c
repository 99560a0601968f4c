/* endless: last_call ends with the call of a function that never returns, so its return address is
 * the first one of bystander, which is never called. */
#include "target.h"

static volatile int sink;

__attribute__((noreturn)) NI void endless(void)
{
	for (;;)
		spin(100000);
}

NI void last_call(void)
{
	sink = 1;
	endless();
}

NI void bystander(void)
{
	sink = 2;
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 9)
		bystander();
	last_call();
}
