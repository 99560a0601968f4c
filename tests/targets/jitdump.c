/* jitdump MODE [SECONDS]: runs code that it makes itself and writes ./jit-PID.dump for it, mapped
 * as perf wants it. plain: dumped_fn, made.src:7, with a perf map that calls it map_fn. anew: two
 * seconds of old_name_A, then at the same address new_name_B. cycles: as anew, with times of
 * another clock. flag: as plain, where the header claims another clock. swapped: as anew, where the
 * two loads stand in the file in the other order. cut: as plain, with the first half of another
 * record behind it. frameless: dumped_fn uses the frame pointer for itself, and an .eh_frame tells
 * how to get out of it. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "target.h"

#ifdef __x86_64__
/* push %rbp; mov %rsp,%rbp; mov $2000000,%ecx; 1: dec %ecx; jnz 1b; pop %rbp; ret */
static const unsigned char code[] = {
	0x55, 0x48, 0x89, 0xe5, 0xb9, 0x80, 0x84, 0x1e, 0, 0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3};
/* push %rbp; xor %ebp,%ebp; sub $40,%rsp; mov $2000000,%ecx; 1: dec %ecx; jnz 1b;
 * add $40,%rsp; pop %rbp; ret */
static const unsigned char frameless[] = {0x55, 0x31, 0xed, 0x48, 0x83, 0xec, 0x28, 0xb9, 0x80,
	0x84, 0x1e, 0, 0xff, 0xc9, 0x75, 0xfc, 0x48, 0x83, 0xc4, 0x28, 0x5d, 0xc3};
/* It lies 24 bytes behind the first of these instructions. */
static const unsigned char eh_frame[] = {20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R',
	0,                                      /* CIE, version 1 */
	1, 0x78, 16, 1, 0x1b,                   /* in steps of 1 and -8; pc-relative addresses */
	0x0c, 7, 8, 0x90, 1, 0, 0,              /* CFA = rsp + 8; return address at CFA - 8 */
	32, 0, 0, 0, 28, 0, 0, 0,               /* its FDE */
	0xc8, 0xff, 0xff, 0xff, 22, 0, 0, 0, 0, /* the code begins 56 bytes before, of 22 bytes */
	0x41, 0x0e, 16, 0x86, 2,                /* after the push: CFA = rsp + 16; rbp */
	0x46, 0x0e, 56, 0x4d, 0x0e, 16,         /* after the sub, the add */
	0x41, 0x0e, 8, 0xc6,                    /* after the pop */
	0, 0, 0, 0};
#else
#error "jitdump has code for x86-64 alone"
#endif

struct header {
	uint32_t magic, version, bytes, machine, pad, pid;
	uint64_t t_ns, flags;
};

struct load {
	uint32_t id, total;
	uint64_t t_ns;
	uint32_t pid, tid;
	uint64_t vma, addr, size, index;
};

struct unwinding {
	uint32_t id, total;
	uint64_t t_ns, size, hdr_size, mapped_size;
};

struct lines {
	uint32_t id, total;
	uint64_t t_ns, addr, count, first;
	int32_t line, column;
};

static char dump_name[64], map_name[64];

