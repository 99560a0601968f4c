/* dlopener LIBRARY [SECONDS]: works in use_plugin;plug_entry of the library, which is opened half a
 * second after the start and closed and opened again each second of CPU. */
#include <dlfcn.h>
#include <time.h>

#include "target.h"

NI void use_plugin(void (*entry)(void))
{
	clock_t end = clock() + CLOCKS_PER_SEC;

	while (clock() < end)
		for (int i = 0; i < 100; i++)
			entry();
	KEEP;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 1;
	target_ends_after(argc > 2 ? argv[2] : NULL);
	usleep(500000);
	for (;;) {
		void *library = dlopen(argv[1], RTLD_NOW);
		void (*entry)(void) = library ? (void (*)(void))dlsym(library, "plug_entry") : NULL;

		if (!entry)
			return 1;
		use_plugin(entry);
		dlclose(library);
	}
}
