/* chain: all of its time is in the innermost of chain_entry;upper;middle;lower, which main calls,
 * or which it is itself: -DENTRY=main. It ends by being killed; it needs no library, so that it can
 * be built in ways which these are not: with -DFREESTANDING it does not even have one to start it.
 */
#define NI   __attribute__((noinline))
#define KEEP __asm__ volatile("" ::: "memory")

#ifndef ENTRY
#define ENTRY chain_entry
#endif

static volatile unsigned long sink;

NI void lower(void)
{
	for (int i = 0; i < 100000; i++)
		sink++;
}

NI void middle(void)
{
	lower();
	KEEP;
}

NI void upper(void)
{
	middle();
	KEEP;
}

int ENTRY(void)
{
	for (;;)
		upper();
}

#ifdef FREESTANDING
__asm__(".globl _start\n"
	"_start:\n"
	"	call main\n"
	"	hlt\n");
#endif
