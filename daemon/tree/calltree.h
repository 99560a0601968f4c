/* The live call tree of one session: grows at its leaves, is copied into a profile on request.
 * Sampler thread. Caps are in options; what does not fit is counted, and its sample is booked on a
 * "[dropped]" child of its process. */
#ifndef PFL_TREE_CALLTREE_H
#define PFL_TREE_CALLTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "daemon/tree/profile.h"

struct calltree_options {
	uint32_t max_nodes;   /* default 2,000,000 */
	uint32_t max_frames;  /* distinct; default 1,000,000 */
	uint32_t log_entries; /* of the sample log; a power of two is not needed */
	uint32_t event_count;
};

struct calltree;
int calltree_new(const struct calltree_options *options, struct calltree **ret_tree);
void calltree_free(struct calltree *t);

/* Strings, modules (by a caller's key), processes and threads, each once. retain takes the handle's
 * reference for the tree's life; release gives it back. All answer an index or a negative errno. */
int64_t calltree_text(struct calltree *t, const char *text, size_t len);
int64_t calltree_module(struct calltree *t, uint64_t key, const char *path,
	const char *build_id_hex,
	void *handle /* a reference is handed over when the module is new; *ret_new tells */,
	bool *ret_new);
void calltree_set_release(struct calltree *t, void (*release)(void *), void *(*retain)(void *));
int64_t calltree_process(struct calltree *t, pid_t pid, uint64_t start_ticks);
void calltree_process_comm(struct calltree *t, uint32_t process, const char *comm);
int64_t calltree_thread(struct calltree *t, pid_t tid, uint32_t process);
void calltree_thread_comm(struct calltree *t, uint32_t thread, const char *comm);

/* The id of a frame. */
int64_t calltree_frame(struct calltree *t, enum frame_kind kind, uint32_t module, uint64_t addr);

/* Books one sample: frames are the chain, outermost first, below the process. A chain seen before
 * is one look-up. Always counted somewhere; -ENOSPC says it went to "[dropped]". */
int calltree_add(struct calltree *t, uint32_t process, uint32_t thread, const uint32_t *frames,
	uint32_t count, unsigned event, uint64_t weight, uint64_t t_ns, unsigned cpu);

struct calltree_stats {
	uint64_t nodes, frames, samples, dropped, log_dropped;
	size_t bytes;
	uint64_t log_from_ns;
};
void calltree_get_stats(const struct calltree *t, struct calltree_stats *ret_stats);

/* A copy of all, with the log or without. meta, ledger and names are for the caller to fill. */
int calltree_snapshot(const struct calltree *t, bool with_log, struct profile **ret_profile);

#endif
