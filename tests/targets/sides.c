/* sides SIDES [SECONDS]: goes down from left, and with two SIDES from right as well, the next one
 * by chance, as deep as chance says: up to 110 frames of a KiB each. The bottom is left_bottom or
 * right_bottom by where it came from, and all between looks alike from either side. */
#include "target.h"

#define FRAME_BYTES 1024
#define DEEPEST     110

static volatile unsigned long sink;
static int sides;

NI void left_bottom(void)
{
	spin(300000);
}

NI void right_bottom(void)
{
	spin(300000);
}

NI void down(unsigned long n, void (*bottom)(void))
{
	volatile char frame[FRAME_BYTES - 64];

	frame[n] = 1;
	if (n == 0)
		bottom();
	else
		down(n - 1, bottom);
	sink += (unsigned long)frame[n];
}

NI void left(unsigned long n)
{
	down(n, left_bottom);
	KEEP;
}

NI void right(unsigned long n)
{
	down(n, right_bottom);
	KEEP;
}

int main(int argc, char **argv)
{
	sides = argc > 1 ? atoi(argv[1]) : 2;
	target_ends_after(argc > 2 ? argv[2] : NULL);
	for (;;) {
		unsigned long n = varied(1000000) % DEEPEST;

		if (sides < 2 || varied(1000000) % 2)
			left(n);
		else
			right(n);
	}
}
