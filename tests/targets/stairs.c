/* stairs [SECONDS]: step_0 calls step_1, and so on up to step_23. Each has a frame of some 400
 * bytes and works a while before it goes on: stacks of all depths, up to ten thousand bytes. */
#include "target.h"

static volatile char sink;

NI void step_24(void)
{
	spin(1000000);
}

#define STEP(n, next)                       \
	NI void step_##n(void)              \
	{                                   \
		volatile char room[400];    \
                                            \
		room[0] = (char)sink;       \
		spin(1000000);              \
		step_##next();              \
		sink = (char)(room[0] + 1); \
	}

STEP(23, 24)
STEP(22, 23)
STEP(21, 22)
STEP(20, 21)
STEP(19, 20)
STEP(18, 19)
STEP(17, 18)
STEP(16, 17)
STEP(15, 16)
STEP(14, 15)
STEP(13, 14)
STEP(12, 13)
STEP(11, 12)
STEP(10, 11)
STEP(9, 10)
STEP(8, 9)
STEP(7, 8)
STEP(6, 7)
STEP(5, 6)
STEP(4, 5)
STEP(3, 4)
STEP(2, 3)
STEP(1, 2)
STEP(0, 1)

int main(int argc, char **argv)
{
	target_ends_after(argc > 1 ? argv[1] : NULL);
	for (;;)
		step_0();
}
