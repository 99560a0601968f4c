/* deep DEPTH [SECONDS]: entry_a and entry_b, half of the time each, go down DEPTH calls to bottom.
 */
#include "target.h"

static volatile unsigned long sink;

NI void bottom(void)
{
	spin(10000000);
}

NI int down(int n)
{
	int r;

	if (n == 0) {
		bottom();
		KEEP;
		return 1;
	}
	r = down(n - 1);
	sink += (unsigned long)r;
	return r + 1;
}

NI void entry_a(int n)
{
	sink += (unsigned long)down(n);
}

NI void entry_b(int n)
{
	sink += (unsigned long)down(n);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 500;

	target_ends_after(argc > 2 ? argv[2] : NULL);
	for (;;) {
		entry_a(n);
		entry_b(n);
	}
}
