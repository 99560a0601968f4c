#include "daemon/render/labels.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "daemon/render/array.h"
#include "daemon/render/templates.h"

#define KERNEL_ALIGN ((uint64_t)2 << 20) /* of the kernel's random place, CONFIG_PHYSICAL_ALIGN */

const char *view_kind_name(enum view_kind kind)
{
	static const char *const names[VIEW_KIND_COUNT] = {
		[VIEW_ROOT] = "root",
		[VIEW_PROCESS] = "process",
		[VIEW_THREAD] = "thread",
		[VIEW_USER] = "user",
		[VIEW_KERNEL] = "kernel",
		[VIEW_JIT] = "jit",
		[VIEW_INLINED] = "inlined",
		[VIEW_SPECIAL] = "special",
	};

	return names[kind];
}

static uint64_t hash_of(const struct view_name *n)
{
	uint64_t h = hash_bytes(n->text, strlen(n->text), n->kind);

	h = hash_bytes(n->module, strlen(n->module), h);
	return hash_bytes(n->file, strlen(n->file), h ^ n->line);
}

static int compare_text(const char *a, const char *b)
{
	return a == b ? 0 : strcmp(a, b);
}

int labels_compare(const struct view_name *a, const struct view_name *b)
{
	int c = compare_text(a->text, b->text);

	if (c == 0)
		c = compare_text(a->module, b->module);
	if (c == 0)
		c = (int)a->kind - (int)b->kind;
	if (c == 0)
		c = compare_text(a->file, b->file);
	if (c == 0)
		c = (a->line > b->line) - (a->line < b->line);
	return c;
}

bool labels_are_hidden(const struct labels *l, uint32_t label)
{
	return !l->kernel_named && l->names[label].kind == VIEW_KERNEL;
}

static uint32_t find(const struct labels *l, uint64_t hash, const struct view_name *n)
{
	size_t cursor = hash;
	uint32_t id;

	while ((id = index_next(&l->index, hash, &cursor)) != INDEX_NONE) {
		if (labels_compare(&l->names[id], n) == 0)
			return id;
	}
	return INDEX_NONE;
}

static int add(struct labels *l, const struct view_name *n, uint32_t *ret_label)
{
	uint64_t hash = hash_of(n);
	uint32_t id = find(l, hash, n);
	int r;

	if (id == INDEX_NONE) {
		r = array_grow((void **)&l->names, l->count, &l->cap, sizeof(*l->names));
		if (r == 0)
			r = index_room(&l->index);
		if (r < 0)
			return r;
		id = l->count++;
		l->names[id] = *n;
		index_put(&l->index, hash, id);
	}
	*ret_label = id;
	return 0;
}

static bool some_kernel_name(const struct profile *p)
{
	for (uint32_t i = 0; i < p->frame_count; i++) {
		const struct profile_frame *f = &p->frames[i];

		if ((f->kind == FRAME_NAMED && f->module == NAMED_KERNEL) ||
			(f->kind == FRAME_KERNEL && p->name_starts &&
				p->name_starts[i] < p->name_starts[i + 1]))
			return true;
	}
	return false;
}

int labels_init(
	struct labels *l, const struct profile *p, const struct view_query *q, struct arena *arena)
{
	struct view_name root = {.text = "all", .module = "", .file = "", .kind = VIEW_ROOT};
	uint32_t id;

	*l = (struct labels){.profile = p,
		.lines = q->lines,
		.fold_templates = q->fold_templates,
		.arena = arena};
	l->kernel_named = some_kernel_name(p);
	l->of_frame = calloc(p->frame_count + (size_t)1, sizeof(*l->of_frame));
	l->of_process = calloc(p->process_count + (size_t)1, sizeof(*l->of_process));
	l->of_thread = calloc(p->thread_count + (size_t)1, sizeof(*l->of_thread));
	if (!l->of_frame || !l->of_process || !l->of_thread || add(l, &root, &id) < 0) {
		labels_done(l);
		return -ENOMEM;
	}
	return 0;
}

