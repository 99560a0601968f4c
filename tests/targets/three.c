/* three [SECONDS]: sixty, thirty and ten take 60, 30 and 10 % of the CPU. */
#include "target.h"

#define TENTH 2000

NI void sixty(unsigned long tenth)
{
	spin(6 * tenth);
}

NI void thirty(unsigned long tenth)
{
	spin(3 * tenth);
}

NI void ten(unsigned long tenth)
{
	spin(tenth);
}

NI void turn(void)
{
	unsigned long tenth = varied(TENTH);

	sixty(tenth);
	thirty(tenth);
	ten(tenth);
	KEEP;
}

int main(int argc, char **argv)
{
	target_ends_after(argc > 1 ? argv[1] : NULL);
	for (;;)
		turn();
}
