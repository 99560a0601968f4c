/* The sample log as a perf.data file, for perf report, perf script and what else reads them. The
 * header tells how long the records are, which shows when they are made: they are made twice, once
 * to be counted. */
#include "daemon/render/perfout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/render/writer.h"

#define RECORD_MMAP    1u
#define RECORD_LOST    2u
#define RECORD_COMM    3u
#define RECORD_SAMPLE  9u
#define RECORD_MMAP2   10u
#define RECORD_ROUND   68u /* perf's own: all rings were looked at once */
#define MISC_KERNEL    1u
#define MISC_USER      2u
#define MISC_EXEC      (1u << 13)
#define MISC_BUILD_ID  (1u << 14)
#define CONTEXT_KERNEL ((uint64_t)-128)
#define CONTEXT_USER   ((uint64_t)-512)
#define PROT_CODE      5u /* read, execute */
#define MAP_PRIVATE_   2u
#define PATH_MAX_      4000u
#define KERNEL_END     UINT64_C(0xffffffffff000000)
/* A record's size is 16 bits. */
#define CHAIN_MAX 8000u

struct perfout {
	const struct view *view;
	const struct profile *profile;
	struct perfout_plan plan;
	bool begun;
	uint64_t data_bytes;
	uint64_t first_ns, last_ns;
	/* What was told already, of this pass: */
	uint32_t at; /* next log entry */
	struct map *process_of_pid;
	uint8_t *thread_told;
	uint64_t chain[CHAIN_MAX];
};

static void perfout_finish(void *state)
{
	struct perfout *d = state;

	perfout_plan_done(&d->plan);
	map_free(d->process_of_pid);
	free(d->thread_told);
	free(d);
}

/* ---- records ---- */

struct task {
	uint32_t pid, tid;
	uint64_t t_ns; /* 0: from the beginning */
};

/* What sample_id_all adds: TID, TIME, CPU, IDENTIFIER. */
static void put_trailer(struct buf *into, const struct task *task)
{
	perfout_put_u32(into, task->pid);
	perfout_put_u32(into, task->tid);
	perfout_put_u64(into, task->t_ns);
	perfout_put_u64(into, 0);
	perfout_put_u64(into, perfout_event_id(0));
}

static void put_comm(struct buf *into, const struct task *task, const char *comm, bool exec)
{
	char text[64] = {0};
	size_t start = perfout_begin(into, RECORD_COMM, exec ? MISC_USER | MISC_EXEC : MISC_USER);

	memccpy(text, comm, 0, sizeof(text) - 1);
	perfout_put_u32(into, task->pid);
	perfout_put_u32(into, task->tid);
	perfout_put_text(into, text, 8);
	put_trailer(into, task);
	perfout_end(into, start);
}

struct mapping {
	uint64_t start, end, pgoff;
	const char *path, *build_id;
};

static void put_mmap2(struct buf *into, const struct task *task, const struct mapping *m)
{
	uint8_t id[PERFOUT_ID_MAX] = {0};
	unsigned bytes = perfout_build_id(m->build_id, id);
	size_t start = perfout_begin(into, RECORD_MMAP2, MISC_USER | (bytes ? MISC_BUILD_ID : 0));
	char path[PATH_MAX_] = {0};

	memccpy(path, m->path, 0, sizeof(path) - 1);
	perfout_put_u32(into, task->pid);
	perfout_put_u32(into, task->pid);
	perfout_put_u64(into, m->start);
	perfout_put_u64(into, m->end - m->start);
	perfout_put_u64(into, m->pgoff);
	/* The size and the id, or device, inode and generation, none of which is known. */
	perfout_put_u32(into, bytes);
	buf_append(into, id, sizeof(id));
	perfout_put_u32(into, PROT_CODE);
	perfout_put_u32(into, MAP_PRIVATE_);
	perfout_put_text(into, path, 8);
	put_trailer(into, task);
	perfout_end(into, start);
}

/* The mapping of an item; *n becomes the next one, behind all pages that follow each other. */
static struct mapping mapping_of(const struct perfout *d, size_t *n)
{
	const struct profile *p = d->profile;
	const struct perfout_item *i = &d->plan.items[*n];
	const struct place *m;
	uint64_t start;

