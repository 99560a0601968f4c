/* NAME [SECONDS]: all work is in placeholder_sym, which `build` renames in the object file. */
#include "target.h"

NI void placeholder_sym(void)
{
	spin(100000);
}

int main(int argc, char **argv)
{
	target_ends_after(argc > 1 ? argv[1] : NULL);
	for (;;)
		placeholder_sym();
}
