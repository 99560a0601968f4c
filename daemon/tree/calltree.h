/* The live call tree of one session: grows at its leaves, is copied into a profile on request.
 * Sampler thread. Caps are in options and below; what does not fit is counted, and its sample is
 * booked on a "[dropped]" child of its process. */
#ifndef PFL_TREE_CALLTREE_H
#define PFL_TREE_CALLTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "daemon/tree/profile.h"

struct calltree_options {
	uint32_t max_nodes;  /* 0: the default of 2,000,000. Processes and "[dropped]" may go beyond
			      */
	uint32_t max_frames; /* distinct; 0: the default of 1,000,000 */
	uint32_t log_entries; /* of the sample log; 0: none. A power of two is not needed */
	uint32_t event_count; /* 1 to PROFILE_EVENTS_MAX */
};

#define CALLTREE_MAX_PROCESSES 262144u
#define CALLTREE_MAX_THREADS   524288u
#define CALLTREE_MAX_MODULES   65536u
#define CALLTREE_MAX_TEXT      ((size_t)64 << 20)
#define CALLTREE_NONE          UINT32_MAX /* for a module or process that could not be had */

struct calltree;
/* -EINVAL: event_count. */
int calltree_new(const struct calltree_options *options, struct calltree **ret_tree);
/* Gives the module handles back. */
void calltree_free(struct calltree *t);
AUTO_FREE_FN(struct calltree, calltree_free)

/* The offset of a string, for meta and events of every later snapshot; -ENOSPC, -ENOMEM. */
int64_t calltree_text(struct calltree *t, const char *text, size_t len);
/* Before the first module. Snapshots retain each handle of their own. */
void calltree_set_release(struct calltree *t, void (*release)(void *), void *(*retain)(void *));
/* The index of a module by the caller's key. When it is new (*ret_new; it may be NULL), the tree
 * takes over the caller's reference to handle, to be given to release; else the reference stays the
 * caller's, as on failure: -ENOSPC, -ENOMEM. */
int64_t calltree_module(struct calltree *t, uint64_t key, const char *path,
	const char *build_id_hex, void *handle, bool *ret_new);

/* Of a module: see profile_module. */
void calltree_module_bias(struct calltree *t, uint32_t module, uint64_t bias);

/* The index of a process or thread. Once the tables are full, new ones share one entry that says
 * so, and are counted; -EINVAL: a negative pid; -ENOMEM. */
int64_t calltree_process(struct calltree *t, pid_t pid, uint64_t start_ticks);
int64_t calltree_thread(struct calltree *t, pid_t tid, uint32_t process);
/* The last one counts. An index that is not there is passed over. */
void calltree_process_comm(struct calltree *t, uint32_t process, const char *comm);
/* What it was started with, and where it runs; "": not known. */
void calltree_process_origin(struct calltree *t, uint32_t process, const char *command,
	const char *cgroup, const char *container);
void calltree_thread_comm(struct calltree *t, uint32_t thread, const char *comm);

/* The id of a frame; addr of a FRAME_SPECIAL is a calltree_text(). Never fails: what cannot be had
 * (full, no memory, a module or process that is not there) is the frame "[dropped]", and a chain
 * that holds it is booked as dropped. Leaving such a frame out instead would book the sample on a
 * stack that never was. */
uint32_t calltree_frame(struct calltree *t, enum frame_kind kind, uint32_t module, uint64_t addr);
/* A frame that stands for something else than code: "[truncated]". */
uint32_t calltree_special(struct calltree *t, const char *text);

/* Books one sample: frames are the chain, outermost first, below the process. A chain seen before
 * is one look-up. Always counted somewhere: -ENOSPC (or -ENOMEM) says that it went to "[dropped]"
 * of its process, or of none if there is no such process. -EINVAL: event; nothing was done. A
 * thread that is not there leaves the sample out of the log alone. */
int calltree_add(struct calltree *t, uint32_t process, uint32_t thread, const uint32_t *frames,
	uint32_t count, unsigned event, uint64_t weight, uint64_t t_ns, unsigned cpu);

/* The same for whoever walks down by himself, as a reader of many stacks in their order does: the
 * node of a process (-EINVAL: it is not there; -ENOMEM), and the child of a node with that frame
 * (-ENOSPC: full, or the frame is "[dropped]"; -ENOMEM). calltree_dropped(): where what has no room
 * goes. */
int calltree_top(struct calltree *t, uint32_t process, uint32_t *ret_node);
uint32_t calltree_dropped(struct calltree *t, uint32_t process);
int calltree_child(struct calltree *t, uint32_t node, uint32_t frame, uint32_t *ret_child);
/* Books samples of that weight in all on a node, and not in the log. What is on the node of a
 * "[dropped]" counts as dropped. */
void calltree_book(
	struct calltree *t, uint32_t node, unsigned event, uint64_t samples, uint64_t weight);

/* Other caps than it began with. What is in the tree stays; of the log, the newest. -ENOMEM: the
 * log is as it was. */
int calltree_limit(struct calltree *t, uint32_t max_nodes, uint32_t log_entries);

/* Makes one process of all that is_over() says are over, that have one name, "NAME (ended)": their
 * stacks become one tree, and the log follows. Their threads stay what they were. Returns how many
 * processes went into others; -ENOMEM: the tree is as it was. Takes some 100 ns a node. */
int64_t calltree_merge(struct calltree *t, bool (*is_over)(void *arg, uint32_t process), void *arg);

struct calltree_stats {
	uint64_t processes;
	uint64_t nodes, frames, samples, dropped, log_dropped;
	uint64_t tasks_merged; /* processes and threads that share an entry: the tables are full */
	size_t bytes;
	uint32_t log_count;   /* entries that are in the log */
	uint64_t log_from_ns; /* the log has every sample from here on; 0: all there were */
};
void calltree_get_stats(const struct calltree *t, struct calltree_stats *ret_stats);

/* A copy of all, with the log or without. Of the ledger, what the tree knows is filled in (samples,
 * dropped, log_dropped, log_from_ns, frames_total); the rest of it, meta, events and names are for
 * the caller. */
int calltree_snapshot(const struct calltree *t, bool with_log, struct profile **ret_profile);

#endif
