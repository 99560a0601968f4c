/* relocate: at SIGUSR1 it copies the two pages that hold its hot functions to anonymous memory and
 * puts that in their place, as programs do to have them in huge pages. */
#include <string.h>
#include <sys/mman.h>

#include "target.h"

#define PAGE  4096ul
#define BYTES (2 * PAGE)
#define HOT   __attribute__((section(".text.moves")))

HOT __attribute__((aligned(4096))) NI void moved_leaf(void)
{
	spin(1000000);
}

HOT NI void moved_caller(void)
{
	moved_leaf();
	KEEP;
}

HOT __attribute__((used)) static void rest_of_pages(void)
{
	__asm__ volatile(".skip 8192");
}

/* Not among what moves. */
__attribute__((section(".text.stays"), aligned(4096))) NI static void move(void)
{
	void *place = (void *)((unsigned long)moved_leaf & ~(PAGE - 1));
	void *copy = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(copy, place, BYTES);
	mprotect(copy, BYTES, PROT_READ | PROT_EXEC);
	if (mremap(copy, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, place) != place)
		abort();
}

static volatile sig_atomic_t due;

static void now(int sig)
{
	(void)sig;
	due = 1;
}

int main(void)
{
	signal(SIGUSR1, now);
	for (;;) {
		moved_caller();
		if (due) {
			due = 0;
			move();
		}
	}
}
