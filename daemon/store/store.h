/* Finished (and, every minute, running) profiles on disk: one file each, versioned, compressed,
 * checked, written beside and renamed over, limited in size and age. Any thread; a lock inside. */
#ifndef PFL_STORE_STORE_H
#define PFL_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "daemon/tree/profile.h"

struct store_options {
	uint64_t max_bytes;        /* of all files; oldest go first. 0: no limit */
	uint64_t max_age_s;        /* since the end of the session. 0: no limit */
	uint64_t free_floor_bytes; /* nothing is written while the file system would have less */
};

struct store;
/* dir exists. Files that are damaged or of a later version are left where they are, counted, listed
 * nowhere; files of other names are none of ours. */
int store_new(const char *dir, const struct store_options *options, struct store **ret_store);
void store_free(struct store *s);
AUTO_FREE_FN(struct store, store_free)

/* Writes <session_id>.profile, then expires by size, older ones first. -ENOSPC: over the floor or
 * the disk is full; -EFBIG: larger than all files may be. The profile is not lost in memory, nor is
 * the file that was there before. */
int store_put(struct store *s, const struct profile *p);
/* -ENOENT; -EBADMSG: damaged, and listed no longer. */
int store_get(struct store *s, uint64_t id, struct profile **ret_profile);
int store_delete(struct store *s, uint64_t id);
/* Calls fn for each, highest id first, with meta, events and ledger filled (no tree), until it
 * answers other than 0, which is then the result. No lock is held: fn may call the store. */
int store_list(struct store *s, int (*fn)(const struct profile *head, void *arg), void *arg);
/* The largest id ever written here, 0 at first: ids are not used twice, deleted or not. */
uint64_t store_last_id(struct store *s);
/* Removes what is over age or size. */
void store_expire(struct store *s);

/* A file without a name in the same folder, for bytes that are to come; closing it removes it.
 * -ENOSPC: bytes more would be over the floor. */
int store_spool(struct store *s, uint64_t bytes, int *ret_fd);

struct store_stats {
	unsigned count, damaged; /* files */
	uint64_t bytes, writes, write_errors, expired;
};
void store_get_stats(struct store *s, struct store_stats *ret_stats);

/* The bytes of the format, for tests and fuzzing. Module handles are not in it. */
struct buf;
/* -EFBIG: more than the format may hold. */
int store_encode(const struct profile *p, struct buf *into);
/* head_only: the body may be missing from data. -EBADMSG: damaged; -EPROTONOSUPPORT: a later
 * version. What is allocated is bounded by a multiple of len and some MiB. */
int store_decode(const void *data, size_t len, bool head_only, struct profile **ret_profile);

#endif