static void over(int sig)
{
	(void)sig;
	unlink(dump_name);
	unlink(map_name);
	_exit(0);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

NI void run_code(unsigned char *at)
{
	((void (*)(void))at)();
	KEEP;
}

static void put(int fd, const void *data, size_t len)
{
	if (write(fd, data, len) != (ssize_t)len)
		_exit(1);
}

static void put_lines(int fd, unsigned char *at)
{
	static const char file[] = "made.src";
	struct lines l = {.id = 2,
		.total = sizeof(l) + sizeof(file),
		.t_ns = now_ns(),
		.addr = (uintptr_t)at,
		.count = 1,
		.first = (uintptr_t)at,
		.line = 7};

	put(fd, &l, sizeof(l));
	put(fd, file, sizeof(file));
}

static void put_unwinding(int fd)
{
	struct unwinding u = {.id = 4,
		.total = sizeof(u) + sizeof(eh_frame),
		.t_ns = now_ns(),
		.size = sizeof(eh_frame)};

	put(fd, &u, sizeof(u));
	put(fd, eh_frame, sizeof(eh_frame));
}

static void put_code(int fd, unsigned char *at, size_t size, const char *name, uint64_t t_ns)
{
	static uint64_t index;
	struct load l = {.total = (uint32_t)(sizeof(l) + strlen(name) + 1 + size),
		.t_ns = t_ns,
		.pid = (uint32_t)getpid(),
		.tid = (uint32_t)getpid(),
		.vma = (uintptr_t)at,
		.addr = (uintptr_t)at,
		.size = size,
		.index = ++index};

	put(fd, &l, sizeof(l));
	put(fd, name, strlen(name) + 1);
	put(fd, at, size);
}

static void put_load(int fd, unsigned char *at, const char *name, uint64_t t_ns)
{
	put_code(fd, at, sizeof(code), name, t_ns);
}

/* Seconds of its own work, however busy the machine is. */
static void run_for(unsigned char *at, clock_t seconds)
{
	clock_t end = clock() + seconds * CLOCKS_PER_SEC;

	while (clock() < end)
		run_code(at);
}

static void anew(int fd, unsigned char *at, uint64_t scale, int swapped)
{
	uint64_t first = now_ns();

	if (!swapped)
		put_load(fd, at, "old_name_A", first * scale);
	run_for(at, 2);
	put_load(fd, at, "new_name_B", now_ns() * scale);
	if (swapped)
		put_load(fd, at, "old_name_A", first * scale);
	for (;;)
		run_code(at);
}

static void plain(int fd, unsigned char *at, int cut)
{
	FILE *map = fopen(map_name, "w");

	if (!map)
		_exit(1);
	fprintf(map, "%lx %zx map_fn\n", (long)at, sizeof(code));
	fclose(map);
	put_lines(fd, at);
	put_load(fd, at, "dumped_fn", now_ns());
	if (cut)
		put(fd, &(struct load){.total = 500}, 20);
	for (;;)
		run_code(at);
}

static void without_frame(int fd, unsigned char *at)
{
	memcpy(at, frameless, sizeof(frameless));
	put_unwinding(fd);
	put_code(fd, at, sizeof(frameless), "dumped_fn", now_ns());
	for (;;)
		run_code(at);
}

int main(int argc, char **argv)
{
	unsigned char *at = mmap(NULL, 65536, PROT_READ | PROT_WRITE | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct header h = {0x4A695444, 1, sizeof(h), 62, 0, (uint32_t)getpid(), now_ns(), 0};
	const char *mode = argc > 1 ? argv[1] : "";
	int fd;

	snprintf(dump_name, sizeof(dump_name), "jit-%d.dump", (int)getpid());
	snprintf(map_name, sizeof(map_name), "/tmp/perf-%d.map", (int)getpid());
	fd = open(dump_name, O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (at == MAP_FAILED || fd < 0)
		return 1;
	signal(SIGTERM, over);
	signal(SIGALRM, over);
	alarm(argc > 2 ? (unsigned)atoi(argv[2]) : 0);
	h.flags = strcmp(mode, "flag") == 0 || strcmp(mode, "cycles") == 0;
	put(fd, &h, sizeof(h));
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		return 1;
	memcpy(at, code, sizeof(code));
	if (strcmp(mode, "anew") == 0 || strcmp(mode, "cycles") == 0 ||
		strcmp(mode, "swapped") == 0)
		anew(fd, at, strcmp(mode, "cycles") == 0 ? 3 : 1, strcmp(mode, "swapped") == 0);
	if (strcmp(mode, "frameless") == 0)
		without_frame(fd, at);
	plain(fd, at, strcmp(mode, "cut") == 0);
}
