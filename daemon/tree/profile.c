#include "daemon/tree/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/tree/bulk.h"

int profile_new(struct profile **ret_profile)
{
	struct profile *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->refs = 1;
	*ret_profile = p;
	return 0;
}

struct profile *profile_ref(struct profile *p)
{
	__atomic_add_fetch(&p->refs, 1, __ATOMIC_RELAXED);
	return p;
}

bool profile_is_shared(const struct profile *p)
{
	/* Whoever let go before is done with it: pairs with the release there. */
	return __atomic_load_n(&p->refs, __ATOMIC_ACQUIRE) > 1;
}

size_t profile_bytes(const struct profile *p)
{
	size_t bytes = sizeof(*p) + p->text_bytes, names = 0;

	if (p->name_starts)
		names = p->name_starts[p->frame_count];
	bytes += p->module_count * sizeof(*p->modules);
	bytes += p->process_count * sizeof(*p->processes) + p->thread_count * sizeof(*p->threads);
	bytes += p->frame_count * (sizeof(*p->frames) + sizeof(*p->name_starts));
	bytes += p->node_count * sizeof(*p->nodes);
	bytes += (size_t)p->event_count * p->node_count * 2 * sizeof(uint64_t);
	bytes += p->log_count * sizeof(*p->log) + names * sizeof(*p->name_frames);
	return bytes;
}

static void release_handles(struct profile *p)
{
	if (!p->release_handle || !p->modules)
		return;
	for (uint32_t i = 0; i < p->module_count; i++) {
		if (p->modules[i].handle)
			p->release_handle(p->modules[i].handle);
	}
}

void profile_unref(struct profile *p)
{
	/* The last one to let go must see what the others did with it before. */
	if (!p || __atomic_sub_fetch(&p->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	release_handles(p);
	free(p->text);
	free(p->modules);
	free(p->processes);
	free(p->threads);
	free(p->frames);
	free(p->nodes);
	free(p->self_weight);
	free(p->self_samples);
	free(p->log);
	free(p->name_starts);
	free(p->name_frames);
	free(p);
}

const char *profile_text(const struct profile *p, uint32_t off)
{
	return p->text && off < p->text_bytes ? p->text + off : "";
}

void profile_find_processes(const struct profile *p, uint32_t *process_of)
{
	for (uint32_t i = 0; i < p->node_count; i++) {
		const struct profile_frame *f = &p->frames[p->nodes[i].frame];

		if (f->kind == FRAME_PROCESS)
			process_of[i] = (uint32_t)f->addr;
		else
			process_of[i] = i ? process_of[p->nodes[i].parent] : PROFILE_NO_PROCESS;
	}
}

int64_t profile_add_text(struct profile *p, const char *text, size_t len)
{
	uint32_t off = p->text ? p->text_bytes : 1;
	char *bigger;

	len = strnlen(text, len);
	if (len == 0)
		return 0;
	if (len >= (size_t)INT32_MAX - off)
		return -ENOSPC;
	bigger = realloc(p->text, off + len + 1);
	if (!bigger)
		return -ENOMEM;
	bigger[0] = 0;
	memcpy(bigger + off, text, len);
	bigger[off + len] = 0;
	p->text = bigger;
	p->text_bytes = (uint32_t)(off + len + 1);
	return off;
}

/* NULL for nothing; *failed when there was something to copy and no memory. */
static void *copy_of(const void *data, size_t count, size_t each, bool *failed)
{
	void *copy;

	if (!data)
		return NULL;
	copy = bulk_alloc(count * each);
	if (!copy)
		*failed = true;
	else if (count > 0)
		memcpy(copy, data, count * each);
	return copy;
}

static void copy_modules(
	const struct profile *p, void *(*retain)(void *), struct profile *to, bool *failed)
{
	to->modules = copy_of(p->modules, p->module_count, sizeof(*p->modules), failed);
	if (!to->modules)
		return;
	to->module_count = p->module_count;
	to->release_handle = retain ? p->release_handle : NULL;
	for (uint32_t i = 0; i < to->module_count; i++) {
		void *handle = p->modules[i].handle;

		to->modules[i].handle = handle && retain ? retain(handle) : NULL;
	}
}

int profile_copy(const struct profile *p, void *(*retain)(void *handle), struct profile **ret_copy)
{
	AUTO(profile_unref_auto) struct profile *to = NULL;
	size_t cells = (size_t)p->event_count * p->node_count;
	bool failed = false;
	int r = profile_new(&to);

	if (r < 0)
		return r;
	to->meta = p->meta;
	to->ledger = p->ledger;
	memcpy(to->events, p->events, sizeof(to->events));
	to->event_count = p->event_count;
	to->text_bytes = p->text_bytes;
	to->process_count = p->process_count;
	to->thread_count = p->thread_count;
	to->frame_count = p->frame_count;
	to->node_count = p->node_count;
	to->log_count = p->log_count;

	to->text = copy_of(p->text, p->text_bytes, 1, &failed);
	to->processes = copy_of(p->processes, p->process_count, sizeof(*p->processes), &failed);
	to->threads = copy_of(p->threads, p->thread_count, sizeof(*p->threads), &failed);
	to->frames = copy_of(p->frames, p->frame_count, sizeof(*p->frames), &failed);
	to->nodes = copy_of(p->nodes, p->node_count, sizeof(*p->nodes), &failed);
	to->self_weight = copy_of(p->self_weight, cells, sizeof(*p->self_weight), &failed);
	to->self_samples = copy_of(p->self_samples, cells, sizeof(*p->self_samples), &failed);
	to->log = copy_of(p->log, p->log_count, sizeof(*p->log), &failed);
	copy_modules(p, retain, to, &failed);
	if (failed)
		return -ENOMEM;
	*ret_copy = MOVE(to);
	return 0;
}

static bool text_ok(const struct profile *p, uint64_t off)
{
	return off == 0 || off < p->text_bytes;
}

static bool check_texts(const struct profile *p)
{
	const struct profile_meta *m = &p->meta;

	if (p->text_bytes > 0 && (!p->text || p->text[0] || p->text[p->text_bytes - 1]))
		return false;
	for (uint32_t i = 0; i < p->event_count; i++) {
		if (!text_ok(p, p->events[i].name))
			return false;
	}
	return text_ok(p, m->name) && text_ok(p, m->target) && text_ok(p, m->target_json) &&
		text_ok(p, m->options_json) && text_ok(p, m->state) && text_ok(p, m->ended_by) &&
		text_ok(p, m->warnings);
}

static bool check_tables(const struct profile *p)
{
	if ((p->module_count && !p->modules) || (p->process_count && !p->processes) ||
		(p->thread_count && !p->threads))
		return false;
	for (uint32_t i = 0; i < p->module_count; i++) {
		if (!text_ok(p, p->modules[i].path) || !text_ok(p, p->modules[i].build_id))
			return false;
	}
	for (uint32_t i = 0; i < p->process_count; i++) {
		const struct profile_process *x = &p->processes[i];

		if (!text_ok(p, x->comm) || !text_ok(p, x->command) || !text_ok(p, x->cgroup) ||
			!text_ok(p, x->container))
			return false;
	}
	for (uint32_t i = 0; i < p->thread_count; i++) {
		if (p->threads[i].process >= p->process_count || !text_ok(p, p->threads[i].comm))
			return false;
	}
	return true;
}

static bool frame_ok(const struct profile *p, const struct profile_frame *f)
{
	switch (f->kind) {
	case FRAME_ROOT:
	case FRAME_KERNEL: return true;
	case FRAME_PROCESS: return f->addr < p->process_count;
	case FRAME_USER: return f->module < p->module_count;
	case FRAME_JIT: return f->module < p->process_count;
	case FRAME_SPECIAL: return text_ok(p, f->addr);
	case FRAME_NAMED: return f->module < NAMED_KINDS && f->addr && text_ok(p, f->addr);
	default: return false;
	}
}

static bool node_ok(const struct profile *p, uint32_t i)
{
	const struct profile_node *n = &p->nodes[i];
	unsigned kind;

	if (n->frame >= p->frame_count)
		return false;
	kind = p->frames[n->frame].kind;
	if (i == 0)
		return kind == FRAME_ROOT;
	if (n->parent >= i)
		return false;
	if (n->parent == 0)
		return kind == FRAME_PROCESS || kind == FRAME_SPECIAL;
	return kind != FRAME_PROCESS && kind != FRAME_ROOT;
}

static bool check_tree(const struct profile *p)
{
	if ((p->frame_count && !p->frames) || (p->node_count && !p->nodes))
		return false;
	for (uint32_t i = 0; i < p->frame_count; i++) {
		if (!frame_ok(p, &p->frames[i]))
			return false;
	}
	for (uint32_t i = 0; i < p->node_count; i++) {
		if (!node_ok(p, i))
			return false;
	}
	return true;
}

static bool sums_fit(const uint64_t *cells, uint32_t count)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (__builtin_add_overflow(sum, cells[i], &sum))
			return false;
	}
	return true;
}

