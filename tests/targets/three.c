/* three [SECONDS]: sixty, thirty and ten take 60, 30 and 10 % of the CPU. */
#include "target.h"

/* Short turns: long ones might fall in step with the clock that samples. */
#define TENTH 2000

NI void sixty(void)
{
	spin(6 * TENTH);
}

NI void thirty(void)
{
	spin(3 * TENTH);
}

NI void ten(void)
{
	spin(TENTH);
}

NI void turn(void)
{
	sixty();
	thirty();
	ten();
	KEEP;
}

int main(int argc, char **argv)
{
	target_ends_after(argc > 1 ? argv[1] : NULL);
	for (;;)
		turn();
}
