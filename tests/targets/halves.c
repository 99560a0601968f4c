/* halves [SECONDS]: heavy and light are to each other as 3 : 1. */
#include "target.h"

NI void heavy(void)
{
	spin(3000000);
}

NI void light(void)
{
	spin(1000000);
}

int main(int argc, char **argv)
{
	target_ends_after(argc > 1 ? argv[1] : NULL);
	for (;;) {
		heavy();
		light();
	}
}
