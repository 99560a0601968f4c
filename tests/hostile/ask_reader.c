/* ask_reader READER SEED COUNT FILE...: asks the reader about COUNT damaged copies of the files, or
 * with COUNT 0 about the files as they are: for names, for lines, and for unwind rules. The same
 * seed makes the same damage. However a file is made, each question has to come to an end, and the
 * next honest one to its answer: after all that, the reader is asked about this program, and a name
 * has to come back. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "daemon/cfi/table.h"
#include "daemon/symbol/readerclient.h"

#define ADDRS     8
#define HONEST    "honest_function_of_ask_reader"
#define FILES_MAX 64

struct file {
	uint8_t *bytes;
	size_t len;
};

struct tally {
	unsigned long asked, answered, refused, died;
	uint64_t slowest_ns;
};

static const char *reader_path;
static uint64_t state;

/* xorshift64 (Marsaglia 2003): any quick generator that a seed repeats. */
static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static size_t below(size_t n)
{
	return n ? (size_t)(next() % n) : 0;
}

static int spawn(void *arg, int *ret_sock, pid_t *ret_pid)
{
	int pair[2];
	pid_t pid;

	(void)arg;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		if (pair[1] == 3)
			fcntl(3, F_SETFD, 0);
		else
			dup2(pair[1], 3);
		execl(reader_path, "profiled-reader", "--memory", "536870912", "--cpu-seconds", "3",
			(char *)NULL);
		_exit(127);
	}
	close(pair[1]);
	*ret_sock = pair[0];
	*ret_pid = pid;
	return 0;
}

static int load(const char *path, struct file *f)
{
	AUTO(close_auto) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	f->len = (size_t)st.st_size;
	f->bytes = malloc(f->len + 1);
	if (!f->bytes || read(fd, f->bytes, f->len) != (ssize_t)f->len)
		return -EIO;
	return 0;
}

/* Where a mutation hits: the whole file, its headers, or one of its sections. */
static void pick_place(const struct file *f, size_t *ret_at, size_t *ret_len)
{
	Elf64_Ehdr eh;
	Elf64_Shdr sh;
	size_t table;

	*ret_at = 0;
	*ret_len = f->len;
	if (f->len < sizeof(eh))
		return;
	memcpy(&eh, f->bytes, sizeof(eh));
	table = (size_t)eh.e_shnum * sizeof(sh);
	switch (below(6)) {
	case 0: *ret_len = sizeof(eh); return;
	case 1:
		*ret_at = eh.e_phoff;
		*ret_len = (size_t)eh.e_phnum * sizeof(Elf64_Phdr);
		break;
	case 2:
		*ret_at = eh.e_shoff;
		*ret_len = table;
		break;
	case 3: return;
	default:
		if (eh.e_shoff > f->len || f->len - eh.e_shoff < table || !eh.e_shnum)
			return;
		memcpy(&sh, f->bytes + eh.e_shoff + below(eh.e_shnum) * sizeof(sh), sizeof(sh));
		if (sh.sh_type == SHT_NOBITS)
			return;
		*ret_at = sh.sh_offset;
		*ret_len = sh.sh_size;
	}
	if (*ret_at > f->len || *ret_len > f->len - *ret_at || !*ret_len) {
		*ret_at = 0;
		*ret_len = f->len;
	}
}

static void damage(struct file *f)
{
	static const uint64_t odd[] = {0, 1, UINT64_MAX, 0x7fffffff, 0x80000000, 0xffffffff,
		UINT64_C(1) << 62, UINT64_C(1) << 63, 0xfffffffffffff000};
	size_t at, len, hits = 1 + below(12);

	pick_place(f, &at, &len);
	for (size_t i = 0; i < hits && f->len > 8; i++) {
		size_t place = at + below(len);
		uint64_t value = odd[below(sizeof(odd) / sizeof(*odd))];
		size_t bytes = (size_t)1 << below(4);

		if (place > f->len - 8)
			continue;
		switch (below(3)) {
		case 0: f->bytes[place] ^= (uint8_t)(1u << below(8)); break;
		case 1: f->bytes[place] = (uint8_t)next(); break;
		default: memcpy(f->bytes + place, &value, bytes);
		}
	}
	if (below(16) == 0)
		f->len = below(f->len) + 1;
}

