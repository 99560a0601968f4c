/* libplug.so: plug_entry;plug_mid;plug_leaf. */
#include "target.h"

void plug_entry(void);

NI void plug_leaf(void)
{
	spin(100000);
}

NI void plug_mid(void)
{
	plug_leaf();
	KEEP;
}

__attribute__((visibility("default"))) NI void plug_entry(void)
{
	plug_mid();
	KEEP;
}