	++*n;
	if (i->kind == PERFOUT_MODULE) {
		m = &d->plan.places.modules[i->what];
		return (struct mapping){m->base + m->lo, m->base + m->hi, m->lo,
			profile_text(p, p->modules[i->what].path),
			profile_text(p, p->modules[i->what].build_id)};
	}
	if (i->kind == PERFOUT_SPECIAL) {
		start = d->plan.places.special_base + i->what * PLACES_PAGE;
		return (struct mapping){
			start, start + PLACES_PAGE, 0, profile_text(p, (uint32_t)i->what), ""};
	}
	start = i->what * PLACES_PAGE;
	for (const struct perfout_item *next = i + 1; *n < d->plan.item_count; next++, ++*n)
		if (next->process != i->process || next->kind != PERFOUT_JIT ||
			next->what != next[-1].what + 1)
			break;
	return (struct mapping){
		start, (d->plan.items[*n - 1].what + 1) * PLACES_PAGE, start, "//anon", ""};
}

static void put_process(
	struct perfout *d, struct buf *into, uint32_t process, uint64_t t_ns, bool again)
{
	const struct profile_process *x = &d->profile->processes[process];
	struct task task = {(uint32_t)x->pid, (uint32_t)x->pid, again ? t_ns : 0};
	size_t n = perfout_first_item(&d->plan, process);

	put_comm(into, &task, profile_text(d->profile, x->comm), again);
	while (n < d->plan.item_count && d->plan.items[n].process == process) {
		struct mapping m = mapping_of(d, &n);

		if (m.start < m.end)
			put_mmap2(into, &task, &m);
	}
}

/* A pid may have belonged to several, one after the other. */
static int tell_process(struct perfout *d, struct buf *into, uint32_t process, uint64_t t_ns)
{
	uint32_t pid = (uint32_t)d->profile->processes[process].pid;
	uint64_t told;
	bool again = map_get(d->process_of_pid, pid, &told);

	if (again && told == process)
		return 0;
	put_process(d, into, process, t_ns, again);
	return map_set(d->process_of_pid, pid, process);
}

static void tell_thread(struct perfout *d, struct buf *into, uint32_t thread, uint32_t process)
{
	const struct profile_thread *t = &d->profile->threads[thread];
	struct task task = {(uint32_t)d->profile->processes[process].pid, (uint32_t)t->tid, 0};

	if (d->thread_told[thread])
		return;
	d->thread_told[thread] = 1;
	if (task.tid != task.pid)
		put_comm(into, &task, profile_text(d->profile, t->comm), false);
}

/* Innermost first, kernel's and user's apart. */
static uint32_t fill_chain(struct perfout *d, uint32_t node, bool *ret_kernel)
{
	const struct profile *p = d->profile;
	uint64_t context = 0;
	uint32_t n = 0;

	*ret_kernel = false;
	for (; node != 0 && n + 2 < CHAIN_MAX; node = p->nodes[node].parent) {
		const struct profile_frame *f = &p->frames[p->nodes[node].frame];
		uint64_t wants = f->kind == FRAME_KERNEL ? CONTEXT_KERNEL : CONTEXT_USER;

		if (f->kind == FRAME_PROCESS || f->kind == FRAME_ROOT)
			break;
		if (n == 0)
			*ret_kernel = wants == CONTEXT_KERNEL;
		if (context != wants)
			d->chain[n++] = context = wants;
		d->chain[n++] = places_address(&d->plan.places, f);
	}
	return n;
}

static void put_sample(struct perfout *d, struct buf *into, const struct log_entry *e, uint32_t pid)
{
	bool kernel;
	uint32_t n = fill_chain(d, e->node, &kernel);
	size_t start = perfout_begin(into, RECORD_SAMPLE, kernel ? MISC_KERNEL : MISC_USER);

	perfout_put_u64(into, perfout_event_id(e->event));
	perfout_put_u64(into, n > 1 ? d->chain[1] : 0);
	perfout_put_u32(into, pid);
	perfout_put_u32(into, (uint32_t)d->profile->threads[e->thread].tid);
	perfout_put_u64(into, e->t_ns);
	perfout_put_u32(into, e->cpu);
	perfout_put_u32(into, 0);
	perfout_put_u64(into, e->weight);
	perfout_put_u64(into, n);
	buf_append(into, d->chain, n * sizeof(d->chain[0]));
	perfout_end(into, start);
}

static bool is_asked(const struct perfout *d, const struct log_entry *e, uint32_t process)
{
	const struct view_query *q = &d->view->query;

	return (q->all_events || e->event == (unsigned)q->event) &&
		view_query_covers(q, d->profile, e) &&
		view_query_wants_process(q, d->profile, process);
}

