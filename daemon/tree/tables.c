#include "daemon/tree/tables.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "daemon/tree/bulk.h"

#define PID_BITS 22 /* PID_MAX_LIMIT of the kernel is 2^22 */

int tables_resize(void **array, uint32_t cap, size_t each)
{
	void *bigger = realloc(*array, cap * each);

	if (!bigger)
		return -ENOMEM;
	*array = bigger;
	return 0;
}

uint32_t tables_next_cap(uint32_t cap)
{
	return cap ? cap * 2 : 64;
}

int tables_new_frame(struct tables *t, const struct profile_frame *f, uint32_t *ret_frame)
{
	uint32_t cap = tables_next_cap(t->frame_cap);
	int r = 0;

	if (t->frame_count == t->frame_cap) {
		r = tables_resize((void **)&t->frames, cap, sizeof(*t->frames));
		if (r < 0)
			return r;
		t->frame_cap = cap;
	}
	t->frames[t->frame_count] = *f;
	*ret_frame = t->frame_count++;
	return r;
}

int tables_init(struct tables *t, uint32_t max_frames, uint64_t seed)
{
	struct profile_frame root = {.kind = FRAME_ROOT};
	uint32_t id;
	int r;

	*t = (struct tables){.max_frames = max_frames, .seed = seed};
	r = texts_new(CALLTREE_MAX_TEXT, &t->texts);
	if (r == 0)
		r = map_new(0, &t->module_ids);
	if (r == 0)
		r = map_new(0, &t->process_ids);
	if (r == 0)
		r = map_new(0, &t->thread_ids);
	if (r == 0)
		r = tables_new_frame(t, &root, &id);
	/* The second frame answers its own id when it cannot be made, too: hence the count. */
	if (r == 0) {
		tables_special(t, "[dropped]");
		r = t->frame_count == TABLES_DROPPED_FRAME + 1 ? 0 : -ENOMEM;
	}
	return r;
}

void tables_done(struct tables *t)
{
	for (uint32_t i = 0; t->release && i < t->module_count; i++) {
		if (t->modules[i].handle)
			t->release(t->modules[i].handle);
	}
	texts_free(t->texts);
	map_free(t->module_ids);
	map_free(t->process_ids);
	map_free(t->thread_ids);
	index_done(&t->frame_index);
	free(t->modules);
	free(t->processes);
	free(t->threads);
	free(t->frames);
}

static int new_module(struct tables *t, const char *path, const char *build_id, void *handle)
{
	int64_t path_off = texts_add(t->texts, path, strlen(path));
	int64_t id_off = texts_add(t->texts, build_id, strlen(build_id));
	uint32_t cap = tables_next_cap(t->module_cap);

	if (t->module_count >= CALLTREE_MAX_MODULES)
		return -ENOSPC;
	if (path_off < 0 || id_off < 0)
		return (int)(path_off < 0 ? path_off : id_off);
	if (t->module_count == t->module_cap) {
		if (tables_resize((void **)&t->modules, cap, sizeof(*t->modules)) < 0)
			return -ENOMEM;
		t->module_cap = cap;
	}
	t->modules[t->module_count] = (struct profile_module){
		.path = (uint32_t)path_off,
		.build_id = (uint32_t)id_off,
		.handle = handle,
	};
	return 0;
}

int64_t tables_module(struct tables *t, uint64_t key, const char *path, const char *build_id_hex,
	void *handle, bool *ret_new)
{
	bool unused = false;
	bool *is_new = ret_new ? ret_new : &unused;
	uint64_t id;
	int r;

	*is_new = false;
	if (map_get(t->module_ids, key, &id))
		return (int64_t)id;
	r = new_module(t, path, build_id_hex ? build_id_hex : "", handle);
	if (r == 0)
		r = map_set(t->module_ids, key, t->module_count);
	if (r < 0)
		return r;
	*is_new = true;
	return t->module_count++;
}

static int new_process(struct tables *t, pid_t pid, uint64_t start_ticks)
{
	uint32_t cap = tables_next_cap(t->process_cap);
	int r = 0;

	if (t->process_count == t->process_cap) {
		r = tables_resize((void **)&t->processes, cap, sizeof(*t->processes));
		if (r < 0)
			return r;
		t->process_cap = cap;
	}
	t->processes[t->process_count] =
		(struct profile_process){.pid = pid, .start_ticks = start_ticks};
	return 0;
}