static bool check_weights(const struct profile *p)
{
	if (p->event_count > PROFILE_EVENTS_MAX)
		return false;
	if (p->event_count == 0 || p->node_count == 0)
		return true;
	if (!p->self_weight || !p->self_samples)
		return false;
	for (uint32_t e = 0; e < p->event_count; e++) {
		size_t at = (size_t)e * p->node_count;

		if (!sums_fit(p->self_weight + at, p->node_count) ||
			!sums_fit(p->self_samples + at, p->node_count))
			return false;
	}
	return true;
}

static bool check_log(const struct profile *p)
{
	uint64_t sum = 0;

	if (p->log_count && !p->log)
		return false;
	for (uint32_t i = 0; i < p->log_count; i++) {
		const struct log_entry *e = &p->log[i];

		if (e->node >= p->node_count || e->thread >= p->thread_count ||
			e->event >= p->event_count || __builtin_add_overflow(sum, e->weight, &sum))
			return false;
	}
	return true;
}

static bool check_names(const struct profile *p)
{
	uint32_t count;

	if (!p->name_starts)
		return true;
	for (uint32_t i = 0; i < p->frame_count; i++) {
		if (p->name_starts[i] > p->name_starts[i + 1])
			return false;
	}
	count = p->name_starts[p->frame_count];
	if (p->name_starts[0] != 0 || (count && !p->name_frames))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		if (!text_ok(p, p->name_frames[i].name) || !text_ok(p, p->name_frames[i].file))
			return false;
	}
	return true;
}

int profile_check(const struct profile *p)
{
	if (!check_weights(p) || !check_texts(p) || !check_tables(p) || !check_tree(p) ||
		!check_log(p) || !check_names(p))
		return -EBADMSG;
	return 0;
}
