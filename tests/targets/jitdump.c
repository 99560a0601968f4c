/* jitdump MODE [SECONDS]: runs code that it makes itself and writes ./jit-PID.dump for it, mapped
 * as perf wants it. plain: dumped_fn, made.src:7, with a perf map that calls it map_fn. anew: two
 * seconds of old_name_A, then at the same address new_name_B. cycles: as anew, with times of
 * another clock. flag: as plain, where the header claims another clock. swapped: as anew, where the
 * two loads stand in the file in the other order. cut: as plain, with the first half of another
 * record behind it. */
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

static void put_load(int fd, unsigned char *at, const char *name, uint64_t t_ns)
{
	static uint64_t index;
	struct load l = {.total = (uint32_t)(sizeof(l) + strlen(name) + 1 + sizeof(code)),
		.t_ns = t_ns,
		.pid = (uint32_t)getpid(),
		.tid = (uint32_t)getpid(),
		.vma = (uintptr_t)at,
		.addr = (uintptr_t)at,
		.size = sizeof(code),
		.index = ++index};

	put(fd, &l, sizeof(l));
	put(fd, name, strlen(name) + 1);
	put(fd, at, sizeof(code));
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
	plain(fd, at, strcmp(mode, "cut") == 0);
}