int64_t tables_process(struct tables *t, pid_t pid, uint64_t start_ticks)
{
	uint64_t key = start_ticks << PID_BITS | (uint32_t)pid;
	bool last = t->process_count + 1 >= CALLTREE_MAX_PROCESSES;
	uint64_t id;
	int r;

	if (pid < 0 || pid >> PID_BITS)
		return -EINVAL;
	if (map_get(t->process_ids, key, &id))
		return (int64_t)id;
	t->tasks_merged += last;
	/* The last place is for all that come too late. */
	if (t->process_count == CALLTREE_MAX_PROCESSES)
		return CALLTREE_MAX_PROCESSES - 1;
	r = new_process(t, last ? -1 : pid, last ? 0 : start_ticks);
	if (r == 0 && !last)
		r = map_set(t->process_ids, key, t->process_count);
	if (r < 0)
		return r;
	t->process_count++;
	if (last)
		tables_process_comm(t, t->process_count - 1, "[other processes]");
	return t->process_count - 1;
}

int64_t tables_ended(struct tables *t, uint32_t comm)
{
	AUTO(buf_done) struct buf name = BUF_INIT;
	int64_t off;
	int r;

	buf_printf(&name, "%s (ended)", texts_get(t->texts, comm));
	off = name.error ? name.error : texts_add(t->texts, name.data, name.len);
	if (off < 0)
		return off;
	for (uint32_t i = 0; i < t->process_count; i++)
		if (t->processes[i].pid == -1 && t->processes[i].comm == (uint32_t)off)
			return i;
	/* The last place is taken. */
	if (t->process_count + 1 >= CALLTREE_MAX_PROCESSES)
		return -ENOSPC;
	r = new_process(t, -1, 0);
	if (r < 0)
		return r;
	t->processes[t->process_count].comm = (uint32_t)off;
	return t->process_count++;
}

void tables_process_comm(struct tables *t, uint32_t process, const char *comm)
{
	int64_t off = texts_add(t->texts, comm, strlen(comm));

	/* With no room for another name, the one before is the best there is. */
	if (process < t->process_count && off >= 0)
		t->processes[process].comm = (uint32_t)off;
}

static void set_text(struct tables *t, uint32_t *text, const char *to)
{
	int64_t off = texts_add(t->texts, to, strlen(to));

	if (off >= 0)
		*text = (uint32_t)off;
}

void tables_process_origin(struct tables *t, uint32_t process, const char *command,
	const char *cgroup, const char *container)
{
	if (process >= t->process_count)
		return;
	set_text(t, &t->processes[process].command, command);
	set_text(t, &t->processes[process].cgroup, cgroup);
	set_text(t, &t->processes[process].container, container);
}

static int new_thread(struct tables *t, pid_t tid, uint32_t process)
{
	uint32_t cap = tables_next_cap(t->thread_cap);

	if (t->thread_count == t->thread_cap) {
		if (tables_resize((void **)&t->threads, cap, sizeof(*t->threads)) < 0)
			return -ENOMEM;
		t->thread_cap = cap;
	}
	t->threads[t->thread_count] = (struct profile_thread){.tid = tid, .process = process};
	return 0;
}

int64_t tables_thread(struct tables *t, pid_t tid, uint32_t process)
{
	uint64_t key = (uint64_t)process << 32 | (uint32_t)tid;
	bool last = t->thread_count + 1 >= CALLTREE_MAX_THREADS;
	uint64_t id;
	int r;

	if (tid < 0 || process >= t->process_count)
		return -EINVAL;
	if (map_get(t->thread_ids, key, &id))
		return (int64_t)id;
	t->tasks_merged += last;
	if (t->thread_count == CALLTREE_MAX_THREADS)
		return CALLTREE_MAX_THREADS - 1;
	r = new_thread(t, last ? -1 : tid, process);
	if (r == 0 && !last)
		r = map_set(t->thread_ids, key, t->thread_count);
	if (r < 0)
		return r;
	t->thread_count++;
	if (last)
		tables_thread_comm(t, t->thread_count - 1, "[other threads]");
	return t->thread_count - 1;
}

void tables_thread_comm(struct tables *t, uint32_t thread, const char *comm)
{
	int64_t off = texts_add(t->texts, comm, strlen(comm));

	if (thread < t->thread_count && off >= 0)
		t->threads[thread].comm = (uint32_t)off;
}

