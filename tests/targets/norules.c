/* norules: see its other half. */
#include "target.h"

void framed(void (*callee)(void));
void bare(void (*callee)(void));
void bare_leaf(void);

NI void works(void)
{
	spin(300000);
}

NI void calls_framed(void)
{
	framed(works);
	KEEP;
}

NI void calls_bare(void)
{
	bare(works);
	KEEP;
}

NI void calls_leaf(void)
{
	bare_leaf();
	KEEP;
}

int main(void)
{
	for (;;) {
		calls_framed();
		calls_bare();
		calls_leaf();
	}
}