static int to_memfd(const struct file *f)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	if (fd >= 0 && io_write_all(fd, f->bytes, f->len) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static void count(struct tally *t, int r, int status, uint64_t begin_ns)
{
	uint64_t took = time_mono_ns() - begin_ns;

	t->asked++;
	t->died += r == -EIO;
	t->refused += r == 0 && status < 0;
	t->answered += r == 0 && status == 0;
	if (took > t->slowest_ns)
		t->slowest_ns = took;
}

/* A reader that has just died is not replaced at once. */
static int wait_for_reader(int r)
{
	struct timespec pause = {.tv_nsec = 20000000};

	if (r == -EAGAIN)
		nanosleep(&pause, NULL);
	return r == -EAGAIN;
}

static void ask_names(struct readerclient *c, struct tally *t, int fd, enum reader_op op)
{
	struct reader_fds fds = {.file = fd, .debug = -1, .alt = -1, .split = -1};
	uint64_t addrs[ADDRS], begin, step = 1 + below(4096);
	struct reader_result result;
	int r;

	addrs[0] = 0x1000 + below(1 << 16);
	for (unsigned i = 1; i < ADDRS; i++)
		addrs[i] = addrs[i - 1] + step;
	do {
		begin = time_mono_ns();
		memset(&result, 0, sizeof(result));
		r = readerclient_names(c, op, 0, &fds, addrs, ADDRS, &result);
	} while (wait_for_reader(r));
	count(t, r, result.status, begin);
	if (r == 0)
		reader_result_done(&result);
}

static void ask_rules(struct readerclient *c, struct tally *t, int fd)
{
	struct reader_result result;
	struct cfi_table *table;
	uint64_t begin;
	int r;

	do {
		begin = time_mono_ns();
		table = NULL;
		memset(&result, 0, sizeof(result));
		r = readerclient_unwind(c, fd, -1, &table, &result);
	} while (wait_for_reader(r));
	count(t, r, result.status, begin);
	if (r == 0)
		reader_result_done(&result);
	if (table) {
		munmap((void *)(uintptr_t)table->map, table->bytes);
		free(table);
	}
}

static void ask_all(struct readerclient *c, struct tally *t, const struct file *f)
{
	AUTO(close_auto) int fd = to_memfd(f);

	if (fd < 0)
		return;
	ask_names(c, t, fd, READER_SYMBOLS);
	ask_names(c, t, fd, READER_INLINES);
	ask_rules(c, t, fd);
}

__attribute__((noinline, used)) static uintptr_t honest_function_of_ask_reader(void)
{
	return (uintptr_t)__builtin_return_address(0);
}

extern const char __executable_start;

static int ask_honestly(struct readerclient *c)
{
	AUTO(close_auto) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct reader_fds fds = {.file = fd, .debug = -1, .alt = -1, .split = -1};
	uint64_t addr = (uintptr_t)honest_function_of_ask_reader - (uintptr_t)&__executable_start;
	struct reader_result result;
	bool good = false;
	int r;

	do
		r = readerclient_names(c, READER_SYMBOLS, 0, &fds, &addr, 1, &result);
	while (wait_for_reader(r));
	if (r == 0) {
		good = result.status == 0 && result.head->frame_count > 0 &&
			strcmp(result.strings + result.frames[0].name, HONEST) == 0;
		reader_result_done(&result);
	}
	return good ? 0 : -EIO;
}

int main(int argc, char **argv)
{
	AUTO(readerclient_free_auto) struct readerclient *c = NULL;
	struct file files[FILES_MAX];
	struct tally t = {0};
	unsigned long rounds;
	int file_count = argc - 4;

	if (argc < 5 || file_count > FILES_MAX) {
		fprintf(stderr, "usage: ask_reader READER SEED COUNT FILE...\n");
		return 2;
	}
	reader_path = argv[1];
	state = strtoull(argv[2], NULL, 0) * 2 + 1;
	rounds = strtoul(argv[3], NULL, 0);
	for (int i = 0; i < file_count; i++)
		if (load(argv[4 + i], &files[i]) < 0) {
			fprintf(stderr, "ask_reader: cannot read %s\n", argv[4 + i]);
			return 2;
		}
	if (readerclient_new(spawn, NULL, &c) < 0)
		return 2;
	for (int i = 0; rounds == 0 && i < file_count; i++)
		ask_all(c, &t, &files[i]);
	for (unsigned long i = 0; i < rounds; i++) {
		const struct file *from = &files[below((size_t)file_count)];
		struct file copy = {malloc(from->len + 1), from->len};

		if (!copy.bytes)
			return 2;
		memcpy(copy.bytes, from->bytes, from->len);
		damage(&copy);
		ask_all(c, &t, &copy);
		free(copy.bytes);
	}
	printf("asked %lu answered %lu refused %lu died %lu slowest_s %.2f\n", t.asked, t.answered,
		t.refused, t.died, (double)t.slowest_ns / 1e9);
	for (int i = 0; i < file_count; i++)
		free(files[i].bytes);
	if (ask_honestly(c) < 0) {
		fprintf(stderr, "ask_reader: no honest answer after that\n");
		return 1;
	}
	return 0;
}