static int intern_frame(struct tables *t, const struct profile_frame *f, uint32_t *ret_frame)
{
	uint64_t hash = hash_u64(f->addr ^ t->seed ^ ((uint64_t)f->module << 40 | f->kind));
	size_t cursor = hash;
	uint32_t id;
	int r;

	while ((id = index_next(&t->frame_index, hash, &cursor)) != INDEX_NONE) {
		const struct profile_frame *other = &t->frames[id];

		if (other->addr == f->addr && other->module == f->module &&
			other->kind == f->kind) {
			*ret_frame = id;
			return 0;
		}
	}
	if (t->frame_count >= t->max_frames)
		return -ENOSPC;
	r = index_room(&t->frame_index);
	if (r == 0)
		r = tables_new_frame(t, f, ret_frame);
	if (r == 0)
		index_put(&t->frame_index, hash, *ret_frame);
	return r;
}

uint32_t tables_frame(struct tables *t, enum frame_kind kind, uint32_t module, uint64_t addr)
{
	struct profile_frame f = {.addr = addr, .module = module, .kind = (uint8_t)kind};
	uint32_t id;

	switch (kind) {
	case FRAME_USER:
		if (module >= t->module_count)
			return TABLES_DROPPED_FRAME;
		break;
	case FRAME_JIT:
		if (module >= t->process_count)
			return TABLES_DROPPED_FRAME;
		break;
	case FRAME_SPECIAL:
		if (addr >= texts_bytes(t->texts))
			return TABLES_DROPPED_FRAME;
		f.module = 0;
		break;
	case FRAME_NAMED:
		if (module >= NAMED_KINDS || !addr || addr >= texts_bytes(t->texts))
			return TABLES_DROPPED_FRAME;
		break;
	case FRAME_KERNEL: f.module = 0; break;
	default: return TABLES_DROPPED_FRAME; /* the tree's own */
	}
	return intern_frame(t, &f, &id) == 0 ? id : TABLES_DROPPED_FRAME;
}

uint32_t tables_special(struct tables *t, const char *text)
{
	int64_t off = texts_add(t->texts, text, strlen(text));
	struct profile_frame f = {.kind = FRAME_SPECIAL, .addr = (uint64_t)off};
	uint32_t id;

	return off >= 0 && intern_frame(t, &f, &id) == 0 ? id : TABLES_DROPPED_FRAME;
}

size_t tables_bytes(const struct tables *t)
{
	return texts_memory(t->texts) + t->frame_cap * sizeof(*t->frames) +
		t->process_cap * sizeof(*t->processes) + t->thread_cap * sizeof(*t->threads) +
		t->module_cap * sizeof(*t->modules) + index_bytes(&t->frame_index) +
		map_bytes(t->module_ids) + map_bytes(t->process_ids) + map_bytes(t->thread_ids);
}

/* A copy of count elements, which may be none. */
int tables_copy_array(void *ret_copy, const void *data, size_t count, size_t each)
{
	void *to = bulk_alloc(count * each);

	if (!to)
		return -ENOMEM;
	if (count > 0)
		memcpy(to, data, count * each);
	*(void **)ret_copy = to;
	return 0;
}

static int copy_modules(const struct tables *t, struct profile *p)
{
	int r = tables_copy_array(&p->modules, t->modules, t->module_count, sizeof(*t->modules));

	if (r < 0)
		return r;
	p->module_count = t->module_count;
	p->release_handle = t->release;
	for (uint32_t i = 0; i < p->module_count; i++) {
		void *handle = t->modules[i].handle;

		p->modules[i].handle = handle && t->retain ? t->retain(handle) : NULL;
	}
	return 0;
}

int tables_copy(const struct tables *t, struct profile *p)
{
	int r = copy_modules(t, p);

	if (r == 0)
		r = texts_copy(t->texts, &p->text, &p->text_bytes);
	if (r == 0)
		r = tables_copy_array(
			&p->processes, t->processes, t->process_count, sizeof(*t->processes));
	if (r == 0)
		r = tables_copy_array(
			&p->threads, t->threads, t->thread_count, sizeof(*t->threads));
	if (r == 0)
		r = tables_copy_array(&p->frames, t->frames, t->frame_count, sizeof(*t->frames));
	p->process_count = t->process_count;
	p->thread_count = t->thread_count;
	p->frame_count = t->frame_count;
	return r;
}
