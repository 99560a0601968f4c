/* Inline frames and lines of many addresses of one file, as the engine asks the reader for them.
 *
 *   inlines READER FILE [ADDRESSES]
 *
 * One JSON object on standard output: how long it took on the wall, and what the reader used. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/parse.h"
#include "daemon/symbol/module.h"
#include "daemon/symbol/readerclient.h"

#define ADDRESSES    10000u
#define READER_FD    3
#define MEMORY_BYTES "536870912" /* as profiled has it by default, and so the seconds */
#define CPU_SECONDS  "3"

static int spawn_reader(void *arg, int *ret_sock, pid_t *ret_pid)
{
	const char *program = arg;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return -errno;
	*ret_pid = fork();
	if (*ret_pid == 0) {
		if (pair[1] == READER_FD)
			fcntl(READER_FD, F_SETFD, 0);
		else
			dup2(pair[1], READER_FD);
		execl(program, "profiled-reader", "--memory", MEMORY_BYTES, "--cpu-seconds",
			CPU_SECONDS, NULL);
		_exit(127);
	}
	close(pair[1]);
	*ret_sock = pair[0];
	return *ret_pid < 0 ? -errno : 0;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Spread evenly over the code, by the file's largest segment of it, each once. */
static uint32_t pick(const struct module *m, uint64_t *addrs, uint32_t count)
{
	const struct module_segment *code = NULL;
	uint64_t step;
	uint32_t kept = 0;

	for (unsigned i = 0; i < m->segment_count; i++)
		if (m->segments[i].exec && (!code || m->segments[i].file_bytes > code->file_bytes))
			code = &m->segments[i];
	if (!code || code->file_bytes < count)
		return 0;
	step = code->file_bytes / count;
	srandom(7);
	for (uint32_t i = 0; i < count; i++)
		addrs[i] = code->vaddr + i * step + (uint64_t)random() % step;
	qsort(addrs, count, sizeof(*addrs), by_value);
	for (uint32_t i = 0; i < count; i++)
		if (kept == 0 || addrs[i] != addrs[kept - 1])
			addrs[kept++] = addrs[i];
	return kept;
}

static uint64_t status_kib(pid_t pid, const char *key)
{
	AUTO(buf_done) struct buf text = BUF_INIT;
	char path[40];
	const char *at;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (io_read_file(path, 1 << 16, &text) < 0 || !(at = strstr(text.data, key)))
		return 0;
	return strtoull(at + strlen(key), NULL, 10);
}

static uint64_t cpu_ns(pid_t pid)
{
	AUTO(buf_done) struct buf text = BUF_INIT;
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	return io_read_file(path, 100, &text) < 0 ? 0 : strtoull(text.data, NULL, 10);
}

static void print(const struct reader_result *r, pid_t pid, uint32_t count, uint64_t wall_ns)
{
	uint32_t inlined = 0, lines = 0, named = 0;

	for (uint32_t i = 0; i < r->head->frame_count; i++) {
		inlined += r->frames[i].inlined;
		lines += r->frames[i].line > 0;
	}
	for (uint32_t i = 0; i < count; i++)
		named += r->starts[i + 1] > r->starts[i];
	printf("{\"addresses\": %u, \"named\": %u, \"frames\": %u, \"inlined\": %u, \"lines\": %u, "
	       "\"cut\": %s, \"wall_ms\": %.1f, \"cpu_ms\": %.1f, \"peak_mib\": %.1f, "
	       "\"own_peak_mib\": %.1f}\n",
		count, named, r->head->frame_count, inlined, lines,
		r->flags & READER_FLAG_DWARF_CUT ? "true" : "false", (double)wall_ns / 1e6,
		(double)cpu_ns(pid) / 1e6, (double)status_kib(pid, "VmHWM:") / 1024,
		(double)status_kib(pid, "VmData:") / 1024);
}

static int ask(struct readerclient *c, struct module *m, const uint64_t *addrs, uint32_t count)
{
	struct reader_fds files = {.file = m->fd, .debug = -1, .alt = -1, .split = -1};
	struct readerclient_stats stats;
	struct reader_result result;
	uint64_t begin_ns = time_mono_ns();
	int r = readerclient_names(c, READER_INLINES, 0, &files, addrs, count, &result);
	uint64_t end_ns = time_mono_ns();

	if (r == 0)
		r = result.status;
	if (r < 0)
		return r;
	readerclient_get_stats(c, &stats);
	print(&result, stats.pid, count, end_ns - begin_ns);
	reader_result_done(&result);
	return 0;
}

static int run(char **argv, uint64_t wanted)
{
	AUTO(free_auto) uint64_t *addrs = calloc(wanted, sizeof(*addrs));
	struct readerclient *c = NULL;
	struct module *m = NULL;
	int fd = open(argv[2], O_RDONLY | O_CLOEXEC), r;

	if (!addrs || fd < 0)
		return -errno;
	r = module_new(1, argv[2], fd, &m);
	if (r == 0)
		r = readerclient_new(spawn_reader, argv[1], &c);
	if (r == 0)
		r = ask(c, m, addrs, pick(m, addrs, (uint32_t)wanted));
	readerclient_free(c);
	module_unref(m);
	return r;
}

int main(int argc, char **argv)
{
	uint64_t wanted = ADDRESSES;
	int r;

	if (argc < 3 || argc > 4 ||
		(argc == 4 && (parse_u64(argv[3], READER_ADDRS_MAX, &wanted) < 0 || !wanted))) {
		fputs("usage: inlines READER FILE [ADDRESSES]\n", stderr);
		return 2;
	}
	r = run(argv, wanted);
	if (r < 0)
		fprintf(stderr, "inlines: %s: %s\n", argv[2], strerror(-r));
	return r < 0;
}
