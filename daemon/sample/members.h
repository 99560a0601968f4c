/* Which processes belong to a target where the events see others too. Follows the sideband, so what
 * it says holds at the time of the record handed in last. Sampler thread. */
#ifndef PFL_SAMPLE_MEMBERS_H
#define PFL_SAMPLE_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/buf.h"
#include "base/cleanup.h"
#include "daemon/broker/client.h"
#include "daemon/sample/record.h"

enum members_rule {
	MEMBERS_ALL,  /* all, or all of a user */
	MEMBERS_TREE, /* those that were added, and what they fork from then on */
	MEMBERS_NAME, /* those whose leader has the name */
};

struct members;

/* name: for MEMBERS_NAME; what the kernel keeps of it counts. only_uid: (uid_t)-1: any.
 * every_thread: the sideband reports each thread's birth and death once, so that they can be
 * counted. */
int members_new(struct broker *b, enum members_rule rule, const char *name, uid_t only_uid,
	bool every_thread, struct members **ret_members);
void members_free(struct members *m);
AUTO_FREE_FN(struct members, members_free)

/* Other events take over: see members_new(). */
void members_go_on(struct members *m, uid_t only_uid, bool every_thread);
int members_add(struct members *m, pid_t pid, uint64_t start_ticks);
/* May ask the broker whose the process is. */
bool members_has(struct members *m, pid_t pid);
/* True: it is about a member, as of before or after it. */
bool members_follow(struct members *m, const struct sideband *s);
/* Forgets those that have ended. To be called now and then. */
void members_prune(struct members *m);
/* Sideband was lost: looks at all processes afresh. */
int members_rescan(struct members *m);
/* Appends pid_t values. */
int members_list(const struct members *m, struct buf *into);
size_t members_count(const struct members *m);

#endif