static int put_entry(struct perfout *d, struct buf *into, const struct log_entry *e)
{
	uint32_t process = d->plan.process_of[e->node];
	int r;

	/* On no process that we know: its thread's. */
	if (process == PROFILE_NO_PROCESS)
		process = d->profile->threads[e->thread].process;
	if (!is_asked(d, e, process))
		return 0;
	r = tell_process(d, into, process, e->t_ns);
	if (r < 0)
		return r;
	tell_thread(d, into, e->thread, process);
	put_sample(d, into, e, (uint32_t)d->profile->processes[process].pid);
	if (!d->first_ns || e->t_ns < d->first_ns)
		d->first_ns = e->t_ns;
	if (e->t_ns > d->last_ns)
		d->last_ns = e->t_ns;
	return 0;
}

/* Where the kernel was in memory, in perf's way of saying it. */
static void put_kernel(const struct perfout *d, struct buf *into)
{
	const struct profile_meta *m = &d->profile->meta;
	struct task task = {UINT32_MAX, 0, 0};
	size_t start;

	if (!m->kernel_text)
		return;
	start = perfout_begin(into, RECORD_MMAP, MISC_KERNEL);
	perfout_put_u32(into, task.pid);
	perfout_put_u32(into, task.tid);
	perfout_put_u64(into, m->kernel_text);
	perfout_put_u64(into, KERNEL_END - m->kernel_text);
	perfout_put_u64(into, m->kernel_text);
	perfout_put_text(into, "[kernel.kallsyms]_text", 8);
	put_trailer(into, &task);
	perfout_end(into, start);
}

static void put_lost(const struct perfout *d, struct buf *into)
{
	const struct view_query *q = &d->view->query;
	struct task task = {0, 0, d->last_ns};
	size_t start;

	/* Of a part nobody knows how much of it was lost. */
	if (!d->profile->ledger.lost || q->from_ns || q->to_ns || q->pid || q->tid)
		return;
	start = perfout_begin(into, RECORD_LOST, 0);
	perfout_put_u64(into, perfout_event_id(0));
	perfout_put_u64(into, d->profile->ledger.lost);
	put_trailer(into, &task);
	perfout_end(into, start);
}

/* Some of the records; 1: there are more. */
static int put_records(struct perfout *d, struct buf *into)
{
	const struct profile *p = d->profile;
	size_t before = into->len;
	int r = 0;

	if (d->at == 0)
		put_kernel(d, into);
	while (r == 0 && d->at < p->log_count && into->len - before < RENDER_PIECE_BYTES)
		r = put_entry(d, into, &p->log[d->at++]);
	if (r < 0 || into->error)
		return r < 0 ? r : into->error;
	if (d->at < p->log_count)
		return 1;
	put_lost(d, into);
	/* No bytes at all would mean that the recording was not finished. */
	perfout_end(into, perfout_begin(into, RECORD_ROUND, 0));
	return into->error;
}

/* ---- the writer ---- */

static int begin_pass(struct perfout *d)
{
	d->at = 0;
	map_free(d->process_of_pid);
	d->process_of_pid = NULL;
	memset(d->thread_told, 0, d->profile->thread_count);
	return map_new(64, &d->process_of_pid);
}

static int count_records(struct perfout *d)
{
	struct buf piece = BUF_INIT;
	int r = begin_pass(d);

	while (r == 0 && (r = put_records(d, &piece)) == 1) {
		d->data_bytes += piece.len;
		buf_clear(&piece);
		r = 0;
	}
	d->data_bytes += piece.len;
	buf_done(&piece);
	return r < 0 ? r : begin_pass(d);
}

static int perfout_start(const struct view *v, const struct svg_options *svg, void **ret_state)
{
	struct perfout *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	d->view = v;
	d->profile = v->profile;
	d->thread_told = calloc(v->profile->thread_count + (size_t)1, 1);
	r = d->thread_told ? perfout_plan_make(v->profile, &d->plan) : -ENOMEM;
	if (r == 0)
		r = count_records(d);
	if (r < 0) {
		perfout_finish(d);
		return r;
	}
	*ret_state = d;
	return 0;
}

static int perfout_more(void *state, struct buf *into)
{
	struct perfout *d = state;
	int r;

	if (!d->begun)
		perfout_put_head(d->profile, d->data_bytes, into);
	d->begun = true;
	r = put_records(d, into);
	if (r == 0)
		perfout_put_features(&d->plan, d->data_bytes, d->first_ns, d->last_ns, into);
	return r;
}

const struct writer perfdata_writer = {
	.name = "perfdata",
	.log = RENDER_LOG_NEEDED,
	.content_type = "application/octet-stream",
	.extension = "perf.data",
	.start = perfout_start,
	.more = perfout_more,
	.end = perfout_finish,
};
