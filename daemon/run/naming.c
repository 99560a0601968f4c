#include "daemon/run/naming.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/buf.h"
#include "base/map.h"
#include "daemon/run/jitsplit.h"
#include "daemon/run/meta.h"
#include "daemon/tree/ledger.h"

/* What a look-up found for one frame: found[start .. start + count). */
struct slot {
	uint32_t start, count;
	uint64_t function; /* NAME_FROM_FDE: where it begins */
	uint8_t source;    /* of the outermost */
};

_Static_assert((int)NAME_FROM_COUNT == (int)LEDGER_SOURCE_COUNT &&
		(int)NAME_FROM_KALLSYMS == (int)LEDGER_FROM_KALLSYMS &&
		(int)NAME_FROM_FDE == (int)LEDGER_FROM_FDE,
	"one order");

struct work {
	struct names *names;
	struct profile *p;
	enum names_want want;
	uint32_t *order;    /* frames by kind, module, address */
	uint64_t *addrs;    /* distinct ones of the group at hand */
	struct slot *slots; /* by frame */
	struct profile_name *found;
	uint64_t *since_ns; /* of JIT code, as found */
	uint32_t found_count, found_room;
	struct buf text;  /* the profile's, while names are added */
	struct map *seen; /* hash of a string -> its offset in text */
};

static void work_done(struct work *w)
{
	free(w->order);
	free(w->addrs);
	free(w->slots);
	free(w->found);
	free(w->since_ns);
	buf_done(&w->text);
	map_free(w->seen);
}

