#include "daemon/run/footprint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "daemon/proc/procinfo.h"

#define MEASURE_NS  UINT64_C(10000000000) /* the kernel walks all pages for it */
#define MEASURED    3
#define ROLLUP_MAX  4096
#define PROCESS_MAX 4

enum { ENGINE, BROKER, OPENER, READER };
_Static_assert(READER + 1 == PROCESS_MAX, "all of them");

/* One after the other in the same role. */
struct role {
	pid_t pid;     /* 0: none runs */
	int memory_fd; /* smaps_rollup of that one; -1: may not be looked at */
	uint64_t cpu_ns;
};

struct footprint {
	struct broker *broker;
	struct role roles[PROCESS_MAX];
	uint64_t cpu_ns; /* of all */
	uint64_t measured_ns;
	size_t bytes[MEASURED]; /* the newest first */
};

int footprint_new(struct broker *b, struct footprint **ret_footprint)
{
	struct footprint *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->broker = b;
	for (unsigned i = 0; i < PROCESS_MAX; i++)
		f->roles[i].memory_fd = -1;
	*ret_footprint = f;
	return 0;
}

void footprint_free(struct footprint *f)
{
	if (!f)
		return;
	for (unsigned i = 0; i < PROCESS_MAX; i++)
		close_auto(&f->roles[i].memory_fd);
	free(f);
}

/* False: it is gone. */
static bool cpu_of(pid_t pid, uint64_t *ret_ns)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) != 0)
		return false;
	*ret_ns = (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
	return true;
}

/* One may look at oneself without any right. */
static int open_memory(struct footprint *f, pid_t pid)
{
	int fd = -1;

	if (pid == getpid())
		fd = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
	else if (broker_open_proc(f->broker, pid, 0, BROKER_PROC_MEMORY, &fd) < 0)
		return -1;
	return fd;
}

static void change_role(struct footprint *f, unsigned i, pid_t pid)
{
	struct role *r = &f->roles[i];

	if (r->pid == pid)
		return;
	close_auto(&r->memory_fd);
	*r = (struct role){.pid = pid, .memory_fd = -1};
	if (pid > 0)
		r->memory_fd = open_memory(f, pid);
}

static void find_processes(struct footprint *f)
{
	struct broker_info info;

	if (broker_get_info(f->broker, &info) < 0)
		info = (struct broker_info){0};
	change_role(f, ENGINE, getpid());
	change_role(f, BROKER, info.broker_pid == getpid() ? 0 : info.broker_pid);
	change_role(f, OPENER, info.opener_pid);
	change_role(f, READER, info.reader_pid);
}

int footprint_parse_pss(const char *text, size_t len, size_t *ret_bytes)
{
	static const char key[] = "\nPss:";
	const char *at = memmem(text, len, key, strlen(key)), *end = text + len;
	uint64_t kib = 0;

	if (!at)
		return -EINVAL;
	for (at += strlen(key); at < end && *at == ' ';)
		at++;
	if (at == end || *at < '0' || *at > '9')
		return -EINVAL;
	for (; at < end && *at >= '0' && *at <= '9'; at++)
		kib = kib > UINT32_MAX ? kib : kib * 10 + (uint64_t)(*at - '0');
	*ret_bytes = (size_t)kib << 10;
	return 0;
}

static size_t memory_of(struct footprint *f, const struct role *r)
{
	struct procinfo info;
	char text[ROLLUP_MAX];
	size_t bytes;
	ssize_t n = r->memory_fd >= 0 ? pread(r->memory_fd, text, sizeof(text), 0) : -1;

	if (n > 0 && footprint_parse_pss(text, (size_t)n, &bytes) == 0)
		return bytes;
	return r->pid > 0 && procinfo_read_stat(f->broker, r->pid, &info) == 0 ? info.rss_bytes : 0;
}

static void measure(struct footprint *f, uint64_t now_ns)
{
	/* What was long ago says nothing. */
	bool first = f->measured_ns == 0 || now_ns - f->measured_ns > MEASURED * MEASURE_NS;
	size_t bytes = 0;

	f->measured_ns = now_ns;
	find_processes(f);
	for (unsigned i = 0; i < PROCESS_MAX; i++)
		bytes += memory_of(f, &f->roles[i]);
	for (unsigned i = MEASURED - 1; i > 0; i--)
		f->bytes[i] = first ? bytes : f->bytes[i - 1];
	f->bytes[0] = bytes;
}

static size_t median(size_t a, size_t b, size_t c)
{
	size_t low = a < b ? a : b, high = a < b ? b : a;

	return c < low ? low : c > high ? high : c;
}

void footprint_look(struct footprint *f, uint64_t now_ns, struct footprint_now *ret_now)
{
	if (f->measured_ns == 0 || now_ns - f->measured_ns >= MEASURE_NS)
		measure(f, now_ns);
	for (unsigned i = 0; i < PROCESS_MAX; i++) {
		struct role *r = &f->roles[i];
		uint64_t cpu_ns;

		if (r->pid <= 0 || !cpu_of(r->pid, &cpu_ns) || cpu_ns < r->cpu_ns)
			continue;
		f->cpu_ns += cpu_ns - r->cpu_ns;
		r->cpu_ns = cpu_ns;
	}
	ret_now->cpu_ns = f->cpu_ns;
	ret_now->bytes = median(f->bytes[0], f->bytes[1], f->bytes[2]);
}
