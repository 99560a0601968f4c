#include "daemon/broker/caps.h"

#include <errno.h>
#include <grp.h>
#include <linux/securebits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct cap_sets {
	struct __user_cap_data_struct half[2];
};

static int caps_get(struct cap_sets *ret_sets)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};

	return syscall(SYS_capget, &header, ret_sets->half) < 0 ? -errno : 0;
}

uint64_t caps_permitted(void)
{
	struct cap_sets sets = {0};

	if (caps_get(&sets) < 0)
		return 0;
	return sets.half[0].permitted | (uint64_t)sets.half[1].permitted << 32;
}

uint64_t caps_effective(void)
{
	struct cap_sets sets = {0};

	if (caps_get(&sets) < 0)
		return 0;
	return sets.half[0].effective | (uint64_t)sets.half[1].effective << 32;
}

const char *caps_name(unsigned cap)
{
	switch (cap) {
	case CAP_PERFMON: return "CAP_PERFMON";
	case CAP_SYS_PTRACE: return "CAP_SYS_PTRACE";
	case CAP_DAC_READ_SEARCH: return "CAP_DAC_READ_SEARCH";
	case CAP_CHECKPOINT_RESTORE: return "CAP_CHECKPOINT_RESTORE";
	case CAP_SYSLOG: return "CAP_SYSLOG";
	case CAP_BPF: return "CAP_BPF";
	case CAP_IPC_LOCK: return "CAP_IPC_LOCK";
	default: return "";
	}
}

static int caps_set(uint64_t keep, uint64_t inherit)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct cap_sets sets;

	for (int i = 0; i < 2; i++) {
		sets.half[i].permitted = (uint32_t)(keep >> 32 * i);
		sets.half[i].effective = (uint32_t)(keep >> 32 * i);
		sets.half[i].inheritable = (uint32_t)(inherit >> 32 * i);
	}
	return syscall(SYS_capset, &header, sets.half) < 0 ? -errno : 0;
}

/* Without CAP_SETPCAP both fail, and are not needed: no_new_privs keeps exec from giving any. */
static void close_the_way_back(uint64_t keep)
{
	for (unsigned cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++) {
		if (!(keep & CAP_BIT(cap)))
			(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	}
	(void)prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED, 0, 0, 0);
}

static int become_user(uid_t uid, gid_t gid)
{
	if (uid == (uid_t)-1)
		return 0;
	/* A process that is that user already may have no right to set what it has. */
	if (geteuid() == uid && getuid() == uid && getegid() == gid)
		return 0;
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
		return -errno;
	if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		return -errno;
	return prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0) < 0 ? -errno : 0;
}

static int raise_ambient(uint64_t keep)
{
	for (unsigned cap = 0; cap < 64; cap++) {
		if ((keep & CAP_BIT(cap)) &&
			prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0) < 0)
			return -errno;
	}
	return 0;
}

int caps_become(uid_t uid, gid_t gid, uint64_t keep, int through_exec)
{
	int r;

	keep &= caps_permitted();
	close_the_way_back(through_exec ? keep : 0);
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	r = become_user(uid, gid);
	if (r < 0)
		return r;
	r = caps_set(keep, through_exec ? keep : 0);
	if (r < 0)
		return r;
	if (through_exec) {
		r = raise_ambient(keep);
		if (r < 0)
			return r;
	}
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}
