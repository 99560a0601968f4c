/* toucher N [SECONDS]: at each SIGUSR1 exactly N page faults in touch_pages, and no other ones.
 * When it is ready for the signal, and after each time, a byte to standard output, if that is a
 * pipe. */
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "target.h"

NI void touch_pages(volatile char *at, long pages, long size)
{
	for (long i = 0; i < pages; i++)
		at[i * size] = 1;
	KEEP;
}

static bool tell(void)
{
	struct stat out;

	return fstat(1, &out) != 0 || !S_ISFIFO(out.st_mode) || write(1, ".", 1) == 1;
}

int main(int argc, char **argv)
{
	long pages = argc > 1 ? atol(argv[1]) : 1000, size = sysconf(_SC_PAGESIZE);
	sigset_t set;
	char *at;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	target_ends_after(argc > 2 ? argv[2] : NULL);
	if (!tell())
		return 1;
	for (;;) {
		at = mmap(NULL, (size_t)(pages * size), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (at == MAP_FAILED)
			return 1;
		madvise(at, (size_t)(pages * size), MADV_NOHUGEPAGE);
		if (sigwait(&set, &sig) != 0)
			return 1;
		touch_pages(at, pages, size);
		if (!tell())
			return 1;
		munmap(at, (size_t)(pages * size));
	}
}
