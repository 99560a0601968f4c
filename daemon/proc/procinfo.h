/* Who a process is: from /proc/PID/stat, status and cgroup. */
#ifndef PFL_PROC_PROCINFO_H
#define PFL_PROC_PROCINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "daemon/broker/client.h"

#define COMM_BYTES 16 /* TASK_COMM_LEN of the kernel */

struct procinfo {
	pid_t pid, ppid;
	char comm[COMM_BYTES * 4 + 1]; /* raw bytes as the kernel has them, may not be UTF-8 */
	char state;                    /* R S D T Z … */
	uint64_t start_ticks; /* since boot, in clock ticks; with the pid it names a process */
	uint64_t cpu_ticks;   /* user + system */
	unsigned threads;
	uint64_t rss_bytes;
	uid_t uid;    /* effective; from status */
	pid_t tgid;   /* the process, when pid is one of its threads; from status */
	pid_t ns_pid; /* in its own innermost pid namespace; from status */
};

/* -EINVAL: not the text of a stat file. comm may hold any byte, ") R 1 (" too. */
int procinfo_parse_stat(const char *text, size_t len, struct procinfo *info);
int procinfo_parse_status(const char *text, size_t len, struct procinfo *info);
/* Both files. -ESRCH: gone. */
int procinfo_read(struct broker *b, pid_t pid, struct procinfo *ret_info);
/* stat alone (uid, tgid, ns_pid are 0 then). */
int procinfo_read_stat(struct broker *b, pid_t pid, struct procinfo *ret_info);
/* The same of a thread: its own comm, state and times. */
int procinfo_read_thread(struct broker *b, pid_t pid, pid_t tid, struct procinfo *ret_info);

/* True when no thread of that very process lives any more: gone, a zombie, or the pid is another's
 * by now. A leader that has ended while its threads go on is not gone. False when it cannot be
 * known. */
bool procinfo_is_gone(struct broker *b, pid_t pid, uint64_t start_ticks);

#endif
