/* jumper: climbs so many calls, works there, jumps back over all of them, and works in settle. */
#include <setjmp.h>

#include "target.h"

static jmp_buf back;
static volatile int sink;

NI static void at_the_top(void)
{
	spin(200000);
	longjmp(back, 1);
}

NI static void climb(int calls)
{
	if (calls == 0)
		at_the_top();
	else
		climb(calls - 1);
	sink++;
}

NI static void settle(void)
{
	spin(200000);
}

NI static void turn(void)
{
	if (setjmp(back) == 0)
		climb(20);
	settle();
	KEEP;
}

int main(void)
{
	for (;;)
		turn();
}
