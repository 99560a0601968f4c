#include "daemon/run/abilities.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#define CAP_BPF     39
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

static bool has_cap(const struct host *h, unsigned cap)
{
	return (h->info.caps >> cap) & 1;
}

/* The number in a one-line file; fallback when it cannot be read. */
static long read_number(struct broker *b, enum broker_host what, long fallback)
{
	AUTO(buf_done) struct buf text = BUF_INIT;
	AUTO(close_auto) int fd = -1;

	if (broker_open_host(b, what, &fd) < 0 || io_read_fd(fd, 4096, &text) < 0 || !text.len)
		return fallback;
	return strtol(text.data, NULL, 10);
}

void host_probe(struct broker *b, struct host *h)
{
	struct event_spec cycles;

	memset(h, 0, sizeof(*h));
	if (broker_get_info(b, &h->info) < 0)
		memset(&h->info, 0, sizeof(h->info));
	h->paranoid = (int)read_number(b, BROKER_HOST_PARANOID, 4);
	h->max_rate = (uint64_t)read_number(b, BROKER_HOST_MAX_RATE, 0);
	h->kptr_restrict = (int)read_number(b, BROKER_HOST_KPTR_RESTRICT, -1);
	h->perfmon = has_cap(h, CAP_PERFMON) || has_cap(h, CAP_SYS_ADMIN);
	h->cpu_wide = h->perfmon || h->paranoid <= 0;
	h->kernel = h->perfmon || h->paranoid <= 1;
	h->cycles = event_parse(b, "cycles", &cycles) == 0 && event_probe(b, &cycles) == 0;
}

struct list {
	struct ability *at;
	unsigned count;
};

static struct ability *add(struct list *l, const char *name, bool there)
{
	struct ability *a = &l->at[l->count++];

	memset(a, 0, sizeof(*a));
	a->name = name;
	a->there = there;
	return a;
}

static void say(struct ability *a, const char *reason, const char *remedy)
{
	if (a->there)
		return;
	snprintf(a->reason, sizeof(a->reason), "%s", reason);
	snprintf(a->remedy, sizeof(a->remedy), "%s", remedy);
}

static void list_files(const struct host *h, struct list *l)
{
	struct ability *a;

	a = add(l, "mapped_files", has_cap(h, CAP_CHECKPOINT_RESTORE) || has_cap(h, CAP_SYS_ADMIN));
	say(a,
		"files that were deleted or replaced after they were mapped cannot be opened: "
		"their frames have no names",
		"give the daemon CAP_CHECKPOINT_RESTORE");
	a = add(l, "unreadable_files", has_cap(h, CAP_DAC_READ_SEARCH));
	say(a, "program files that this user may not read have no names",
		"give the daemon CAP_DAC_READ_SEARCH");
	a = add(l, "kernel_names",
		h->kptr_restrict >= 0 && h->kptr_restrict < 2 &&
			(has_cap(h, CAP_SYSLOG) || (h->kptr_restrict == 0 && h->paranoid <= 1)));
	if (h->kptr_restrict >= 2)
		say(a, "the kernel hides its addresses from everyone",
			"sysctl kernel.kptr_restrict=1");
	else
		say(a, "the kernel hides its addresses from this user",
			"give the daemon CAP_SYSLOG");
}

static void list_memory(const struct host *h, struct list *l)
{
	struct ability *a =
		add(l, "ring_memory", h->info.ipc_lock || h->info.memlock >= (64u << 20));
	char reason[200];

	snprintf(reason, sizeof(reason),
		"rings beyond the kernel's perf_event_mlock_kb count against RLIMIT_MEMLOCK, "
		"which is %llu KiB: many sessions at once get small rings or none",
		(unsigned long long)(h->info.memlock >> 10));
	say(a, reason, "raise RLIMIT_MEMLOCK to 64 MiB, or give the daemon CAP_IPC_LOCK");
}

unsigned abilities_list(const struct host *h, struct ability ret[RUN_ABILITIES_MAX])
{
	struct list l = {ret, 0};
	struct ability *a;
	char reason[200];

	snprintf(reason, sizeof(reason),
		"kernel.perf_event_paranoid is %d and the daemon has no CAP_PERFMON", h->paranoid);
	a = add(&l, "own_processes", h->perfmon || h->paranoid <= 2);
	say(a, reason, "sysctl kernel.perf_event_paranoid=2");
	a = add(&l, "other_users", h->perfmon && (has_cap(h, CAP_SYS_PTRACE) || h->info.uid == 0));
	say(a, "processes of other users need CAP_PERFMON and CAP_SYS_PTRACE",
		"start the daemon as root, or by its systemd unit");
	a = add(&l, "cpu_wide", h->cpu_wide);
	say(a, reason, "give the daemon CAP_PERFMON, or sysctl kernel.perf_event_paranoid=0");
	a = add(&l, "kernel_samples", h->kernel);
	say(a, reason, "give the daemon CAP_PERFMON, or sysctl kernel.perf_event_paranoid=1");
	a = add(&l, "hardware_events", h->cycles);
	say(a, "the CPU's counters do not open here (a virtual machine without them, or no right)",
		"pass the PMU through to this machine; until then cpu-clock is the default");
	list_files(h, &l);
	a = add(&l, "tracepoints", h->info.tracefs && (h->perfmon || h->paranoid < 0));
	if (!h->info.tracefs)
		say(a, "tracefs is not mounted", "mount -t tracefs tracefs /sys/kernel/tracing");
	else
		say(a, "tracepoints need CAP_PERFMON", "give the daemon CAP_PERFMON");
	a = add(&l, "cgroups", h->info.cgroup2 && h->cpu_wide);
	if (!h->info.cgroup2)
		say(a, "no cgroup v2 hierarchy is mounted",
			"mount -t cgroup2 cgroup2 /sys/fs/cgroup/unified");
	else
		say(a, reason, "give the daemon CAP_PERFMON");
	list_memory(h, &l);
	return l.count;
}

unsigned abilities_events(struct broker *b, struct run_event *ret, unsigned max)
{
	const char *const *names = event_names();
	unsigned n = 0;

	for (; names[n] && n < max; n++) {
		struct event_spec event;

		snprintf(ret[n].name, sizeof(ret[n].name), "%s", names[n]);
		ret[n].there = event_parse(b, names[n], &event) == 0 && event_probe(b, &event) == 0;
	}
	return n;
}
