/* A folder that looks like /proc to the fake broker: processes that the test makes up. */
#ifndef PFL_TESTS_FAKE_PROC_H
#define PFL_TESTS_FAKE_PROC_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/io.h"
#include "tests/unit/fake_broker.h"

struct fake_process {
	pid_t pid, ppid;
	const char *comm;
	char state;
	unsigned threads;
	uint64_t start_ticks;
	uid_t uid;
	pid_t tgid; /* 0: the pid */
};

static char fake_proc_root[] = "/tmp/profiled-proc-XXXXXX";

static inline void fake_proc_begin(void)
{
	if (!mkdtemp(fake_proc_root))
		_exit(99);
	fake.proc_root = fake_proc_root;
}

static inline int fake_proc_remove(
	const char *name, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(name);
}

static inline void fake_proc_end(void)
{
	nftw(fake_proc_root, fake_proc_remove, 16, FTW_DEPTH | FTW_PHYS);
	memcpy(fake_proc_root + strlen(fake_proc_root) - 6, "XXXXXX", 6);
	fake_broker_reset();
}

static inline void fake_proc_kill(pid_t pid)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%d", fake_proc_root, pid);
	nftw(path, fake_proc_remove, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void fake_proc_write(pid_t pid, const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%d", fake_proc_root, pid);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/%d/%s", fake_proc_root, pid, name);
	if (io_write_atomic(path, text, strlen(text), 0600) < 0)
		_exit(99);
}

static inline void fake_proc_put(const struct fake_process *p)
{
	char text[512];

	snprintf(text, sizeof(text),
		"%d (%s) %c %d 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 %u 0 %llu 4096 10 0\n", p->pid,
		p->comm, p->state ? p->state : 'S', p->ppid, p->threads ? p->threads : 1,
		(unsigned long long)p->start_ticks);
	fake_proc_write(p->pid, "stat", text);
	snprintf(text, sizeof(text), "Name:\tx\nTgid:\t%d\nUid:\t%u\t%u\t%u\t%u\nNSpid:\t%d\n",
		p->tgid ? p->tgid : p->pid, p->uid, p->uid, p->uid, p->uid, p->pid);
	fake_proc_write(p->pid, "status", text);
}

#endif