void labels_done(struct labels *l)
{
	index_done(&l->index);
	free(l->names);
	free(l->path);
	free(l->of_frame);
	free(l->of_process);
	free(l->of_thread);
	free(l->process_times);
	*l = (struct labels){0};
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* "[libfoo.so+0x1234]"; what has brackets already, as [vdso], gets no second pair. */
static const char *unnamed_user(struct labels *l, const char *module, uint64_t addr)
{
	size_t len = strlen(module);
	char offset[32];
	int digits = snprintf(offset, sizeof(offset), "+0x%" PRIx64 "]", addr);
	char *text;

	if (len > 2 && module[0] == '[' && module[len - 1] == ']') {
		module++;
		len -= 2;
	}
	text = arena_alloc(l->arena, 1 + len + (size_t)digits + 1);
	if (!text)
		return NULL;
	text[0] = '[';
	memcpy(text + 1, module, len);
	memcpy(text + 1 + len, offset, (size_t)digits);
	return text;
}

static const char *unnamed_kernel(struct labels *l, uint64_t addr)
{
	char text[32];
	int len;

	if (!l->kernel_named)
		return "[kernel]";
	len = snprintf(text, sizeof(text), "[kernel+0x%" PRIx64 "]", addr % KERNEL_ALIGN);
	return arena_strdup(l->arena, text, (size_t)len);
}

static void known_name(const struct profile *p, const struct profile_frame *f, struct view_name *n)
{
	static const uint8_t kinds[NAMED_KINDS] = {
		[NAMED_USER] = VIEW_USER,
		[NAMED_KERNEL] = VIEW_KERNEL,
		[NAMED_JIT] = VIEW_JIT,
		[NAMED_INLINED] = VIEW_INLINED,
	};

	n->kind = kinds[f->module];
	n->module = f->module == NAMED_KERNEL ? "[kernel]" : f->module == NAMED_JIT ? "[jit]" : "";
	n->unnamed = false;
	n->text = profile_text(p, (uint32_t)f->addr);
	if (!n->text[0])
		n->text = "[unknown]";
}

/* Kind, module and the text that stands for a missing name. -ENOMEM. */
static int without_name(struct labels *l, const struct profile_frame *f, struct view_name *n)
{
	const struct profile *p = l->profile;

	*n = (struct view_name){.module = "", .file = "", .unnamed = true};
	switch (f->kind) {
	case FRAME_USER:
		n->kind = VIEW_USER;
		n->module = base_name(profile_text(p, p->modules[f->module].path));
		n->text = n->module[0] ? unnamed_user(l, n->module, f->addr) : "[unknown]";
		break;
	case FRAME_KERNEL:
		n->kind = VIEW_KERNEL;
		n->module = "[kernel]";
		n->text = unnamed_kernel(l, f->addr);
		break;
	case FRAME_JIT:
		n->kind = VIEW_JIT;
		n->module = n->text = "[jit]";
		break;
	case FRAME_NAMED: known_name(p, f, n); break;
	default:
		n->kind = VIEW_SPECIAL;
		n->unnamed = false;
		n->text = profile_text(p, (uint32_t)f->addr);
		if (!n->text[0])
			n->text = "[unknown]";
	}
	return n->text ? 0 : -ENOMEM;
}

static int append(struct labels *l, const struct view_name *n)
{
	uint32_t id;
	int r = add(l, n, &id);

	if (r == 0)
		r = array_grow((void **)&l->path, l->path_count, &l->path_cap, sizeof(*l->path));
	if (r == 0)
		l->path[l->path_count++] = id;
	return r;
}

/* Names of JIT code are of other languages, where '<' may mean anything. */
static const char *shown(struct labels *l, const char *name, uint8_t kind)
{
	char *folded;

	if (!l->fold_templates || kind == VIEW_JIT || !strchr(name, '<'))
		return name;
	folded = arena_alloc(l->arena, TEMPLATES_ROOM(strlen(name)));
	if (folded)
		templates_fold(name, folded);
	return folded;
}

/* The outermost name is the function that has the code; those before it were inlined into it. */
static int append_names(
	struct labels *l, const struct view_name *plain, uint32_t first, uint32_t end)
{
	const struct profile *p = l->profile;
	int r = 0;

	for (uint32_t i = end; r == 0 && i-- > first;) {
		const struct profile_name *from = &p->name_frames[i];
		struct view_name n = *plain;
		const char *text = profile_text(p, from->name);

		if (text[0]) {
			n.text = shown(l, text, n.kind);
			n.unnamed = false;
		}
		if (i + 1 < end)
			n.kind = VIEW_INLINED;
		if (l->lines) {
			n.file = profile_text(p, from->file);
			n.line = from->line;
		}
		r = n.text ? append(l, &n) : -ENOMEM;
	}
	return r;
}

int labels_of_frame(struct labels *l, uint32_t frame, struct label_path *ret_path)
{
	const struct profile *p = l->profile;
	struct label_path *path = &l->of_frame[frame];
	uint32_t first = p->name_starts ? p->name_starts[frame] : 0;
	uint32_t end = p->name_starts ? p->name_starts[frame + 1] : 0;
	uint32_t at = l->path_count;
	struct view_name n;
	int r;

	if (path->count == 0) {
		r = without_name(l, &p->frames[frame], &n);
		if (r == 0)
			r = first < end ? append_names(l, &n, first, end) : append(l, &n);
		if (r < 0)
			return r;
		*path = (struct label_path){.at = at, .count = l->path_count - at};
	}
	*ret_path = *path;
	return 0;
}

/* "comm (id)"; times: this is the how many-th of that name. */
static int add_task(struct labels *l, enum view_kind kind, const char *comm, pid_t id,
	unsigned times, uint32_t *ret_label)
{
	struct view_name n = {.module = "", .file = "", .kind = (uint8_t)kind};
	size_t len = strlen(comm);
	char tail[48] = "";
	char *text;

	if (len == 0)
		comm = "[unknown]", len = strlen(comm);
	if (id >= 0 && times > 1)
		snprintf(tail, sizeof(tail), " (%d) #%u", (int)id, times);
	else if (id >= 0)
		snprintf(tail, sizeof(tail), " (%d)", (int)id);
	text = arena_alloc(l->arena, len + strlen(tail) + 1);
	if (!text)
		return -ENOMEM;
	memcpy(text, comm, len);
	memcpy(text + len, tail, strlen(tail));
	n.text = text;
	return add(l, &n, ret_label);
}

/* The how many-th of its pid and comm each process is. A pid that comes back is another process. */
static int count_processes(struct labels *l)
{
	const struct profile *p = l->profile;
	struct index seen = {0};
	AUTO(free_auto) uint32_t *last = calloc(p->process_count + (size_t)1, sizeof(*last));
	uint32_t *times = calloc(p->process_count + (size_t)1, sizeof(*times));
	int r = last && times ? 0 : -ENOMEM;

	for (uint32_t i = 0; r == 0 && i < p->process_count; i++) {
		const char *comm = profile_text(p, p->processes[i].comm);
		uint64_t hash = hash_bytes(comm, strlen(comm), (uint64_t)p->processes[i].pid);
		size_t cursor = hash;
		uint32_t first;

		while ((first = index_next(&seen, hash, &cursor)) != INDEX_NONE &&
			(p->processes[first].pid != p->processes[i].pid ||
				strcmp(profile_text(p, p->processes[first].comm), comm) != 0))
			;
		if (first == INDEX_NONE) {
			r = index_room(&seen);
			if (r == 0)
				index_put(&seen, hash, first = i);
		}
		if (r == 0)
			times[i] = ++last[first];
	}
	index_done(&seen);
	if (r < 0) {
		free(times);
		return r;
	}
	l->process_times = times;
	return 0;
}

int labels_of_process(struct labels *l, uint32_t process, uint32_t *ret_label)
{
	const struct profile_process *of = &l->profile->processes[process];
	int r = l->process_times ? 0 : count_processes(l);

	if (r == 0 && !l->of_process[process])
		r = add_task(l, VIEW_PROCESS, profile_text(l->profile, of->comm), of->pid,
			l->process_times[process], &l->of_process[process]);
	*ret_label = l->of_process[process];
	return r;
}

int labels_of_thread(struct labels *l, uint32_t thread, uint32_t *ret_label)
{
	const struct profile_thread *of = &l->profile->threads[thread];
	int r = 0;

	if (!l->of_thread[thread])
		r = add_task(l, VIEW_THREAD, profile_text(l->profile, of->comm), of->tid, 1,
			&l->of_thread[thread]);
	*ret_label = l->of_thread[thread];
	return r;
}
