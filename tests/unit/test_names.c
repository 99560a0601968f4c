/* Names as the engine asks for them: the reader in its sandbox, debug files, caching, back-off. The
 * broker is played by this test. */
#include "config.h"
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "base/io.h"
#include "daemon/cfi/table.h"
#include "daemon/proc/procinfo.h"
#include "daemon/reader/request.h"
#include "daemon/symbol/names.h"
#include "tests/unit/build_elf.h"
#include "tests/unit/jit_bytes.h"

/* The broker: files below the test's folder stand for the target's and the host's. */
static int opened_elf;
static const char *kallsyms_text;
static const char *perfmap_name;
static struct procinfo process = {.pid = 42, .start_ticks = 1, .ns_pid = 7};
static int perfmap_ns_pid;

int broker_open_elf(struct broker *b, pid_t pid, const char *path, int *ret_fd)
{
	char inside[512];

	opened_elf++;
	/* Paths of the target may already lie in the folder, as its module does. */
	snprintf(inside, sizeof(inside), "%s%s",
		strncmp(path, build_dir, strlen(build_dir)) == 0 ? "" : build_dir, path);
	*ret_fd = open(inside, O_RDONLY | O_CLOEXEC);
	return *ret_fd < 0 ? -errno : 0;
}

int broker_open_host(struct broker *b, enum broker_host what, int *ret_fd)
{
	assert_int_equal(what, BROKER_HOST_KALLSYMS);
	if (!kallsyms_text)
		return -EACCES;
	*ret_fd = memfd_create("kallsyms", MFD_CLOEXEC);
	assert_int_equal(io_write_all(*ret_fd, kallsyms_text, strlen(kallsyms_text)), 0);
	lseek(*ret_fd, 0, SEEK_SET);
	return 0;
}

int broker_open_perfmap(struct broker *b, pid_t pid, pid_t ns_pid, int *ret_fd)
{
	perfmap_ns_pid = ns_pid;
	*ret_fd = perfmap_name ? build_open(perfmap_name) : -1;
	return *ret_fd < 0 ? -ENOENT : 0;
}

static const char *jitdump_name;
static const char *maps_text;

int broker_open_proc(struct broker *b, pid_t pid, pid_t tid, enum broker_proc what, int *ret_fd)
{
	assert_int_equal(what, BROKER_PROC_MAPS);
	if (!maps_text)
		return -ESRCH;
	*ret_fd = memfd_create("maps", MFD_CLOEXEC);
	assert_int_equal(io_write_all(*ret_fd, maps_text, strlen(maps_text)), 0);
	lseek(*ret_fd, 0, SEEK_SET);
	return 0;
}

int broker_open_jitdump(struct broker *b, pid_t pid, uint64_t start, uint64_t end, const char *path,
	dev_t dev, uint64_t inode, int *ret_fd)
{
	assert_int_equal(start, 0x7000);
	assert_int_equal(inode, 99);
	assert_string_equal(path, "/x/jit-7.dump");
	*ret_fd = jitdump_name ? build_open(jitdump_name) : -1;
	return *ret_fd < 0 ? -EACCES : 0;
}

int broker_new_reader(struct broker *b, int *ret_sock, pid_t *ret_pid)
{
	return -EPERM;
}

int procinfo_read(struct broker *b, pid_t pid, struct procinfo *ret_info)
{
	if (process.pid != pid)
		return -ESRCH;
	*ret_info = process;
	return 0;
}

int procinfo_read_stat(struct broker *b, pid_t pid, struct procinfo *ret_info)
{
	return procinfo_read(b, pid, ret_info);
}

/* Readers: a process each. */
static pid_t reader;
static int spawned;

static void end_reader(void)
{
	if (reader > 0) {
		kill(reader, SIGKILL);
		waitpid(reader, NULL, 0);
	}
	reader = 0;
}

static int spawn(void *arg, int *ret_sock, pid_t *ret_pid)
{
	int pair[2];

	end_reader();
	spawned++;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return -errno;
	reader = fork();
	if (reader == 0) {
		if (pair[1] == 3)
			fcntl(3, F_SETFD, 0);
		else
			dup2(pair[1], 3);
		execl("./profiled-reader", "profiled-reader", "--memory", "536870912",
			"--cpu-seconds", "3", NULL);
		_exit(127);
	}
	close(pair[1]);
	*ret_sock = pair[0];
	*ret_pid = reader;
	return reader < 0 ? -errno : 0;
}

/* Readers that die over some questions. */
static bool (*dies_over)(const struct reader_request *req);
static uint32_t more_flags; /* in its answers */

static void serve_until_death(int sock)
{
	struct reader_request req;
	struct reader_reply reply;
	int fds[3];
	size_t n = 3;

	while (io_recv_fds(sock, &req, sizeof(req), fds, &n) == sizeof(req) && !dies_over(&req)) {
		reader_handle(&req, fds, n, 0, &reply);
		reply.head.flags |= more_flags;
		io_send_fds(sock, &reply.head, sizeof(reply.head), &reply.fd, reply.fd >= 0);
		for (n = 0; n < 3; n++)
			close(fds[n]);
	}
	_exit(0);
}

