/* recurse [SECONDS]: fib calls itself twice, even and odd each other; two thirds of the time in
 * fib. */
#include "target.h"

static volatile unsigned long sink;
NI int odd(int n);

NI int fib(int n)
{
	int a, b;

	spin(1000);
	if (n < 2)
		return n;
	a = fib(n - 1);
	b = fib(n - 2);
	return a + b;
}

NI int even(int n)
{
	int r;

	spin(1000);
	if (n == 0)
		return 1;
	r = odd(n - 1);
	KEEP;
	return r;
}

NI int odd(int n)
{
	int r;

	spin(1000);
	if (n == 0)
		return 0;
	r = even(n - 1);
	KEEP;
	return r;
}

int main(int argc, char **argv)
{
	target_ends_after(argc > 1 ? argv[1] : NULL);
	for (;;) {
		/* fib(11) is 287 calls. */
		for (int i = 0; i < 100; i++)
			sink += (unsigned long)fib(11);
		for (int i = 0; i < 350; i++)
			sink += (unsigned long)even(40);
	}
}
