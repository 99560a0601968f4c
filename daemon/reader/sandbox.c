#include "config.h"
#include "daemon/reader/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"

/* Files are mapped as a whole, and cost page cache rather than memory: two of image.c's largest. */
#define FILE_MAPPINGS_BYTES (33ull << 30)
#define FDS_MAX             16

static int limit(int what, uint64_t value)
{
	struct rlimit r = {.rlim_cur = value, .rlim_max = value};

	return setrlimit((__rlimit_resource_t)what, &r) != 0 ? -errno : 0;
}

static int set_limits(const struct sandbox_limits *l)
{
	int r = limit(RLIMIT_CORE, 0);

	if (r == 0)
		r = limit(RLIMIT_NOFILE, FDS_MAX);
	if (r == 0)
		r = limit(RLIMIT_FSIZE, l->answer_bytes);
#ifndef PFL_SANITIZED /* whose shadow memory needs terabytes of addresses */
	if (r == 0)
		r = limit(RLIMIT_DATA, l->memory_bytes);
	if (r == 0)
		r = limit(RLIMIT_AS, l->memory_bytes + FILE_MAPPINGS_BYTES);
#endif
	return r;
}

static int drop_capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}};

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
		return -errno;
	return syscall(SYS_capset, &head, none) != 0 ? -errno : 0;
}

#ifndef PFL_SANITIZED
static int allow(scmp_filter_ctx ctx)
{
	static const int calls[] = {SCMP_SYS(recvmsg), SCMP_SYS(sendmsg), SCMP_SYS(read),
		SCMP_SYS(pread64), SCMP_SYS(write), SCMP_SYS(pwrite64), SCMP_SYS(lseek),
		SCMP_SYS(ftruncate), SCMP_SYS(close), SCMP_SYS(fstat), SCMP_SYS(munmap),
		SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(brk), SCMP_SYS(memfd_create),
		SCMP_SYS(setitimer), SCMP_SYS(clock_gettime), SCMP_SYS(futex), SCMP_SYS(getrandom),
		SCMP_SYS(sysinfo) /* by qsort() */, SCMP_SYS(restart_syscall), SCMP_SYS(exit),
		SCMP_SYS(exit_group), SCMP_SYS(rt_sigreturn)};
	/* libdw looks for further files of debug information by name: there are none. The others
	 * are what C libraries ask about themselves. */
	static const int refused[] = {SCMP_SYS(open), SCMP_SYS(openat), SCMP_SYS(newfstatat),
		SCMP_SYS(stat), SCMP_SYS(lstat), SCMP_SYS(statx), SCMP_SYS(readlink),
		SCMP_SYS(readlinkat), SCMP_SYS(access), SCMP_SYS(faccessat), SCMP_SYS(getpid),
		SCMP_SYS(gettid), SCMP_SYS(getuid), SCMP_SYS(uname), SCMP_SYS(prlimit64),
		SCMP_SYS(getrlimit), SCMP_SYS(sched_getaffinity), SCMP_SYS(sched_yield)};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(calls) / sizeof(*calls); i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, calls[i], 0);
	for (size_t i = 0; r == 0 && i < sizeof(refused) / sizeof(*refused); i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOENT), refused[i], 0);
	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
			SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
			SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	if (r == 0)
		r = seccomp_rule_add(
			ctx, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1, SCMP_A1(SCMP_CMP_EQ, F_ADD_SEALS));
	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(fcntl), 1,
			SCMP_A1(SCMP_CMP_NE, F_ADD_SEALS));
	return r;
}

static int filter_system_calls(void)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int r;

	if (!ctx)
		return -ENOMEM;
	r = allow(ctx);
	if (r == 0)
		r = seccomp_load(ctx);
	seccomp_release(ctx);
	return r;
}
#else
static int filter_system_calls(void)
{
	return 0; /* the sanitizers' own run time needs many more */
}
#endif

int sandbox_enter(const struct sandbox_limits *limits, int keep_fd)
{
	int r = io_close_others(keep_fd);

	/* Set, libdw's helpers would ask a server on the network for debug files. */
	unsetenv("DEBUGINFOD_URLS");
	if (r == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
		r = -errno;
	if (r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		r = -errno;
	if (r == 0)
		r = drop_capabilities();
	if (r == 0)
		r = set_limits(limits);
	return r == 0 ? filter_system_calls() : r;
}