static int spawn_fragile(void *arg, int *ret_sock, pid_t *ret_pid)
{
	int pair[2];

	end_reader();
	spawned++;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return -errno;
	reader = fork();
	if (reader == 0) {
		close(pair[0]);
		serve_until_death(pair[1]);
	}
	close(pair[1]);
	*ret_sock = pair[0];
	*ret_pid = reader;
	return 0;
}

/* The clock of back-off. */
static uint64_t clock_ahead_ns;
uint64_t __real_time_mono_ns(void);
uint64_t __wrap_time_mono_ns(void);
uint64_t __wrap_time_mono_ns(void)
{
	return __real_time_mono_ns() + clock_ahead_ns;
}

/* A module as the sampler would pin it, without the parts that names has no use for. */
static struct module module_of(const char *file)
{
	static uint32_t id;
	struct module m = {.fd = build_open(file), .pid = 42};
	struct stat st;

	m.id = ++id;
	m.path = strdup(build_path(file));
	assert_int_equal(fstat(m.fd, &st), 0);
	m.dev = st.st_dev;
	m.inode = st.st_ino;
	return m;
}

static void module_end(struct module *m)
{
	close(m->fd);
	free(m->path);
}

static struct names *new_names(void)
{
	struct names *n = NULL;

	spawned = opened_elf = 0;
	assert_int_equal(names_new_with_reader((struct broker *)1, spawn, NULL, 16u << 20, &n), 0);
	return n;
}

static void end_names(struct names *n)
{
	names_free(n);
	end_reader();
}

/* "inner<outer" for one address; "" without a name. */
static const char *ask(struct names *n, struct module *m, uint64_t addr, enum names_want want)
{
	static char text[1024];
	struct name_answer a;

	text[0] = 0;
	if (names_of_module(n, m, &addr, 1, want, &a) < 0)
		return "error";
	assert_int_equal(a.count, 1);
	for (uint32_t i = a.starts[0]; i < a.starts[1]; i++) {
		if (text[0])
			strcat(text, "<");
		strcat(text, a.frames[i].name);
	}
	names_release(&a);
	return text;
}

static const char source[] =
	"static volatile unsigned long sink;\n"
	"static inline __attribute__((always_inline)) void in_deep(int k) {\n"
	"	for (int i = 0; i < k; i++) sink++;\n"
	"}\n"
	"__attribute__((noinline)) void outer_fn(int k) { in_deep(k); sink ^= 1; }\n"
	"int main(int c, char **v) { for (;;) outer_fn(c); }\n";

static uint64_t deep; /* an address inside in_deep */

static void build_programs(void)
{
	assert_int_equal(build_c("prog", source, "-O2 -g"), 0);
	deep = build_symbol("prog", "outer_fn") + 0x18;
	assert_int_equal(build_run("objcopy --only-keep-debug prog prog.debug && "
				   "strip prog -o bare && "
				   "objcopy --add-gnu-debuglink=prog.debug bare && rm -f other* && "
				   "sed s/outer_fn/liar_fn/ prog.c >other.c && "
				   "cc -w -O2 -g other.c -o other && "
				   "objcopy --only-keep-debug other other.debug"),
		0);
	assert_int_equal(
		build_run("mkdir -p ok bad hid/.debug none sys && cp bare ok && "
			  "cp prog.debug ok && cp bare bad && cp other.debug bad/prog.debug && "
			  "cp bare hid && cp prog.debug hid/.debug && cp bare none"),
		0);
}

static void named_and_cached(void **state)
{
	struct names *n = new_names();
	struct module m = module_of("prog");
	struct names_stats s;

	assert_string_equal(ask(n, &m, deep, NAMES_PLAIN), "outer_fn");
	assert_string_equal(ask(n, &m, deep, NAMES_INLINES), "in_deep<outer_fn");
	names_get_stats(n, &s);
	uint64_t requests = s.reader_requests;
	assert_string_equal(ask(n, &m, deep, NAMES_INLINES), "in_deep<outer_fn");
	assert_string_equal(ask(n, &m, deep, NAMES_PLAIN), "outer_fn");
	names_get_stats(n, &s);
	assert_int_equal(s.reader_requests, requests);
	assert_int_equal(s.hits, 2);
	assert_int_equal(s.misses, 2);
	assert_true(s.cache_bytes > 0);
	assert_int_equal(s.reader_pid, reader);
	assert_int_equal(opened_elf, 0); /* it has all by itself */
	module_end(&m);
	end_names(n);
}

static void debug_file_beside(void **state)
{
	struct names *n = new_names();
	struct module ok = module_of("ok/bare"), hid = module_of("hid/bare");

	assert_string_equal(ask(n, &ok, deep, NAMES_INLINES), "in_deep<outer_fn");
	assert_string_equal(ask(n, &hid, deep, NAMES_PLAIN), "outer_fn");
	module_end(&ok);
	module_end(&hid);
	end_names(n);
}

static void debug_file_of_another_build(void **state)
{
	struct names *n = new_names();
	struct module m = module_of("bad/bare");
	struct names_stats s;

	assert_string_equal(ask(n, &m, deep, NAMES_INLINES), "");
	assert_string_equal(ask(n, &m, deep + 1, NAMES_INLINES), "");
	names_get_stats(n, &s);
	assert_int_equal(s.debug_mismatches, 1);
	assert_int_equal(s.reader_deaths, 0);
	module_end(&m);
	end_names(n);
}

