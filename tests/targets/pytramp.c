/* pytramp WHICH [SECONDS]: calls its functions as Python does with -X perf: each through a copy, in
 * memory without a file, of a few instructions, with a line in /tmp/perf-PID.map. evaluate() runs
 * "outer", which calls "inner", which works in burn(). plain: the copies are as in Python 3.12,
 * without a frame pointer. fp: they set one up. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "target.h"

#ifndef __x86_64__
#error "pytramp has code for x86-64 alone"
#endif

typedef int (*evaluator_fn)(int depth, char *copies, int unused, void *evaluator);

__asm__(".text\n"
	"plain_start: sub $8,%rsp\ncall *%rcx\nadd $8,%rsp\nret\nplain_end:\n"
	"fp_start: push %rbp\nmov %rsp,%rbp\ncall *%rcx\npop %rbp\nret\nfp_end:\n");
extern const char plain_start[], plain_end[], fp_start[], fp_end[];

#define COPY_BYTES 64

static char map_name[64];

static void over(int sig)
{
	(void)sig;
	unlink(map_name);
	_exit(0);
}

NI void burn(void)
{
	spin(varied(20000));
	KEEP;
}

static int evaluate(int depth, char *copies, int unused, void *evaluator);

/* What a caller has in rbp may be anything; here it looks like a frame at first sight. */
NI int call_copy(int depth, char *copies)
{
	uintptr_t words[4] = {1, (uintptr_t)words, 2, 3};
	int x = ((evaluator_fn)(void *)(copies + depth * COPY_BYTES))(
		depth, copies, 0, (void *)evaluate);

	__asm__ volatile("" ::"r"(words), "m"(words) : "memory", "rbp");
	return x + 1;
}

NI int evaluate(int depth, char *copies, int unused, void *evaluator)
{
	int x = 0;

	(void)unused;
	(void)evaluator;
	if (depth == 0)
		x = call_copy(1, copies);
	else
		burn();
	KEEP;
	return x;
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"py::outer:/srv/app.py", "py::inner:/srv/app.py"};
	char *at = mmap(
		NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fp = argc > 1 && strcmp(argv[1], "fp") == 0;
	FILE *map;

	snprintf(map_name, sizeof(map_name), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(map_name, "w");
	if (at == MAP_FAILED || !map || argc < 2)
		return 1;
	signal(SIGTERM, over);
	signal(SIGALRM, over);
	alarm(argc > 2 ? (unsigned)atoi(argv[2]) : 0);
	for (int i = 0; i < 2; i++) {
		memcpy(at + i * COPY_BYTES, fp ? fp_start : plain_start,
			(size_t)(fp ? fp_end - fp_start : plain_end - plain_start));
		fprintf(map, "%lx %x %s\n", (long)at + i * COPY_BYTES, COPY_BYTES, names[i]);
	}
	fclose(map);
	for (;;)
		call_copy(0, at);
}
