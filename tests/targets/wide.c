/* wide: 100 kB of local variables, more than can be copied, lie between main;wide_caller;wide and
 * its callee reads. */
#include <string.h>

#include "target.h"

static volatile unsigned long sink;

NI void reads(const char *bytes)
{
	for (int i = 0; i < 1000000; i++)
		sink += (unsigned char)bytes[i & 1023];
}

NI void wide(void)
{
	char bytes[100000];

	memset(bytes, 1, sizeof(bytes));
	reads(bytes);
	sink += (unsigned char)bytes[sink % sizeof(bytes)];
}

NI void wide_caller(void)
{
	wide();
	KEEP;
}

int main(void)
{
	for (;;)
		wide_caller();
}