static void debug_file_by_build_id(void **state)
{
	struct names *n = new_names();
	struct module m = module_of("none/bare");

	assert_int_equal(
		build_run("id=$(readelf -n none/bare | sed -n 's/.*Build ID: //p') && "
			  "d=usr/lib/debug/.build-id/$(echo $id | cut -c1-2) && mkdir -p $d && "
			  "cp prog.debug $d/$(echo $id | cut -c3-).debug"),
		0);
	assert_string_equal(ask(n, &m, deep, NAMES_INLINES), "in_deep<outer_fn");
	assert_int_equal(build_run("rm -r usr"), 0);
	module_end(&m);
	end_names(n);
}

static void missing_debug_file(void **state)
{
	struct names *n = new_names();
	struct module m = module_of("none/bare");

	assert_string_equal(ask(n, &m, deep, NAMES_INLINES), "");
	assert_true(opened_elf >= 4);
	int tried = opened_elf;
	assert_string_equal(ask(n, &m, deep + 1, NAMES_INLINES), "");
	assert_int_equal(opened_elf, tried); /* not looked for each time */
	module_end(&m);
	end_names(n);
}

static void unopened_module_has_no_names(void **state)
{
	struct names *n = new_names();
	struct module m = {.id = 9999, .fd = -1, .error = -EACCES, .path = (char *)"/x"};

	assert_string_equal(ask(n, &m, 0x1000, NAMES_PLAIN), "");
	assert_int_equal(spawned, 0);
	end_names(n);
}

static void refused_file_is_left_alone(void **state)
{
	struct names *n = new_names();
	struct module m;
	struct names_stats s;

	assert_int_equal(build_run("head -c 4096 /dev/zero >zeros"), 0);
	m = module_of("zeros");
	assert_string_equal(ask(n, &m, 0x1000, NAMES_PLAIN), "error");
	names_get_stats(n, &s);
	assert_int_equal(s.unreadable_modules, 1);
	assert_true(s.reader_refusals > 0);
	uint64_t requests = s.reader_requests;
	assert_string_equal(ask(n, &m, 0x1000, NAMES_PLAIN), "error");
	names_get_stats(n, &s);
	assert_int_equal(s.reader_requests, requests); /* in back-off */
	module_end(&m);
	end_names(n);
}

static void killed_reader_is_replaced(void **state)
{
	struct names *n = new_names();
	struct module m = module_of("prog");
	struct names_stats s;

	assert_string_equal(ask(n, &m, deep, NAMES_PLAIN), "outer_fn");
	end_reader();
	assert_string_equal(ask(n, &m, deep + 1, NAMES_INLINES), "in_deep<outer_fn");
	names_get_stats(n, &s);
	assert_int_equal(s.reader_deaths, 1);
	assert_int_equal(s.unreadable_modules, 0);
	assert_int_equal(spawned, 2);
	module_end(&m);
	end_names(n);
}

static bool over_dwarf(const struct reader_request *req)
{
	return req->op == READER_INLINES;
}

static bool over_demangling(const struct reader_request *req)
{
	return !(req->flags & READER_WITH_RAW_NAMES);
}

static bool over_anything(const struct reader_request *req)
{
	return true;
}

static struct names *fragile_names(bool (*over)(const struct reader_request *req))
{
	struct names *n = NULL;

	spawned = opened_elf = 0;
	dies_over = over;
	assert_int_equal(
		names_new_with_reader((struct broker *)1, spawn_fragile, NULL, 16u << 20, &n), 0);
	return n;
}

static uint64_t deaths(struct names *n)
{
	struct names_stats s;

	names_get_stats(n, &s);
	return s.reader_deaths;
}

static void without_dwarf_when_that_kills_the_reader(void **state)
{
	struct names *n = fragile_names(over_dwarf);
	struct module m = module_of("prog");

	assert_string_equal(ask(n, &m, deep, NAMES_INLINES), "outer_fn");
	assert_int_equal(deaths(n), 1);
	/* It is not tried again at once, and what was found is cached. */
	assert_string_equal(ask(n, &m, deep + 1, NAMES_INLINES), "outer_fn");
	assert_string_equal(ask(n, &m, deep, NAMES_INLINES), "outer_fn");
	assert_int_equal(deaths(n), 1);
	/* Later it is: twice as long after each time. */
	clock_ahead_ns += 1100000000;
	assert_string_equal(ask(n, &m, deep, NAMES_INLINES), "outer_fn");
	assert_int_equal(deaths(n), 2);
	clock_ahead_ns += 1100000000;
	assert_string_equal(ask(n, &m, deep + 1, NAMES_INLINES), "outer_fn");
	assert_int_equal(deaths(n), 2);
	clock_ahead_ns += 1000000000;
	assert_string_equal(ask(n, &m, deep + 1, NAMES_INLINES), "outer_fn");
	assert_int_equal(deaths(n), 3);
	module_end(&m);
	end_names(n);
}

static void without_demangling_when_that_kills_the_reader(void **state)
{
	struct names *n;
	struct module m;
	uint64_t addr;

	assert_int_equal(
		build_c("mangled", "int _Z6mangleiv(int k){return k;} int main(void){return 0;}",
			"-g"),
		0);
	addr = build_symbol("mangled", "_Z6mangleiv");
	m = module_of("mangled");
	n = fragile_names(over_demangling);
	assert_string_equal(ask(n, &m, addr, NAMES_PLAIN), "_Z6mangleiv");
	module_end(&m);
	end_names(n);
}

