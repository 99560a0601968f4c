/* oddcomm N [SECONDS]: works in odd_work under the Nth of eight names that break readers. */
#include <sys/prctl.h>

#include "target.h"

static const char *const names[] = {"a) R 1 (b", "x;y z", "q\"<&>\\", "\xff\xfe\x80z",
	"\x1b[31mred", "nl\nnl", "   ", "\xe2\x82"};

NI void odd_work(void)
{
	spin(100000);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0;

	if (n < 0 || n > 7)
		return 1;
	target_ends_after(argc > 2 ? argv[2] : NULL);
	prctl(PR_SET_NAME, names[n]);
	for (;;)
		odd_work();
}
