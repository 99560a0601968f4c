/* Capabilities of this process, as sets of bits. Raw system calls: no library for so little. */
#ifndef PFL_BROKER_CAPS_H
#define PFL_BROKER_CAPS_H

#include <linux/capability.h>
#include <stdint.h>
#include <sys/types.h>

#define CAP_BIT(cap) (UINT64_C(1) << (cap))
/* The most that the broker keeps, and the engine. */
#define CAPS_BROKER                                                                      \
	(CAP_BIT(CAP_PERFMON) | CAP_BIT(CAP_SYS_PTRACE) | CAP_BIT(CAP_DAC_READ_SEARCH) | \
		CAP_BIT(CAP_CHECKPOINT_RESTORE) | CAP_BIT(CAP_SYSLOG) | CAP_BIT(CAP_BPF))
#define CAPS_ENGINE CAP_BIT(CAP_IPC_LOCK)

uint64_t caps_permitted(void);
uint64_t caps_effective(void);
/* "CAP_PERFMON" for those above and CAP_IPC_LOCK, else "". */
const char *caps_name(unsigned cap);

/* Becomes uid and gid ((uid_t)-1: stays), without further groups, with those of keep that it has
 * and no other capability. They outlive exec when through_exec. No new privileges from then on. */
int caps_become(uid_t uid, gid_t gid, uint64_t keep, int through_exec);

#endif
