/* Who runs the daemon, and who may see all of it. */
#ifndef PFL_START_IDENTITY_H
#define PFL_START_IDENTITY_H

#include <stdbool.h>
#include <sys/types.h>
#include "base/buf.h"
#include "daemon/config.h"

/* Users that nobody named are taken from the range that service managers use for theirs. */
#define IDENTITY_UID_MIN 61184u
#define IDENTITY_UID_MAX 65519u

struct identity {
	uid_t uid; /* whom to become; (uid_t)-1: stay */
	gid_t gid;
	gid_t group;  /* whose members see all; (gid_t)-1: there is none of that name */
	bool unnamed; /* uid was picked, as there is no such user */
};

/* Looks the names up when started by root; a uid that owns the state folder already is kept.
 * -EINVAL and a sentence. */
int identity_find(const struct config *config, bool as_root, struct identity *ret_identity,
	struct buf *message);

#endif