static void left_alone_when_all_kills_the_reader(void **state)
{
	struct names *n = fragile_names(over_anything);
	struct module m = module_of("prog");
	struct names_stats s;
	uint64_t first;

	assert_string_equal(ask(n, &m, deep, NAMES_PLAIN), "error");
	names_get_stats(n, &s);
	assert_int_equal(s.unreadable_modules, 1);
	first = deaths(n);
	assert_int_equal(first, 3);
	assert_string_equal(ask(n, &m, deep, NAMES_INLINES), "error");
	assert_int_equal(deaths(n), first);
	/* 1 s, 2 s, 4 s … 5 min. */
	for (uint64_t pause = 1; pause < 1024; pause *= 2) {
		uint64_t ns = (pause < 300 ? pause : 300) * 1000000000u;
		clock_ahead_ns += ns - 500000000;
		assert_string_equal(ask(n, &m, deep, NAMES_PLAIN), "error");
		assert_int_equal(deaths(n), first);
		clock_ahead_ns += 500000000;
		assert_string_equal(ask(n, &m, deep, NAMES_PLAIN), "error");
		assert_true(deaths(n) > first);
		first = deaths(n);
	}
	/* Once the reader survives it, all is as it was. */
	clock_ahead_ns += 301000000000;
	dies_over = over_dwarf;
	assert_string_equal(ask(n, &m, deep, NAMES_PLAIN), "outer_fn");
	names_get_stats(n, &s);
	assert_int_equal(s.unreadable_modules, 0);
	module_end(&m);
	end_names(n);
}

static bool over_nothing(const struct reader_request *req)
{
	return false;
}

/* Cut short because the machine was busy: kept for a while only. */
static void cut_answers_are_asked_for_again(void **state)
{
	struct names *n;
	struct module m = module_of("prog");
	struct names_stats s;
	uint64_t requests;

	more_flags = READER_FLAG_DWARF_CUT;
	n = fragile_names(over_nothing);
	assert_string_equal(ask(n, &m, deep, NAMES_INLINES), "in_deep<outer_fn");
	more_flags = 0;
	names_get_stats(n, &s);
	requests = s.reader_requests;
	clock_ahead_ns += 30000000000;
	assert_string_equal(ask(n, &m, deep, NAMES_INLINES), "in_deep<outer_fn");
	names_get_stats(n, &s);
	assert_int_equal(s.reader_requests, requests);
	clock_ahead_ns += 31000000000;
	assert_string_equal(ask(n, &m, deep, NAMES_INLINES), "in_deep<outer_fn");
	names_get_stats(n, &s);
	assert_int_equal(s.reader_requests, requests + 1);
	module_end(&m);
	end_names(n);
}

/* Fewer are asked for when many do not come in time. */
static void cut_batches_are_made_smaller(void **state)
{
	static uint64_t addrs[10000];
	struct module m = module_of("prog");
	struct names_stats s;
	struct name_answer a;
	struct names *n;

	for (unsigned i = 0; i < 10000; i++)
		addrs[i] = 0x100000 + i;
	n = fragile_names(over_nothing);
	assert_int_equal(names_of_module(n, &m, addrs, 10000, NAMES_INLINES, &a), 0);
	names_release(&a);
	names_get_stats(n, &s);
	assert_int_equal(s.reader_requests, 2); /* a look at the file, and one for all */
	end_names(n);
	more_flags = READER_FLAG_DWARF_CUT;
	n = fragile_names(over_nothing);
	assert_int_equal(names_of_module(n, &m, addrs, 10000, NAMES_INLINES, &a), 0);
	names_release(&a);
	names_get_stats(n, &s);
	assert_int_equal(s.reader_requests, 5);
	more_flags = 0;
	module_end(&m);
	end_names(n);
}

static unsigned open_fds(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void few_debug_files_stay_open(void **state)
{
	struct names *n = new_names();
	struct module m[80];
	unsigned before;

	for (int i = 0; i < 80; i++)
		m[i] = module_of("ok/bare");
	before = open_fds();
	for (int i = 0; i < 80; i++)
		assert_string_equal(ask(n, &m[i], deep, NAMES_PLAIN), "outer_fn");
	assert_in_range(open_fds(), before + 32, before + 70);
	/* One that was closed is found again. */
	assert_string_equal(ask(n, &m[0], deep, NAMES_INLINES), "in_deep<outer_fn");
	for (int i = 0; i < 80; i++)
		module_end(&m[i]);
	end_names(n);
}

/* Debug sections that unpack to a thousand times their size. */
static void packed_trap_costs_nothing(void **state)
{
	struct names *n = new_names();
	struct module m;

	assert_int_equal(build_write("trap.S",
				 ".section .debug_info,\"\",@progbits\n"
				 ".skip 0x800000\n"
				 ".section .note.GNU-stack,\"\",@progbits\n"),
		0);
	assert_int_equal(build_c("trap", source, "-O2 trap.S"), 0);
	assert_int_equal(build_run("objcopy --compress-debug-sections=zlib trap"), 0);
	m = module_of("trap");
	assert_string_equal(
		ask(n, &m, build_symbol("trap", "outer_fn"), NAMES_INLINES), "outer_fn");
	assert_int_equal(deaths(n), 0);
	module_end(&m);
	end_names(n);
}

/* A line of a file of the reader's in /proc, "" without it. */
static const char *proc_line(const char *file, const char *start)
{
	static char text[4096];
	char path[64], *at;
	struct buf b = BUF_INIT;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)reader, file);
	assert_int_equal(io_read_file(path, sizeof(text), &b), 0);
	at = strstr(b.data, start);
	snprintf(text, sizeof(text), "%s", at ? at : "");
	text[strcspn(text, "\n")] = 0;
	buf_done(&b);
	return text;
}

