#include "daemon/sandbox.h"

#include <config.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "daemon/broker/caps.h"

#ifndef PFL_SANITIZED
#define SANITIZED 0
#else
#define SANITIZED 1
#endif

static void filter_release(scmp_filter_ctx *filter)
{
	if (*filter)
		seccomp_release(*filter);
}

struct group {
	const int *calls;
	size_t count;
};
#define GROUP(list)                                    \
	{                                              \
		list, sizeof(list) / sizeof((list)[0]) \
	}

/* Memory, time, signals, the end: what any C program does. */
static const int plain[] = {
	SCMP_SYS(brk),
	SCMP_SYS(clock_getres),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(close),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(fcntl),
	SCMP_SYS(fstat),
	SCMP_SYS(futex),
	SCMP_SYS(getcpu),
	SCMP_SYS(getegid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getgid),
	SCMP_SYS(getpid),
	SCMP_SYS(getppid),
	SCMP_SYS(getrandom),
	SCMP_SYS(getrlimit),
	SCMP_SYS(getrusage),
	SCMP_SYS(gettid),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(getuid),
	SCMP_SYS(lseek),
	SCMP_SYS(madvise),
	SCMP_SYS(membarrier),
	SCMP_SYS(memfd_create),
	SCMP_SYS(mincore),
	SCMP_SYS(mremap),
	SCMP_SYS(msync),
	SCMP_SYS(munmap),
	SCMP_SYS(nanosleep),
	SCMP_SYS(newfstatat),
	SCMP_SYS(fstatat64),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(pread64),
	SCMP_SYS(preadv),
	SCMP_SYS(read),
	SCMP_SYS(readv),
	SCMP_SYS(recvfrom),
	SCMP_SYS(recvmsg),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(rseq),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(sched_yield),
	SCMP_SYS(sendmsg),
	SCMP_SYS(sendto),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(set_tid_address),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(statx),
	SCMP_SYS(sysinfo),
	SCMP_SYS(tgkill),
	SCMP_SYS(time),
	SCMP_SYS(uname),
	SCMP_SYS(write),
	SCMP_SYS(writev),
};

/* Files and memory of a size. */
static const int sized[] = {SCMP_SYS(ftruncate), SCMP_SYS(fallocate), SCMP_SYS(pwrite64),
	SCMP_SYS(pwritev), SCMP_SYS(dup)};

static const int engine_calls[] = {
	/* descriptors to wait for */
	SCMP_SYS(epoll_create1),
	SCMP_SYS(epoll_ctl),
	SCMP_SYS(epoll_pwait),
	SCMP_SYS(epoll_pwait2),
	SCMP_SYS(epoll_wait),
	SCMP_SYS(eventfd2),
	SCMP_SYS(pidfd_open),
	SCMP_SYS(pipe2),
	SCMP_SYS(pselect6),
	SCMP_SYS(select),
	SCMP_SYS(signalfd4),
	SCMP_SYS(timerfd_create),
	SCMP_SYS(timerfd_gettime),
	SCMP_SYS(timerfd_settime),
	/* connections */
	SCMP_SYS(accept),
	SCMP_SYS(accept4),
	SCMP_SYS(getpeername),
	SCMP_SYS(getsockname),
	SCMP_SYS(getsockopt),
	SCMP_SYS(sendfile),
	SCMP_SYS(sendmmsg),
	SCMP_SYS(setsockopt),
	SCMP_SYS(shutdown),
	/* the store */
	SCMP_SYS(access),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(fchmod),
	SCMP_SYS(fdatasync),
	SCMP_SYS(flock),
	SCMP_SYS(fstatfs),
	SCMP_SYS(fsync),
	SCMP_SYS(getcwd),
	SCMP_SYS(getdents64),
	SCMP_SYS(link),
	SCMP_SYS(linkat),
	SCMP_SYS(lstat),
	SCMP_SYS(mkdir),
	SCMP_SYS(mkdirat),
	SCMP_SYS(open),
	SCMP_SYS(openat),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(rename),
	SCMP_SYS(renameat),
	SCMP_SYS(renameat2),
	SCMP_SYS(rmdir),
	SCMP_SYS(stat),
	SCMP_SYS(statfs),
	SCMP_SYS(sync_file_range),
	SCMP_SYS(umask),
	SCMP_SYS(unlink),
	SCMP_SYS(unlinkat),
	SCMP_SYS(utimensat),
	/* threads and the end */
	SCMP_SYS(alarm),
	SCMP_SYS(dup2),
	SCMP_SYS(dup3),
	SCMP_SYS(mlock),
	SCMP_SYS(munlock),
	SCMP_SYS(rt_sigpending),
	SCMP_SYS(rt_sigtimedwait),
	SCMP_SYS(sched_getparam),
	SCMP_SYS(sched_getscheduler),
	SCMP_SYS(setitimer),
};

