/* What the nodes of a call tree refer to, each once: strings, modules, processes, threads, frames.
 * Part of calltree.c, whose header has the contracts. Sampler thread. */
#ifndef PFL_TREE_TABLES_H
#define PFL_TREE_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/map.h"
#include "daemon/tree/calltree.h"
#include "daemon/tree/intern.h"

/* Frames that are always there. */
enum { TABLES_ROOT_FRAME, TABLES_DROPPED_FRAME };

struct tables {
	void (*release)(void *handle);
	void *(*retain)(void *handle);

	struct texts *texts;
	struct profile_module *modules;
	uint32_t module_count, module_cap;
	struct map *module_ids;

	struct profile_process *processes;
	uint32_t process_count, process_cap;
	struct map *process_ids;
	struct profile_thread *threads;
	uint32_t thread_count, thread_cap;
	struct map *thread_ids;
	uint64_t tasks_merged;

	struct profile_frame *frames;
	uint32_t frame_count, frame_cap, max_frames;
	struct index frame_index; /* of all but the root's and the processes' */
	uint64_t seed;
};

/* A full or half-built one is ended by tables_done(). */
int tables_init(struct tables *t, uint32_t max_frames, uint64_t seed);
void tables_done(struct tables *t);
int64_t tables_module(struct tables *t, uint64_t key, const char *path, const char *build_id_hex,
	void *handle, bool *ret_new);
int64_t tables_process(struct tables *t, pid_t pid, uint64_t start_ticks);
/* The entry for processes of that comm that are over, made when there is none yet. -ENOSPC: the
 * table is full. */
int64_t tables_ended(struct tables *t, uint32_t comm);
int64_t tables_thread(struct tables *t, pid_t tid, uint32_t process);
void tables_process_comm(struct tables *t, uint32_t process, const char *comm);
void tables_process_origin(struct tables *t, uint32_t process, const char *command,
	const char *cgroup, const char *container);
void tables_thread_comm(struct tables *t, uint32_t thread, const char *comm);
uint32_t tables_frame(struct tables *t, enum frame_kind kind, uint32_t module, uint64_t addr);
uint32_t tables_special(struct tables *t, const char *text);
/* A new frame that nobody looks up; max_frames does not count for it. -ENOMEM. */
int tables_new_frame(struct tables *t, const struct profile_frame *f, uint32_t *ret_frame);
size_t tables_bytes(const struct tables *t);
/* Copies all of it into p. -ENOMEM: what was copied goes with p. */
int tables_copy(const struct tables *t, struct profile *p);

/* Arrays that grow by doubling, zeroed by nobody. */
int tables_resize(void **array, uint32_t cap, size_t each);
uint32_t tables_next_cap(uint32_t cap);
/* A copy of count elements, which may be none; *(void **)ret_copy. */
int tables_copy_array(void *ret_copy, const void *data, size_t count, size_t each);

#endif