static void reader_is_shut_in(void **state)
{
	struct names *n = new_names();
	struct module m = module_of("prog");
	unsigned long long soft = 0;

	assert_string_equal(ask(n, &m, deep, NAMES_PLAIN), "outer_fn");
	assert_string_equal(proc_line("status", "CapEff:"), "CapEff:\t0000000000000000");
	assert_string_equal(proc_line("status", "NoNewPrivs:"), "NoNewPrivs:\t1");
	assert_int_equal(
		sscanf(proc_line("limits", "Max open files"), "Max open files %llu", &soft), 1);
	assert_in_range(soft, 1, 64);
	assert_int_equal(
		sscanf(proc_line("limits", "Max core file size"), "Max core file size %llu", &soft),
		1);
	assert_int_equal(soft, 0);
#ifndef PFL_SANITIZED
	assert_string_equal(proc_line("status", "Seccomp:"), "Seccomp:\t2");
	assert_int_equal(
		sscanf(proc_line("limits", "Max data size"), "Max data size %llu", &soft), 1);
	assert_int_equal(soft, 512u << 20);
#endif
	module_end(&m);
	end_names(n);
}

static void answers_outlive_eviction_and_names(void **state)
{
	struct names *n = NULL;
	struct module m = module_of("prog"), o = module_of("other");
	struct name_answer a;
	struct names_stats s;

	/* A cache of nothing: each batch is evicted at once. */
	assert_int_equal(names_new_with_reader((struct broker *)1, spawn, NULL, 1, &n), 0);
	assert_int_equal(names_of_module(n, &m, &deep, 1, NAMES_PLAIN, &a), 0);
	assert_string_equal(ask(n, &o, deep, NAMES_PLAIN), "liar_fn");
	names_get_stats(n, &s);
	assert_int_equal(s.evictions, 2);
	end_names(n);
	assert_string_equal(a.frames[0].name, "outer_fn");
	names_release(&a);
	module_end(&m);
	module_end(&o);
}

struct asker {
	struct names *names;
	struct module *module;
	pthread_t thread;
	unsigned number;
	bool wrong;
};

/* Asserts are for the main thread: this one only takes notes. */
static void *ask_again_and_again(void *arg)
{
	struct asker *a = arg;

	for (unsigned i = 0; i < 40 && !a->wrong; i++) {
		uint64_t addrs[2] = {deep, deep + 1 + (i + a->number) % 4};
		struct name_answer answer;
		enum names_want want = (i + a->number) % 2 ? NAMES_INLINES : NAMES_PLAIN;

		if (names_of_module(a->names, a->module, addrs, 2, want, &answer) < 0) {
			a->wrong = true;
			break;
		}
		a->wrong = answer.count != 2 || answer.starts[2] < 2 ||
			strcmp(answer.frames[answer.starts[2] - 1].name, "outer_fn") != 0;
		names_release(&answer);
	}
	return NULL;
}

static void many_ask_at_once(void **state)
{
	struct module m[2] = {module_of("prog"), module_of("prog")};
	struct asker askers[4];
	struct names *n = NULL;

	/* With a cache that holds next to nothing, so that all of them evict all the time. */
	assert_int_equal(names_new_with_reader((struct broker *)1, spawn, NULL, 9000, &n), 0);
	for (unsigned i = 0; i < 4; i++) {
		askers[i] = (struct asker){.names = n, .module = &m[i % 2], .number = i};
		assert_int_equal(
			pthread_create(&askers[i].thread, NULL, ask_again_and_again, &askers[i]),
			0);
	}
	for (unsigned i = 0; i < 4; i++) {
		pthread_join(askers[i].thread, NULL);
		assert_false(askers[i].wrong);
	}
	module_end(&m[0]);
	module_end(&m[1]);
	end_names(n);
}

static void kernel_names(void **state)
{
	struct names *n = new_names();
	uint64_t addrs[] = {0xffffffff81000010, 0xffffffff81000110};
	struct name_answer a;

	kallsyms_text = "0000000000000000 T one\n0000000000000000 t two\n";
	assert_int_equal(names_of_kernel(n, addrs, 2, &a), 0);
	assert_true(names_kernel_hidden(n));
	assert_int_equal(a.starts[2], 0);
	names_release(&a);

	/* They come back as soon as they are shown, */
	kallsyms_text = "ffffffff81000000 T one\nffffffff81000100 t two\n";
	assert_int_equal(names_of_kernel(n, addrs, 2, &a), 0);
	assert_false(names_kernel_hidden(n));
	assert_int_equal(a.starts[2], 2);
	assert_string_equal(a.frames[0].name, "one");
	assert_string_equal(a.frames[1].name, "two");
	/* and are gone as soon as they are not. */
	kallsyms_text = "0000000000000000 T one\n0000000000000000 t two\n";
	struct name_answer none;
	assert_int_equal(names_of_kernel(n, addrs, 2, &none), 0);
	assert_true(names_kernel_hidden(n));
	assert_int_equal(none.starts[2], 0);
	names_release(&none);
	/* No right to read them at all. */
	kallsyms_text = NULL;
	assert_int_equal(names_of_kernel(n, addrs, 2, &none), 0);
	assert_true(names_kernel_hidden(n));
	names_release(&none);
	names_free(n);
	assert_string_equal(a.frames[1].name, "two");
	names_release(&a);
}

