/* framed [SECONDS]: with main;outer and thread;outer below it, each in a thread of its own, is
 * down;…;down, eight times and half a KiB each, and then heavy, light or fill, which fills memory
 * by the C library. heavy and light are to each other as 3 : 1. After SIGUSR1 outer goes down by
 * way of bare, which has no frame pointer whatever the others have, and after the next one it does
 * not. */
#include <pthread.h>
#include <string.h>

#include "target.h"

void bare(void);
void down(unsigned n);

static volatile unsigned long sink;
static volatile sig_atomic_t by_bare;
static char filled[65536];

/* 2 KiB of stack between its caller's and what it calls. */
__asm__(".text\n"
	".globl bare\n"
	".type bare, @function\n"
	"bare:\n"
	".cfi_startproc\n"
	"	sub $2040, %rsp\n"
	".cfi_adjust_cfa_offset 2040\n"
	"	mov $8, %edi\n"
	"	call down\n"
	"	add $2040, %rsp\n"
	".cfi_adjust_cfa_offset -2040\n"
	"	ret\n"
	".cfi_endproc\n"
	".size bare, .-bare\n");

NI void heavy(void)
{
	spin(300000);
	KEEP;
}

NI void light(void)
{
	spin(100000);
	KEEP;
}

NI void fill(void)
{
	memset(filled, (int)sink, sizeof(filled));
	KEEP;
}

NI void bottom(void)
{
	heavy();
	light();
	for (int i = 0; i < 20; i++)
		fill();
	KEEP;
}

NI void down(unsigned n)
{
	volatile char frame[480];

	frame[n] = 1;
	if (n > 1)
		down(n - 1);
	else
		bottom();
	sink += (unsigned long)frame[n];
}

NI void outer(void)
{
	if (by_bare)
		bare();
	else
		down(8);
	KEEP;
}

static void on_signal(int sig)
{
	(void)sig;
	by_bare = !by_bare;
}

NI void *thread(void *unused)
{
	for (;;)
		outer();
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t t;

	target_ends_after(argc > 1 ? argv[1] : NULL);
	signal(SIGUSR1, on_signal);
	if (pthread_create(&t, NULL, thread, NULL) != 0)
		return 1;
	for (;;)
		outer();
}
