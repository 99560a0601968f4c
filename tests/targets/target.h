/* What the targets share. Each prints nothing and runs until it is killed, or for as many seconds
 * as its last argument says. What it does with its CPU time is known beforehand, by counts of work.
 */
#ifndef PFL_TESTS_TARGET_H
#define PFL_TESTS_TARGET_H

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef __clang__
#define NI __attribute__((noinline))
#else
#define NI __attribute__((noinline, noclone))
#endif
/* Behind a call: it is no tail call then, and its caller stays on the stack. */
#define KEEP __asm__ volatile("" ::: "memory")

/* The same instructions at the same alignment wherever it is inlined, so that equal counts take
 * equal time. */
static inline __attribute__((always_inline)) void spin(unsigned long n)
{
#ifdef __x86_64__
	__asm__ volatile(".p2align 6\n1:\tdec %0\n\tjnz 1b" : "+r"(n) : : "cc");
#else
	while (n--)
		KEEP;
#endif
}

/* From half of n to one and a half times n, another each time: turns of one length might fall in
 * step with the clock that samples, and then some function is met too often. */
__attribute__((unused)) static unsigned long varied(unsigned long n)
{
	static unsigned long state = 1;

	state = state * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
	return n / 2 + (state >> 33) % n;
}

static void target_over(int sig)
{
	(void)sig;
	_exit(0);
}

/* seconds: NULL for no end. */
__attribute__((unused)) static void target_ends_after(const char *seconds)
{
	if (!seconds)
		return;
	signal(SIGALRM, target_over);
	alarm((unsigned)atoi(seconds));
}

#endif