static const char *jit(struct names *n, uint64_t start_ticks, uint64_t addr)
{
	static char text[256];
	struct name_answer a;

	assert_int_equal(names_of_jit(n, 42, start_ticks, &addr, 1, &a), 0);
	snprintf(text, sizeof(text), "%s", a.starts[1] ? a.frames[0].name : "");
	names_release(&a);
	return text;
}

/* Modules come and go: what is older than a minute is read again. */
static void kernel_names_are_read_again(void **state)
{
	struct names *n = new_names();
	uint64_t addr = 0xffffffff81000010;
	struct name_answer a;

	kallsyms_text = "ffffffff81000000 T before\n";
	assert_int_equal(names_of_kernel(n, &addr, 1, &a), 0);
	names_release(&a);
	kallsyms_text = "ffffffff81000000 T after\n";
	assert_int_equal(names_of_kernel(n, &addr, 1, &a), 0);
	assert_string_equal(a.frames[0].name, "before");
	names_release(&a);
	clock_ahead_ns += 61000000000;
	assert_int_equal(names_of_kernel(n, &addr, 1, &a), 0);
	assert_string_equal(a.frames[0].name, "after");
	names_release(&a);
	names_free(n);
}

static void jit_names_outlive_the_process(void **state)
{
	struct names *n = new_names();

	assert_int_equal(build_write("map", "1000 100 void Foo.bar(int, java.lang.String)\n"), 0);
	perfmap_name = "map";
	process.pid = 42;
	names_jit_refresh(n, 42, 1);
	assert_int_equal(perfmap_ns_pid, 7);
	/* Its last words are read when it is gone, and its map too. */
	assert_int_equal(build_run("echo 2000 100 last >>map && rm map"), 0);
	process.pid = 0;
	perfmap_name = NULL;
	assert_string_equal(jit(n, 1, 0x1080), "void Foo.bar(int, java.lang.String)");
	assert_string_equal(jit(n, 1, 0x2080), "last");
	/* Another process with its pid has none of its names. */
	assert_string_equal(jit(n, 2, 0x1080), "");
	process.pid = 42;
	end_names(n);
}

static void jit_map_of_another_process_is_not_read(void **state)
{
	struct names *n = new_names();
	struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};

	assert_int_equal(build_write("map", "1000 100 fn\n"), 0);
	perfmap_name = "map";
	process.start_ticks = 5; /* not the one that is asked about */
	assert_string_equal(jit(n, 4, 0x1080), "");
	/* Older than the process. */
	assert_int_equal(utimensat(AT_FDCWD, build_path("map"), old, 0), 0);
	assert_string_equal(jit(n, 5, 0x1080), "");
	assert_int_equal(build_run("touch map"), 0);
	assert_string_equal(jit(n, 5, 0x1080), "fn");
	process.start_ticks = 1;
	perfmap_name = NULL;
	end_names(n);
}

static void write_dump(const char *name, struct buf *b)
{
	AUTO(close_auto) int fd = open(build_path(name), O_WRONLY | O_CREAT | O_APPEND, 0644);

	assert_true(fd >= 0);
	assert_int_equal(io_write_all(fd, b->data, b->len), 0);
	buf_clear(b);
}

/* What it wrote last is read when it is gone, and stands above what its perf map says. */
static void jitdump_outlives_the_process(void **state)
{
	struct names *n = new_names();
	AUTO(buf_done) struct buf b = BUF_INIT;
	uint64_t addr = 0x1080;
	struct name_answer a;

	assert_int_equal(build_write("map", "1000 100 of_map\n3000 100 map_alone\n"), 0);
	perfmap_name = "map";
	jitdump_name = "dump";
	maps_text = "6000-7000 r--p 00000000 08:01 98 /x/jit-7.dump\n"
		    "7000-8000 r-xp 00000000 08:01 99 /x/jit-7.dump (deleted)\n";
	jit_header(&b, 7, 0);
	jit_load(&b, time_mono_ns(), 0x1000, 0x100, 1, "of_dump");
	write_dump("dump", &b);
	process.start_ticks = 1;
	names_jit_refresh(n, 42, 1);
	assert_string_equal(jit(n, 1, 0x1080), "of_dump");
	assert_string_equal(jit(n, 1, 0x3080), "map_alone");
	process.pid = 0; /* gone */
	maps_text = NULL;
	jit_load(&b, time_mono_ns(), 0x1000, 0x100, 2, "last");
	write_dump("dump", &b);
	assert_int_equal(names_of_jit(n, 42, 1, &addr, 1, &a), 0);
	assert_int_equal(a.starts[1], 2);
	assert_string_equal(a.frames[0].name, "of_dump");
	assert_int_equal(a.frames[0].since_ns, 0);
	assert_string_equal(a.frames[1].name, "last");
	assert_true(a.frames[1].since_ns > 0);
	process.pid = 42;
	perfmap_name = jitdump_name = NULL;
	end_names(n);
	assert_string_equal(a.frames[1].name, "last"); /* held by the answer */
	names_release(&a);
}

