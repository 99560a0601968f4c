/* pltcaller [SECONDS]: hot_caller calls so little in libtiny.so that the stub between is hot. */
#include "target.h"

static volatile int sink;
int pl_tiny(int x);

NI int hot_caller(void)
{
	int s = 0;

	for (int i = 0; i < 100000; i++)
		s = pl_tiny(s);
	return s;
}

int main(int argc, char **argv)
{
	target_ends_after(argc > 1 ? argv[1] : NULL);
	for (;;)
		sink += hot_caller();
}
