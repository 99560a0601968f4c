/* labels [SECONDS]: see labels_x86_64.S. */
#include "target.h"

void asm_sized(void), asm_nosize(void), asm_notype(void);

int main(int argc, char **argv)
{
	target_ends_after(argc > 1 ? argv[1] : NULL);
	for (;;) {
		asm_sized();
		asm_nosize();
		asm_notype();
	}
}
