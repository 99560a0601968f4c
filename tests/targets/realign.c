/* realign [BYTES]: aligned_user has a local variable that wants more alignment than the stack has,
 * and one of a length of up to so many bytes: its CFA is a word in its frame. */
#include "target.h"

static volatile unsigned long sink;

NI void reads(char *bytes)
{
	for (int i = 0; i < 2000; i++)
		sink += (unsigned char)bytes[0];
}

NI void aligned_user(unsigned long bytes)
{
	char fixed[64] __attribute__((aligned(64)));
	char *varying = __builtin_alloca(bytes);

	fixed[0] = varying[0] = 1;
	reads(fixed);
	reads(varying);
	sink += (unsigned char)(fixed[1 + sink % 2] + varying[0]);
}

int main(int argc, char **argv)
{
	unsigned long mask = (argc > 1 ? strtoul(argv[1], NULL, 10) : 1024) - 1;

	for (unsigned long i = 0;; i++)
		aligned_user(16 + (i & mask));
}