static const int broker_calls[] = {
	SCMP_SYS(fstatfs),
	SCMP_SYS(getdents64),
	SCMP_SYS(openat2),
	SCMP_SYS(perf_event_open),
	SCMP_SYS(socketpair),
	/* the children */
	SCMP_SYS(capget),
	SCMP_SYS(capset),
	SCMP_SYS(close_range),
	SCMP_SYS(dup2),
	SCMP_SYS(dup3),
	SCMP_SYS(execve),
	SCMP_SYS(execveat),
	SCMP_SYS(fchdir),
	SCMP_SYS(fork),
	SCMP_SYS(kill),
	SCMP_SYS(mprotect),
	SCMP_SYS(mmap),
	SCMP_SYS(prctl),
	SCMP_SYS(prlimit64),
	SCMP_SYS(setpgid),
	SCMP_SYS(setrlimit),
	SCMP_SYS(vfork),
	SCMP_SYS(wait4),
	SCMP_SYS(waitid),
	/* the reader until its own filter: these are inherited through exec */
	SCMP_SYS(access),
	SCMP_SYS(arch_prctl),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(getcwd),
	SCMP_SYS(getsockopt),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(seccomp),
	SCMP_SYS(setpriority),
	SCMP_SYS(setitimer),
	SCMP_SYS(umask),
};

/* Whatever a sanitizer's run time does, none of these is part of it. */
static const int never[] = {
	SCMP_SYS(acct),
	SCMP_SYS(add_key),
	SCMP_SYS(bind),
	SCMP_SYS(bpf),
	SCMP_SYS(chroot),
	SCMP_SYS(connect),
	SCMP_SYS(delete_module),
	SCMP_SYS(finit_module),
	SCMP_SYS(init_module),
	SCMP_SYS(io_uring_setup),
	SCMP_SYS(kexec_load),
	SCMP_SYS(keyctl),
	SCMP_SYS(mknod),
	SCMP_SYS(mknodat),
	SCMP_SYS(mount),
	SCMP_SYS(pivot_root),
	SCMP_SYS(process_vm_writev),
	SCMP_SYS(reboot),
	SCMP_SYS(setns),
	SCMP_SYS(socket),
	SCMP_SYS(swapon),
	SCMP_SYS(umount2),
	SCMP_SYS(unshare),
	SCMP_SYS(userfaultfd),
};

static int allow(scmp_filter_ctx filter, const struct group *groups, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < groups[i].count; k++) {
			int r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, groups[i].calls[k], 0);

			if (r < 0)
				return r;
		}
	}
	return 0;
}

/* Memory may be anything but executable. */
static int allow_memory_without_code(scmp_filter_ctx filter)
{
	int r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
		SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));

	if (r < 0)
		return r;
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
		SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
}

/* Threads, or with process set children, but no namespaces. */
static int allow_clone(scmp_filter_ctx filter, bool process)
{
	scmp_datum_t spaces = CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET |
		CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP | CLONE_NEWTIME;
	scmp_datum_t mask = process ? spaces : spaces | CLONE_THREAD;
	int r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
		SCMP_A0(SCMP_CMP_MASKED_EQ, mask, process ? 0 : CLONE_THREAD));

	if (r < 0)
		return r;
	/* Its flags are out of a filter's sight; libc then goes back to the older call. */
	return seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

static int allow_perf_ioctls(scmp_filter_ctx filter)
{
	static const scmp_datum_t requests[] = {PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE,
		PERF_EVENT_IOC_REFRESH, PERF_EVENT_IOC_RESET, PERF_EVENT_IOC_PERIOD,
		PERF_EVENT_IOC_SET_OUTPUT, PERF_EVENT_IOC_ID, PERF_EVENT_IOC_PAUSE_OUTPUT, FIONBIO,
		FIONREAD};

	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		int r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
			SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, requests[i]));

		if (r < 0)
			return r;
	}
	return 0;
}

static int allow_own_name_and_limits(scmp_filter_ctx filter)
{
	int r = seccomp_rule_add(
		filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1, SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME));

	if (r < 0)
		return r;
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 2,
		SCMP_A0(SCMP_CMP_EQ, 0), SCMP_A2(SCMP_CMP_EQ, 0));
}

