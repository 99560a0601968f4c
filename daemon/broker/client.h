/* The engine's end of the broker: asks the privileged process for descriptors. Any thread: one
 * request at a time goes over the socket, under a lock inside. Every descriptor is the caller's and
 * O_CLOEXEC.
 *
 * All calls: 0, or a negative errno. -EPIPE: the broker is gone. -EPERM: the request is not on its
 * list. -EACCES and the like: the kernel refused, with its own errno. */
#ifndef PFL_BROKER_CLIENT_H
#define PFL_BROKER_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/buf.h"
#include "base/cleanup.h"

struct perf_event_attr;
struct broker;

int broker_new(int sock, struct broker **ret_broker); /* takes the socket */
void broker_free(struct broker *b);
AUTO_FREE_FN(struct broker, broker_free)

/* pid, cpu as for perf_event_open(2), where pid 0 is the broker itself: for trying whether an event
 * is there, which works without any right. With cgroup (a path below the cgroup v2 mount, "/a/b")
 * pid is -1. -EPERM: also an attribute that asks for what profiling does not need (see request.c).
 * -EMFILE: the descriptors of engine or broker are used up. */
int broker_perf_open(struct broker *b, const struct perf_event_attr *attr, pid_t pid, int cpu,
	const char *cgroup, int *ret_fd);

enum broker_proc {
	BROKER_PROC_STAT,
	BROKER_PROC_STATUS,
	BROKER_PROC_MAPS,
	BROKER_PROC_CGROUP,
	BROKER_PROC_CMDLINE,
	BROKER_PROC_MEMORY, /* smaps_rollup, of the daemon's own processes alone */
};
/* A file of /proc/PID, or of /proc/PID/task/TID when tid is not 0. */
int broker_open_proc(struct broker *b, pid_t pid, pid_t tid, enum broker_proc what, int *ret_fd);

/* Appends pid_t values: all processes (pid 0), or the threads of pid. */
int broker_list(struct broker *b, pid_t pid, struct buf *into);

/* The ELF file behind a mapping, for reading: through map_files where allowed, else by path inside
 * the target's root, or as its program, and only if device and inode are those that /proc/PID/maps
 * tells
 * (-ESTALE otherwise). Regular files alone (-ENOTSUP) that begin as ELF does (-ENOEXEC). path may
 * be NULL. -ETIMEDOUT: the file system does not answer; this took 2 s. */
int broker_open_mapped(struct broker *b, pid_t pid, uint64_t start, uint64_t end, const char *path,
	dev_t dev, uint64_t inode, int *ret_fd);

/* An ELF file by path inside the root of pid (0: our own), for separate debug files. -ENOEXEC: no
 * ELF. */
int broker_open_elf(struct broker *b, pid_t pid, const char *path, int *ret_fd);

/* /tmp/perf-NSPID.map in the root of pid: a regular file owned by the target's user or root, at
 * most 64 MiB (-EFBIG), never a link. pid 0: in our own root, of a process that is gone; whoever
 * owns it. */
int broker_open_perfmap(struct broker *b, pid_t pid, pid_t ns_pid, int *ret_fd);

/* The jitdump file behind a mapping of pid: reached, and compared, as by broker_open_mapped(), but
 * owned and named once at most as a perf map is; at most 4 GiB (-EFBIG); -ENOEXEC: it does not
 * begin as a jitdump. pid 0: of a process that is gone, in our own root, by path and identity
 * alone; whoever owns it. */
int broker_open_jitdump(struct broker *b, pid_t pid, uint64_t start, uint64_t end, const char *path,
	dev_t dev, uint64_t inode, int *ret_fd);

enum broker_host {
	BROKER_HOST_KALLSYMS,
	BROKER_HOST_MODULES,
	BROKER_HOST_CPUS_ONLINE, /* /sys/devices/system/cpu/online */
	BROKER_HOST_PARANOID,    /* /proc/sys/kernel/perf_event_paranoid */
	BROKER_HOST_MAX_RATE,    /* …/perf_event_max_sample_rate */
	BROKER_HOST_MAX_STACK,   /* …/perf_event_max_stack */
	BROKER_HOST_MLOCK_KB,    /* …/perf_event_mlock_kb */
	BROKER_HOST_KPTR_RESTRICT,
	BROKER_HOST_CONFIG, /* the daemon's configuration file; -ENOENT: there is none */
	BROKER_HOST_STAT,   /* /proc/stat */
	BROKER_HOST_NOTES,  /* /sys/kernel/notes: the kernel's build id */
};
int broker_open_host(struct broker *b, enum broker_host what, int *ret_fd);

/* The id file of a tracepoint: "sched", "sched_switch". -ENOENT: no such one; -ENODEV: no tracefs
 * mounted. */
int broker_open_tracepoint(struct broker *b, const char *group, const char *name, int *ret_fd);

enum broker_cgroup { BROKER_CGROUP_DIR, BROKER_CGROUP_PROCS, BROKER_CGROUP_EVENTS };
/* path as for broker_perf_open. -ENODEV: no cgroup v2 mounted. DIR is for reading its entries. */
int broker_open_cgroup(struct broker *b, const char *path, enum broker_cgroup what, int *ret_fd);

/* Ends the present reader, starts another and hands out its socket. Once a second at most: -EAGAIN.
 */
int broker_new_reader(struct broker *b, int *ret_sock, pid_t *ret_pid);

struct broker_info {
	uint64_t caps; /* the broker's effective capabilities, a bit each as in <linux/capability.h>
			*/
	uid_t uid;     /* whom the broker runs as */
	uint64_t memlock;      /* the engine's RLIMIT_MEMLOCK in bytes; UINT64_MAX: unlimited or
				  CAP_IPC_LOCK */
	uint64_t nofile;       /* the engine's RLIMIT_NOFILE */
	bool ipc_lock;         /* the engine has CAP_IPC_LOCK */
	bool cgroup2, tracefs; /* mounted */
	pid_t broker_pid, engine_pid, reader_pid, opener_pid; /* 0: does not run */
};
int broker_get_info(struct broker *b, struct broker_info *ret_info);

#endif
