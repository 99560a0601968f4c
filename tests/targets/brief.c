/* brief [LOOPS]: works in brief_fn, some 20 ms unless told otherwise, and ends. */
#include "target.h"

NI void brief_fn(unsigned long n)
{
	spin(n);
	KEEP;
}

int main(int argc, char **argv)
{
	brief_fn(argc > 1 ? strtoul(argv[1], NULL, 10) : 40000000);
	return 0;
}
