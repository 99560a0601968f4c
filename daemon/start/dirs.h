/* The daemon's two folders: made, owned as they should be, and locked against a second daemon. */
#ifndef PFL_START_DIRS_H
#define PFL_START_DIRS_H

#include <sys/types.h>
#include "base/buf.h"

/* Both: -errno and a sentence when the folder cannot be used. */

/* Socket, token and address; others may look in. *ret_lock is held while the descriptor is open. */
int dirs_runtime(const char *path, int *ret_lock, struct buf *message);
/* Profiles; uid's alone, and handed over to it, with what is in it, when it was somebody else's
 * before: root's or a picked user's. uid (uid_t)-1: ours. *ret_dir: the folder. */
int dirs_state(
	const char *path, uid_t uid, gid_t gid, int *ret_dir, int *ret_lock, struct buf *message);

#endif