static int new_filter(uint32_t otherwise, bool log_refusals, scmp_filter_ctx *ret_filter)
{
	scmp_filter_ctx filter = seccomp_init(otherwise);
	int r;

	if (!filter)
		return -ENOMEM;
	/* A refused call is an error to handle, not an end: it may come from inside a library. */
	r = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
	if (r == 0 && log_refusals)
		r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_LOG, 1);
	if (r < 0) {
		seccomp_release(filter);
		return r;
	}
	*ret_filter = filter;
	return 0;
}

/* Under a sanitizer. */
static int load_short_filter(bool exec)
{
	AUTO(filter_release) scmp_filter_ctx filter = NULL;
	int r = new_filter(SCMP_ACT_ALLOW, false, &filter);

	for (size_t i = 0; r == 0 && i < sizeof(never) / sizeof(never[0]); i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), never[i], 0);
	if (r == 0 && !exec)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(execve), 0);
	if (r == 0 && !exec)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(execveat), 0);
	return r < 0 ? r : seccomp_load(filter);
}

/* Nobody may look into a process that holds what others must not see; nor does it leave a core. */
static int close_up(void)
{
	static const struct rlimit none = {0, 0};

	(void)setrlimit(RLIMIT_CORE, &none);
	/* LeakSanitizer stops our threads from a helper, which this would forbid. */
	if (!SANITIZED && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	return 0;
}

static int load_broker_filter(bool log_refusals)
{
	static const struct group groups[] = {GROUP(plain), GROUP(sized), GROUP(broker_calls)};
	AUTO(filter_release) scmp_filter_ctx filter = NULL;
	int r = new_filter(SCMP_ACT_ERRNO(EPERM), log_refusals, &filter);

	if (r == 0)
		r = allow(filter, groups, sizeof(groups) / sizeof(groups[0]));
	if (r == 0)
		r = allow_clone(filter, true);
	/* For reading alone. openat2(2) hides its flags, but is only called below the roots of
	 * targets, to find and not to open. */
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
			SCMP_A2(SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY));
	return r < 0 ? r : seccomp_load(filter);
}

int sandbox_broker(bool log_refusals)
{
	int r = caps_become((uid_t)-1, (gid_t)-1, CAPS_BROKER, 0);

	if (r < 0)
		return r;
	r = close_up();
	if (r < 0)
		return r;
	return SANITIZED ? load_short_filter(true) : load_broker_filter(log_refusals);
}

static int load_engine_filter(bool log_refusals)
{
	static const struct group groups[] = {GROUP(plain), GROUP(sized), GROUP(engine_calls)};
	AUTO(filter_release) scmp_filter_ctx filter = NULL;
	int r = new_filter(SCMP_ACT_ERRNO(EPERM), log_refusals, &filter);

	if (r == 0)
		r = allow(filter, groups, sizeof(groups) / sizeof(groups[0]));
	if (r == 0)
		r = allow_memory_without_code(filter);
	if (r == 0)
		r = allow_clone(filter, false);
	if (r == 0)
		r = allow_perf_ioctls(filter);
	if (r == 0)
		r = allow_own_name_and_limits(filter);
	return r < 0 ? r : seccomp_load(filter);
}

int sandbox_engine(bool log_refusals)
{
	int r = caps_become((uid_t)-1, (gid_t)-1, CAPS_ENGINE, 0);

	if (r < 0)
		return r;
	r = close_up();
	if (r < 0)
		return r;
	return SANITIZED ? load_short_filter(false) : load_engine_filter(log_refusals);
}

static int load_attacher_filter(void)
{
	static const int calls[] = {SCMP_SYS(connect), SCMP_SYS(getsockopt), SCMP_SYS(open),
		SCMP_SYS(openat), SCMP_SYS(openat2), SCMP_SYS(pidfd_open), SCMP_SYS(setsockopt),
		SCMP_SYS(unlinkat)};
	static const struct group groups[] = {GROUP(plain), GROUP(calls)};
	AUTO(filter_release) scmp_filter_ctx filter = NULL;
	int r = new_filter(SCMP_ACT_ERRNO(EPERM), false, &filter);

	if (r == 0)
		r = allow(filter, groups, sizeof(groups) / sizeof(groups[0]));
	if (r == 0)
		r = allow_memory_without_code(filter);
	if (r == 0)
		r = seccomp_rule_add(
			filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_EQ, AF_UNIX));
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(pidfd_send_signal), 1,
			SCMP_A1(SCMP_CMP_EQ, SIGQUIT));
	return r < 0 ? r : seccomp_load(filter);
}

int sandbox_attacher(void)
{
	int r = caps_become((uid_t)-1, (gid_t)-1, 0, 0);

	if (r < 0)
		return r;
	r = close_up();
	/* What a sanitizer's run time needs is more than can be told from what must not be. */
	return r < 0 || SANITIZED ? r : load_attacher_filter();
}