static int compare_frames(const void *a, const void *b, void *arg)
{
	const struct profile_frame *frames = arg;
	const struct profile_frame *x = &frames[*(const uint32_t *)a],
				   *y = &frames[*(const uint32_t *)b];

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static uint32_t text_at(struct work *w, const char *text)
{
	size_t len = strlen(text);
	uint64_t hash = hash_bytes(text, len, 0), at;

	if (!len)
		return 0;
	if (map_get(w->seen, hash, &at) && strcmp(w->text.data + at, text) == 0)
		return (uint32_t)at;
	at = w->text.len;
	if (at + len + 1 > UINT32_MAX || buf_append(&w->text, text, len + 1) < 0)
		return 0;
	(void)map_set(w->seen, hash, at);
	return (uint32_t)at;
}

static int add_found(struct work *w, const struct name_frame *f)
{
	if (w->found_count == w->found_room) {
		uint32_t room = w->found_room ? 2 * w->found_room : 1024;
		struct profile_name *grown = realloc(w->found, room * sizeof(*grown));
		uint64_t *since = realloc(w->since_ns, room * sizeof(*since));

		w->found = grown ? grown : w->found;
		w->since_ns = since ? since : w->since_ns;
		if (!grown || !since)
			return -ENOMEM;
		w->found_room = room;
	}
	w->since_ns[w->found_count] = f->since_ns;
	w->found[w->found_count++] = (struct profile_name){.name = text_at(w, f->name),
		.file = text_at(w, f->file ? f->file : ""),
		.line = f->line,
		.inlined = f->inlined};
	return 0;
}

static int ask(struct work *w, const struct profile_frame *f, uint32_t count, struct name_answer *a)
{
	const struct profile *p = w->p;

	switch (f->kind) {
	case FRAME_USER:
		if (f->module >= p->module_count || !p->modules[f->module].handle)
			return -ENOENT;
		return names_of_module(
			w->names, p->modules[f->module].handle, w->addrs, count, w->want, a);
	case FRAME_KERNEL: return names_of_kernel(w->names, w->addrs, count, a);
	case FRAME_JIT:
		if (f->module >= p->process_count)
			return -ENOENT;
		return names_of_jit(w->names, p->processes[f->module].pid,
			p->processes[f->module].start_ticks, w->addrs, count, a);
	default: return -ENOENT;
	}
}

static int fill_slot(struct work *w, const struct name_answer *a, uint32_t at, struct slot *slot)
{
	int r = 0;

	slot->start = w->found_count;
	for (uint32_t k = a->starts[at]; k < a->starts[at + 1] && r >= 0; k++) {
		const struct name_frame *f = &a->frames[k];

		slot->source = f->source;
		if (f->source == NAME_FROM_FDE)
			slot->function = f->start;
		else
			r = add_found(w, f);
	}
	slot->count = w->found_count - slot->start;
	return r;
}

/* Frames order[from, to) are of one kind and module, ascending. */
static int name_group(struct work *w, uint32_t from, uint32_t to)
{
	const struct profile_frame *frames = w->p->frames;
	struct name_answer a = {0};
	uint32_t distinct = 0, at = 0;
	int r = 0;

	for (uint32_t i = from; i < to; i++)
		if (i == from || frames[w->order[i]].addr != frames[w->order[i - 1]].addr)
			w->addrs[distinct++] = frames[w->order[i]].addr;
	if (ask(w, &frames[w->order[from]], distinct, &a) < 0 || a.count != distinct) {
		names_release(&a);
		return 0; /* unnamed; why is in the counters of names */
	}
	for (uint32_t i = from; i < to && r >= 0; i++) {
		struct slot *slot = &w->slots[w->order[i]];

		while (w->addrs[at] != frames[w->order[i]].addr)
			at++;
		r = fill_slot(w, &a, at, slot);
	}
	names_release(&a);
	return r;
}

static int name_all(struct work *w)
{
	const struct profile *p = w->p;
	uint32_t from = 0;
	int r;

	for (uint32_t i = 0; i < p->frame_count; i++)
		w->order[i] = i;
	if (p->frame_count)
		qsort_r(w->order, p->frame_count, sizeof(*w->order), compare_frames, p->frames);
	for (uint32_t i = 1; i <= p->frame_count; i++) {
		const struct profile_frame *x = &p->frames[w->order[from]];

		if (i < p->frame_count && p->frames[w->order[i]].kind == x->kind &&
			p->frames[w->order[i]].module == x->module)
			continue;
		r = name_group(w, from, i);
		if (r < 0)
			return r;
		from = i;
	}
	return w->text.error;
}

static bool is_reused(const struct work *w, uint32_t frame)
{
	return w->p->frames[frame].kind == FRAME_JIT && w->slots[frame].count > 1;
}

/* Each function that a frame stood for gets a frame; without a log nobody knows which samples are
 * whose, and the last one has them all. */
static int split_reused(struct work *w)
{
	uint32_t old = w->p->frame_count, count = 0;
	AUTO(free_auto) struct jitsplit *splits = NULL;
	struct slot *slots;
	int r;

	for (uint32_t i = 0; i < old; i++)
		count += is_reused(w, i);
	splits = calloc((size_t)count + 1, sizeof(*splits));
	if (!splits)
		return -ENOMEM;
	count = 0;
	for (uint32_t i = 0; i < old; i++) {
		if (!is_reused(w, i))
			continue;
		splits[count].frame = i;
		splits[count].count = w->slots[i].count;
		splits[count].since_at = w->slots[i].start;
		count++;
	}
	r = count && w->p->log ? jitsplit_apply(w->p, splits, count, w->since_ns) : 0;
	if (r < 0)
		return r;
	slots = realloc(w->slots, ((size_t)w->p->frame_count + 1) * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	w->slots = slots;
	for (uint32_t i = 0; i < count; i++) {
		const struct jitsplit *s = &splits[i];

		for (uint32_t k = 0; w->p->log && k + 1 < s->count; k++)
			slots[s->extra + k] = (struct slot){.start = s->since_at + k,
				.count = 1,
				.source = slots[s->frame].source};
		slots[s->frame].start = s->since_at + s->count - 1;
		slots[s->frame].count = 1;
	}
	return 0;
}

/* The found names in the order of the frames, as the profile keeps them. */
static int put_names(struct work *w)
{
	struct profile *p = w->p;
	uint32_t at = 0;

	free(p->name_starts);
	free(p->name_frames);
	p->name_starts = calloc((size_t)p->frame_count + 1, sizeof(*p->name_starts));
	p->name_frames = calloc((size_t)w->found_count + 1, sizeof(*p->name_frames));
	if (!p->name_starts || !p->name_frames)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->frame_count; i++) {
		const struct slot *slot = &w->slots[i];
		uint8_t kind = p->frames[i].kind;

		p->name_starts[i] = at;
		if (slot->count)
			memcpy(p->name_frames + at, w->found + slot->start,
				slot->count * sizeof(*w->found));
		at += slot->count;
		/* All addresses of the function are one frame. */
		if (slot->source == NAME_FROM_FDE)
			p->frames[i].addr = slot->function;
		if (kind != FRAME_USER && kind != FRAME_KERNEL && kind != FRAME_JIT)
			continue;
		p->ledger.frames_unnamed += !slot->count;
		p->ledger.names_from[slot->source]++;
	}
	p->name_starts[p->frame_count] = at;
	return 0;
}

static int apply(struct work *w)
{
	size_t n = (size_t)w->p->frame_count + 1;
	int r = map_new(1024, &w->seen);

	w->order = calloc(n, sizeof(*w->order));
	w->addrs = calloc(n, sizeof(*w->addrs));
	w->slots = calloc(n, sizeof(*w->slots));
	if (r < 0 || !w->order || !w->addrs || !w->slots)
		return -ENOMEM;
	r = buf_append(&w->text, w->p->text_bytes ? w->p->text : "",
		w->p->text_bytes ? w->p->text_bytes : 1);
	if (r < 0)
		return r;
	r = name_all(w);
	if (r == 0)
		r = split_reused(w);
	if (r < 0)
		return r;
	free(w->p->text);
	w->p->text_bytes = (uint32_t)w->text.len;
	w->p->text = buf_take(&w->text);
	return put_names(w);
}

static void *retain_module(void *handle)
{
	return module_ref(handle);
}

static bool has_kernel_frames(const struct profile *p)
{
	for (uint32_t i = 0; i < p->frame_count; i++)
		if (p->frames[i].kind == FRAME_KERNEL)
			return true;
	return false;
}

/* While the kernel is that of the frames: of one that is gone the file in the store tells. */
static void note_kernel(struct names *names, struct profile *p)
{
	char hex[2 * BUILD_ID_MAX + 1] = "";
	struct kernel_identity id;
	struct utsname name;

	names_kernel_identity(names, &id);
	for (unsigned i = 0; i < id.build_id_bytes; i++)
		snprintf(hex + 2 * i, 3, "%02x", id.build_id[i]);
	p->meta.kernel_text = id.text;
	p->meta.kernel_build_id = meta_text(p, hex);
	p->meta.kernel_release = meta_text(p, uname(&name) == 0 ? name.release : "");
}

static void warn(struct profile *p, const char *line)
{
	AUTO(buf_done) struct buf b = BUF_INIT;

	if (strstr(profile_text(p, p->meta.warnings), line))
		return; /* of a look-up before */
	buf_printf(&b, "%s%s\n", profile_text(p, p->meta.warnings), line);
	if (!b.error)
		p->meta.warnings = meta_text(p, b.data);
}

static void note_hidden_kernel(struct names *names, struct profile *p)
{
	if (names_kernel_hidden(names))
		warn(p,
			"kernel functions have no names: the kernel hides their addresses "
			"(kernel.kptr_restrict, or CAP_SYSLOG is missing)");
}

/* What a program makes while it runs is known as far as it tells: says how to have it tell more,
 * where that matters. */
static void note_made_code(struct profile *p)
{
	uint64_t made = 0, unnamed = 0;

	for (uint32_t i = 0; i < p->frame_count; i++) {
		if (p->frames[i].kind != FRAME_JIT)
			continue;
		made++;
		unnamed += p->name_starts[i] == p->name_starts[i + 1];
	}
	if (unnamed * 10 > made)
		warn(p,
			"[jit] is code that a program made and gave no names: node wants "
			"--perf-basic-prof, python -X perf, java a \"profilectl perfmap PID\" now "
			"and then");
	if (made > 0 && p->ledger.unwind_ends[LEDGER_NO_CFI] * 10 > p->ledger.samples)
		warn(p,
			"stacks are [incomplete] where code that a program made keeps no frame "
			"pointers: java wants -XX:+PreserveFramePointer");
}

void naming_keep_jit(struct names *names, const struct profile *raw)
{
	AUTO(free_auto) bool *done = calloc((size_t)raw->process_count + 1, sizeof(*done));

	for (uint32_t i = 0; done && i < raw->frame_count; i++) {
		uint32_t process = raw->frames[i].module;

		if (raw->frames[i].kind != FRAME_JIT || process >= raw->process_count ||
			done[process])
			continue;
		done[process] = true;
		names_jit_refresh(
			names, raw->processes[process].pid, raw->processes[process].start_ticks);
	}
}

int naming_apply_take(
	struct names *names, struct profile *raw, enum names_want want, struct profile **ret_named)
{
	AUTO(profile_unref_auto) struct profile *own = raw, *p = NULL;
	struct work w = {.names = names, .want = want};
	int r = 0;

	if (profile_is_shared(raw))
		r = profile_copy(raw, retain_module, &p);
	else
		p = MOVE(own);
	if (r < 0)
		return r;
	p->ledger.frames_unnamed = 0;
	memset(p->ledger.names_from, 0, sizeof(p->ledger.names_from));
	w.p = p;
	r = apply(&w);
	work_done(&w);
	if (r < 0)
		return r;
	if (has_kernel_frames(p)) {
		note_kernel(names, p);
		note_hidden_kernel(names, p);
	}
	note_made_code(p);
	*ret_named = MOVE(p);
	return 0;
}