/* Files of split DWARF: where the compiler put them, beside the program, packed, and gone. */
static void split_units_are_found(void **state)
{
	static const char *const flags_of[] = {"-O2 -g -gdwarf-5 -gsplit-dwarf",
		"-O2 -g -gdwarf-4 -gsplit-dwarf", "-O2 -g -gdwarf-5 -gsplit-dwarf -gz"};

	for (unsigned i = 0; i < 3; i++) {
		struct names *n = new_names();
		struct module m, moved, gone, package;
		uint64_t at;

		assert_int_equal(
			build_run("rm -rf sp* in && mkdir -p in/moved in/gone in/package"), 0);
		assert_int_equal(build_c("sp", source, flags_of[i]), 0);
		at = build_symbol("sp", "outer_fn") + 0x18;
		m = module_of("sp");
		assert_string_equal(ask(n, &m, at, NAMES_PLAIN), "outer_fn");
		assert_string_equal(ask(n, &m, at, NAMES_INLINES), "in_deep<outer_fn");
		module_end(&m);
		assert_int_equal(build_run("cp sp in/moved && cp sp in/gone && cp sp in/package && "
					   "dwp -e sp -o in/package/sp.dwp; mv *.dwo in/moved"),
			0);
		moved = module_of("in/moved/sp");
		assert_string_equal(ask(n, &moved, at, NAMES_INLINES), "in_deep<outer_fn");
		module_end(&moved);
		gone = module_of("in/gone/sp");
		opened_elf = 0;
		assert_string_equal(ask(n, &gone, at, NAMES_INLINES), "outer_fn");
		assert_true(opened_elf > 0);
		opened_elf = 0;
		assert_string_equal(ask(n, &gone, at + 1, NAMES_INLINES), "outer_fn");
		assert_int_equal(opened_elf, 0); /* not looked for at each question */
		module_end(&gone);
		/* The binutils' packer knows DWARF 4 alone. */
		if (i == 1 && build_run("test -e in/package/sp.dwp") == 0) {
			package = module_of("in/package/sp");
			assert_string_equal(
				ask(n, &package, at, NAMES_INLINES), "in_deep<outer_fn");
			module_end(&package);
		}
		end_names(n);
	}
}

static void packages_of_clang(void **state)
{
	struct names *n;
	struct module m;
	uint64_t at;

	if (build_run("rm -rf sp* && mkdir -p lp && cp prog.c sp.c && "
		      "clang -w -O2 -g -gsplit-dwarf -c sp.c -o sp.o && clang sp.o -o sp && "
		      "timeout 60 llvm-dwp -e sp -o lp/sp.dwp && cp sp lp && rm sp.dwo") != 0)
		skip();
	n = new_names();
	at = build_symbol("sp", "outer_fn") + 0x8;
	m = module_of("lp/sp");
	assert_string_equal(ask(n, &m, at, NAMES_INLINES), "in_deep<outer_fn");
	module_end(&m);
	end_names(n);
}

static void sections_packed_with_zstd(void **state)
{
	struct names *n;
	struct module m;

	if (build_run("objcopy --compress-debug-sections=zstd prog zstd && "
		      "readelf -t zstd | grep -q ZSTD") != 0)
		skip();
	n = new_names();
	m = module_of("zstd");
	assert_string_equal(ask(n, &m, deep, NAMES_INLINES), "in_deep<outer_fn");
	module_end(&m);
	/* Cut in the middle: symbols are left. */
	assert_int_equal(
		build_run("cp zstd broken && printf '\\377\\377\\377\\377\\377' | dd of=broken "
			  "bs=1 conv=notrunc seek=$((0x$(readelf -SW zstd | tr -d '[]' | "
			  "awk '$2 == \".debug_info\" {print $5}') + 28))"),
		0);
	m = module_of("broken");
	assert_string_equal(ask(n, &m, deep, NAMES_INLINES), "outer_fn");
	module_end(&m);
	end_names(n);
}

/* Two programs whose debug information has a part in common. */
static void common_debug_file(void **state)
{
	struct names *n;
	struct module m;
	uint64_t at;

	/* Types enough that some of them are moved. */
	if (build_run(
		    "rm -rf dz && mkdir -p dz && { printf '#include <stdio.h>\\n#include <signal.h>"
		    "\\nstruct one { FILE *f; siginfo_t s; struct sigaction a; } ones[4];\\n' && "
		    "cat prog.c; } >dz/a.c && cp dz/a.c dz/b.c && cd dz && "
		    "cc -w -O2 -g a.c -o a && cc -w -O2 -g b.c -o b && dwz -m common a b && "
		    "readelf -SW a | grep -q gnu_debugaltlink") != 0)
		skip();
	n = new_names();
	at = build_symbol("dz/a", "outer_fn") + 0x18;
	m = module_of("dz/a");
	assert_string_equal(ask(n, &m, at, NAMES_INLINES), "in_deep<outer_fn");
	module_end(&m);
	assert_int_equal(build_run("cp prog dz/common"), 0); /* another build */
	m = module_of("dz/b");
	assert_string_equal(ask(n, &m, at, NAMES_INLINES), "[inlined]<outer_fn");
	module_end(&m);
	end_names(n);
}

