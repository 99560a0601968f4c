/* Says where its functions are, then traps in the innermost of four. Built in several ways. */
#include <stdio.h>
#include <unistd.h>

static volatile unsigned long sink;

__attribute__((noinline, noclone)) static void leaf(void)
{
	__asm__ volatile("int3" ::: "memory");
	sink++;
}

static void drop(char (*text)[64])
{
	sink += (unsigned long)(*text)[0];
}

/* With -fexceptions its table entry names a routine that calls drop(), as destructors are called.
 */
__attribute__((noinline, noclone)) static void middle(int n)
{
	__attribute__((cleanup(drop))) char more[64];

	snprintf(more, sizeof(more), "%d", n);
	if (n < 0 && write(STDOUT_FILENO, more, 1) != 1)
		return;
	leaf();
	sink += (unsigned long)more[0];
}

__attribute__((noinline, noclone)) static void outer(int n)
{
	middle(n + 1);
	sink++;
}

int main(int argc, char **argv)
{
	void (*const functions[])(void) = {
		leaf, (void (*)(void))middle, (void (*)(void))outer, (void (*)(void))main};

	(void)argv;
	if (write(STDOUT_FILENO, functions, sizeof(functions)) != (ssize_t)sizeof(functions))
		return 1;
	outer(argc);
	return 0;
}
