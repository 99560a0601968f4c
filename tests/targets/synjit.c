/* synjit MODE [SECONDS]: runs code that it makes itself and writes /tmp/perf-PID.map for it.
 * plain: in_jit_fn. ages: two seconds of CPU in old_name_A, then at the same address new_name_B
 * and, beside it, "void Foo.bar(int, java.lang.String)", inside of the range of big_stub and among
 * broken lines. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "target.h"

#ifdef __x86_64__
/* push %rbp; mov %rsp,%rbp; mov $2000000,%ecx; 1: dec %ecx; jnz 1b; pop %rbp; ret */
static const unsigned char code[] = {
	0x55, 0x48, 0x89, 0xe5, 0xb9, 0x80, 0x84, 0x1e, 0, 0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3};
#else
#error "synjit has code for x86-64 alone"
#endif

static char map_name[64];

static void forget_map(void)
{
	unlink(map_name);
}

static void over(int sig)
{
	(void)sig;
	unlink(map_name);
	_exit(0);
}

NI void run_code(unsigned char *at)
{
	((void (*)(void))at)();
	KEEP;
}

static void ages(FILE *map, unsigned char *at)
{
	fprintf(map, "%lx %zx old_name_A\n", (long)at, sizeof(code));
	fflush(map);
	while (clock() < 2 * CLOCKS_PER_SEC)
		run_code(at);
	fprintf(map,
		"%lx 4000 big_stub\n%lx %zx new_name_B\n%lx %zx void Foo.bar(int, "
		"java.lang.String)\n"
		"garbage line\nzz 10 x\n%lx 10\n7f00",
		(long)at + 0x100, (long)at, sizeof(code), (long)at + 0x200, sizeof(code),
		(long)at + 0x9000);
	fflush(map);
	for (;;) {
		run_code(at);
		run_code(at + 0x200);
	}
}

int main(int argc, char **argv)
{
	unsigned char *at = mmap(NULL, 65536, PROT_READ | PROT_WRITE | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	FILE *map;

	snprintf(map_name, sizeof(map_name), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(map_name, "w");
	if (at == MAP_FAILED || !map || argc < 2)
		return 1;
	atexit(forget_map);
	signal(SIGTERM, over);
	signal(SIGALRM, over);
	alarm(argc > 2 ? (unsigned)atoi(argv[2]) : 0);
	memcpy(at, code, sizeof(code));
	memcpy(at + 0x200, code, sizeof(code));
	if (strcmp(argv[1], "ages") == 0)
		ages(map, at);
	fprintf(map, "%lx %zx in_jit_fn\n", (long)at, sizeof(code));
	fflush(map);
	for (;;)
		run_code(at);
}