static bool dies_over_rules(const struct reader_request *req)
{
	return req->op == READER_UNWIND;
}

static void drop_table(struct cfi_table *t)
{
	munmap((void *)(uintptr_t)t->map, t->bytes);
	free(t);
}

static void unwind_rules_by_the_reader(void **state)
{
	struct names *n = new_names();
	struct module m = module_of("prog"), text;
	struct cfi_table *t = NULL;
	bool keep;

	assert_int_equal(names_unwind_table(n, &m, &t, &keep), 0);
	assert_true(t->count > 10);
	assert_int_equal(cfi_code_kind(cfi_table_find(t, deep)), CFI_BY_SP);
	assert_int_equal(cfi_table_find(t, UINT64_MAX), CFI_NONE);
	drop_table(t);
	assert_int_equal(build_write("text",
				 "no program, though it is long enough to be one if only its "
				 "first bytes were others\n"),
		0);
	text = module_of("text");
	assert_int_equal(names_unwind_table(n, &text, &t, &keep), -EBADMSG);
	assert_int_equal(spawned, 1);
	module_end(&text);
	end_names(n);

	/* What kills the reader costs the module its names no more than its rules. */
	dies_over = dies_over_rules;
	assert_int_equal(
		names_new_with_reader((struct broker *)1, spawn_fragile, NULL, 16u << 20, &n), 0);
	assert_int_equal(names_unwind_table(n, &m, &t, &keep), -EIO);
	assert_string_equal(ask(n, &m, deep, NAMES_PLAIN), "outer_fn");
	end_names(n);
	module_end(&m);
}

/* Where the file's own rules are few, those of its debug file count, too. */
static void unwind_rules_of_a_debug_file(void **state)
{
	struct names *n = new_names();
	struct cfi_table *t = NULL;
	struct module m;
	uint64_t at;
	bool keep = true;

	assert_int_equal(build_c("few", source,
				 "-O2 -g -fno-asynchronous-unwind-tables -fno-unwind-tables "
				 "-fno-exceptions"),
		0);
	at = build_symbol("few", "outer_fn");
	assert_int_equal(
		build_run("mkdir -p few1 few2 && objcopy --only-keep-debug few few1/few.debug && "
			  "strip -g few -o few2/few && "
			  "objcopy --add-gnu-debuglink=few1/few.debug few2/few few1/few"),
		0);
	m = module_of("few1/few");
	assert_int_equal(names_unwind_table(n, &m, &t, &keep), 0);
	assert_int_equal(cfi_table_find(t, at), cfi_code(CFI_BY_SP, 1, 0));
	assert_false(keep);
	drop_table(t);
	module_end(&m);
	m = module_of("few2/few");
	assert_int_equal(names_unwind_table(n, &m, &t, &keep), 0);
	assert_int_equal(cfi_table_find(t, at), CFI_NONE);
	assert_false(keep); /* its debug file may come */
	drop_table(t);
	module_end(&m);
	end_names(n);
}

static int setup(void **state)
{
	if (build_setup(state) != 0)
		return -1;
	build_programs();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(named_and_cached),
		cmocka_unit_test(debug_file_beside),
		cmocka_unit_test(debug_file_of_another_build),
		cmocka_unit_test(debug_file_by_build_id),
		cmocka_unit_test(missing_debug_file),
		cmocka_unit_test(unopened_module_has_no_names),
		cmocka_unit_test(refused_file_is_left_alone),
		cmocka_unit_test(killed_reader_is_replaced),
		cmocka_unit_test(without_dwarf_when_that_kills_the_reader),
		cmocka_unit_test(without_demangling_when_that_kills_the_reader),
		cmocka_unit_test(left_alone_when_all_kills_the_reader),
		cmocka_unit_test(cut_answers_are_asked_for_again),
		cmocka_unit_test(cut_batches_are_made_smaller),
		cmocka_unit_test(few_debug_files_stay_open),
		cmocka_unit_test(packed_trap_costs_nothing),
		cmocka_unit_test(unwind_rules_by_the_reader),
		cmocka_unit_test(unwind_rules_of_a_debug_file),
		cmocka_unit_test(reader_is_shut_in),
		cmocka_unit_test(answers_outlive_eviction_and_names),
		cmocka_unit_test(many_ask_at_once),
		cmocka_unit_test(kernel_names),
		cmocka_unit_test(kernel_names_are_read_again),
		cmocka_unit_test(jit_names_outlive_the_process),
		cmocka_unit_test(jit_map_of_another_process_is_not_read),
		cmocka_unit_test(jitdump_outlives_the_process),
		cmocka_unit_test(split_units_are_found),
		cmocka_unit_test(packages_of_clang),
		cmocka_unit_test(sections_packed_with_zstd),
		cmocka_unit_test(common_debug_file),
	};

	return cmocka_run_group_tests(tests, setup, build_teardown) != 0;
}
