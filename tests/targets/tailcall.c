/* tailcall: passes_on works, and ends with a jump to passed_to; both have saved registers
 * meanwhile, not equally many. Who jumped is not on the stack any more. */
#include "target.h"

static volatile unsigned long sink;

NI static void below(unsigned long n)
{
	spin(n);
	KEEP;
}

/* Not known when it is compiled, so that its callers save what they still need. */
static void (*volatile to_below)(unsigned long n) = below;

NI unsigned long passed_to(unsigned long a, unsigned long b, unsigned long c)
{
	to_below(200000);
	sink += a;
	to_below(100000);
	return a * b + c;
}

NI unsigned long passes_on(unsigned long a)
{
	to_below(300000);
	return passed_to(a, sink, a + 1);
}

int main(void)
{
	for (unsigned long i = 0;; i++)
		sink += passes_on(i) + 1;
}
