/* jit-PID.dump: what a program says of the code it makes while it runs, in the format of perf's
 * jitdump: loads, moves, lines and unwind rules, each with its time. Records are only appended.
 * Counted; belongs to one thread at a time, but the strings it hands out stay as they are while
 * somebody holds it.
 */
#ifndef PFL_SYMBOL_JITDUMP_H
#define PFL_SYMBOL_JITDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/cleanup.h"
#include "daemon/symbol/jithistory.h"

/* Records longer than this are passed over, but for the code at the end of a load. */
#define JITDUMP_RECORD_MAX ((size_t)1 << 20)

struct jitdump;
/* pid: as the process itself sees it; from_ns: monotonic, when it began. Times before that, or in
 * the future, are of another clock: then all times of the file are left out of account, and its
 * order alone counts. */
int jitdump_new(pid_t pid, uint64_t from_ns, struct jitdump **ret_dump);
struct jitdump *jitdump_ref(struct jitdump *d);
void jitdump_unref(struct jitdump *d);
AUTO_FREE_FN(struct jitdump, jitdump_unref)

/* Takes in whole records; the first bytes of all are the header. now_ns: monotonic. Returns the
 * bytes used: what follows belongs to a record that is not all there. -EBADMSG: no jitdump, or no
 * sense can be made of what follows; -ENOTSUP: of the other byte order; -ENOMEM. */
ssize_t jitdump_feed(struct jitdump *d, const void *data, size_t len, uint64_t now_ns);
/* Reads what was appended to the file since the last time. */
int jitdump_read(struct jitdump *d, int fd);

/* All code in the order of time; a later one has the memory of earlier ones. */
int jitdump_history(struct jitdump *d, struct jithistory *h);
/* Of what the history found: code->entry. File "" and line 0: not known. */
const char *jitdump_name(const struct jitdump *d, const struct jit_code *code);
void jitdump_line(const struct jitdump *d, const struct jit_code *code, uint64_t addr,
	const char **ret_file, uint32_t *ret_line);

/* The unwind rules of the code that it has told some of, as its memory is now: what has been used
 * anew without a time to tell since when has none. -ENOENT: none; -ENOMEM. */
struct jitrules;
int jitdump_rules(struct jitdump *d, struct jitrules **ret_rules);

struct jitdump_stats {
	uint64_t records, junk, dropped; /* dropped: over a cap */
	size_t bytes;
	bool timeless; /* its times are of another clock */
};
void jitdump_get_stats(const struct jitdump *d, struct jitdump_stats *ret_stats);

#endif
