#include "daemon/run/feed.h"

#include <errno.h>
#include <stdio.h>

#include "base/map.h"
#include "daemon/proc/cgroup.h"
#include "daemon/tree/ledger.h"
#include "daemon/unwind/links.h"

#define KERNEL_ALIGN_MASK 0x1fffffull /* where a kernel is put is a multiple of 2 MiB */
#define KERNEL_FRAMES_MAX                                                                        \
	200 /* more than kernel.perf_event_max_stack's default of 127; keeps the scratch bounded \
	     */

_Static_assert((int)UNWIND_ROOT == (int)LEDGER_ROOT && (int)UNWIND_NO_USER == (int)LEDGER_NO_USER &&
		(int)UNWIND_END_COUNT == (int)LEDGER_END_COUNT,
	"the ledger counts by unwind_end");

static uint32_t special_frame(struct session *s, enum special which)
{
	static const char *const texts[] = {[SPECIAL_UNKNOWN] = "[unknown]",
		[SPECIAL_TRUNCATED] = "[truncated]",
		[SPECIAL_INCOMPLETE] = "[incomplete]"};

	if (!s->specials[which])
		s->specials[which] = calltree_special(s->tree, texts[which]) + 1;
	return s->specials[which] - 1;
}

/* The tree's index of a module, entered at its first sight. */
static int64_t module_index(struct session *s, struct module *m)
{
	char hex[2 * BUILD_ID_MAX + 1] = "";
	uint64_t known;
	bool is_new = false;
	int64_t index;

	if (map_get(s->module_index, m->id, &known))
		return (int64_t)known;
	for (unsigned i = 0; i < m->build_id_bytes; i++)
		snprintf(hex + 2 * i, 3, "%02x", m->build_id[i]);
	index = calltree_module(s->tree, m->id, m->path, hex, m, &is_new);
	if (index < 0)
		return index;
	if (is_new) {
		module_ref(m);
		calltree_module_bias(s->tree, (uint32_t)index, module_code_bias(m));
	}
	(void)map_set(s->module_index, m->id, (uint64_t)index);
	return index;
}

static int64_t module_frame(
	struct session *s, struct module *m, const struct range *r, uint64_t addr)
{
	int64_t index = module_index(s, m);
	uint64_t vaddr;

	if (index < 0)
		return special_frame(s, SPECIAL_UNKNOWN);
	/* A file that we cannot read has no segments: its offset is the best address there is. */
	if (!range_vaddr(r, addr, &vaddr))
		vaddr = addr - r->start + r->pgoff;
	return calltree_frame(s->tree, FRAME_USER, (uint32_t)index, vaddr);
}

/* Until an address of the process may lead to other code. */
static void tag_frames(struct session *s, struct session_process *p)
{
	uint64_t generation = space_code_generation(p->space);

	if (p->frames_tag && p->code_generation == generation)
		return;
	p->frames_tag = ++s->frames_tag;
	p->code_generation = generation;
}

static struct frame_seen *place_of(
	const struct session *s, const struct session_process *p, uint64_t addr)
{
	uint64_t key = (addr ^ (uint64_t)p->frames_tag << 48) * UINT64_C(0x9e3779b97f4a7c15);

	return &s->frames_seen[key >> (64 - FRAMES_SEEN_BITS)];
}

static uint32_t find_user_frame(struct session_env *env, struct session *s,
	struct session_process *p, uint64_t addr, struct frame_seen *place)
{
	struct range *r = space_find(p->space, addr);
	struct module *m;
	uint32_t frame;

	if (!r)
		return special_frame(s, SPECIAL_UNKNOWN);
	if (r->kind == RANGE_ANON) {
		env->new_jit |= !p->has_jit;
		p->has_jit = s->has_jit = true;
		return calltree_frame(s->tree, FRAME_JIT, (uint32_t)p->tree_index, addr);
	}
	m = space_module(p->space, r);
	if (!m)
		return r->path && r->path[0] == '[' ? calltree_special(s->tree, r->path)
						    : special_frame(s, SPECIAL_UNKNOWN);
	frame = module_frame(s, m, r, addr);
	/* One that could not be opened may be tried again. */
	if (m->error == 0)
		*place = (struct frame_seen){addr, p->frames_tag, frame};
	return frame;
}

static uint32_t user_frame(
	struct session_env *env, struct session *s, struct session_process *p, uint64_t addr)
{
	struct frame_seen *place = place_of(s, p, addr);

	if (place->addr == addr && place->tag == p->frames_tag)
		return place->frame;
	return find_user_frame(env, s, p, addr, place);
}

/* What stands at the root end of a chain that is not whole. False: it is whole. */
static bool end_marker(enum unwind_end end, enum special *ret)
{
	switch (end) {
	case UNWIND_ROOT:
	case UNWIND_FP_END: /* may be whole: nobody can tell */
	case UNWIND_NO_USER: return false;
	case UNWIND_STACK_CUT:
	case UNWIND_MAX_FRAMES: *ret = SPECIAL_TRUNCATED; return true;
	default: *ret = SPECIAL_INCOMPLETE; return true;
	}
}

/* No other thread has it, nor the same one once it has run another program. */
static uint64_t thread_id(const struct session_process *p, pid_t tid)
{
	return (uint64_t)p->images << 32 | (uint32_t)tid;
}

/* Shorter than half the copy from end to end. */
static bool is_shallow(const struct unwind_chain *c, uint32_t stack_bytes)
{
	return c->end == UNWIND_ROOT && c->count > 0 &&
		c->sps[c->count - 1] - c->sps[0] < stack_bytes / 2;
}

/* What others of the process may stand in for begins in one file, such as the C library: nobody but
 * that calls there, where a function of the program might be called from anywhere. */
static bool is_start(struct session_process *p, const struct unwind_chain *c, unsigned base)
{
	const struct range *at, *caller;

	if (base == 0)
		return true;
	at = space_find(p->space, c->addrs[c->count - base - 1]);
	caller = space_find(p->space, c->addrs[c->count - base]);
	return at && caller && at->module && at->module == caller->module;
}

/* Whether the short copy and the chain of a lean session would have done, and what is to be known
 * for that of how the stacks of the process begin. */
static void look_for_lean(struct session *s, struct session_process *p, const struct sample *sample,
	const struct unwind_chain *c)
{
	struct lean_look *look = &s->lean_look;
	enum links_cover cover;
	unsigned base;

	if (s->recorded || c->end == UNWIND_NO_USER)
		return;
	cover = links_would_cover(sample, c, LEAN_BYTES, &base);
	if (cover == LINKS_UNSEEN)
		return; /* deep samples tell */
	if (cover != LINKS_NOT && !is_start(p, c, base))
		cover = LINKS_NOT;
	look->samples++;
	look->left += cover == LINKS_NOT;
	look->chains += cover == LINKS_CHAIN;
	if (!lean_may_begin(look))
		return;
	if (cover != LINKS_NOT)
		tails_learn_base(s->tails, thread_id(p, p->pid), sample->t_ns, c, base);
	else if (c->end == UNWIND_ROOT && base > TAILS_BASE)
		tails_doubt_base(
			s->tails, thread_id(p, p->pid), sample->t_ns, c, c->count - base - 1);
}

static bool is_lean(const struct sample *sample)
{
	return sample->user_chain && sample->stack && sample->stack_asked <= LEAN_BYTES;
}

/* How the stack of a lean sample begins. */
static void use_base(struct session *s, struct session_process *p, const struct sample *sample,
	struct unwind_chain *c)
{
	bool linked = c->count > 0 && c->how[c->count - 1] == UNWIND_BY_CHAIN;
	unsigned max_frames = s->plan->request.max_frames;

	s->ledger.chains += linked;
	s->lean_look.samples += c->end != UNWIND_NO_USER;
	s->lean_look.chains += linked;
	if (c->end == UNWIND_STACK_CUT &&
		!tails_complete_base(s->tails, thread_id(p, p->pid), sample->t_ns, max_frames, c))
		s->lean_look.left++;
}

static void learn_tail(
	struct session *s, uint64_t thread, uint64_t t_ns, const struct unwind_chain *c)
{
	tails_learn(s->tails, thread, t_ns, c);
	s->has_learnt = true;
}

/* Whether others may take over from one that was not cut: what deep samples are for, which a
 * recording has none of, nor have copies that are as long as can be. */
static bool teaches(struct session *s, const struct unwind_chain *c)
{
	if (s->recorded)
		return true;
	return c->end == UNWIND_ROOT && s->plan->capture.stack_bytes == STACK_BYTES_MAX &&
		s->whole++ % DEEP_EVERY == 0;
}

/* What was seen of the thread's stack lately stands in for what was not copied. */
static void use_tail(struct session *s, struct session_process *p, const struct sample *sample,
	struct unwind_chain *c)
{
	uint64_t thread = thread_id(p, sample->tid);

	if (!s->tails)
		return;
	if (!s->recorded && is_lean(sample)) {
		use_base(s, p, sample, c);
		return;
	}
	look_for_lean(s, p, sample, c);
	s->look.samples += c->end != UNWIND_NO_USER;
	s->look.shallow += is_shallow(c, s->plan->capture.stack_bytes);
	if (c->end != UNWIND_STACK_CUT) {
		if (teaches(s, c))
			learn_tail(s, thread, sample->t_ns, c);
		return;
	}
	s->look.cut++;
	tails_learn(s->tails, thread, sample->t_ns, c);
	if (tails_complete(s->tails, thread, sample->t_ns, s->plan->request.max_frames, c))
		s->ledger.tails++;
	else if (s->has_learnt || !s->copysize.deep)
		s->look.left++;
}

static void count_end(struct session_env *env, struct session *s, enum unwind_end end)
{
	s->ledger.unwind_ends[end]++;
	env->stats->unwind_ends[end]++;
	if (end == UNWIND_STACK_CUT) {
		s->ledger.truncated++;
		env->stats->truncated++;
	}
	if (end == UNWIND_MAX_FRAMES)
		s->ledger.depth_cut++;
}

/* Of another kernel an address has no name here. What is left of it says as much as render's own
 * name for unnamed kernel code, and gives no address away. */
static uint32_t kernel_frame(struct session *s, uint64_t addr)
{
	char text[40];

	if (!s->other_kernel)
		return calltree_frame(s->tree, FRAME_KERNEL, 0, addr);
	snprintf(text, sizeof(text), "[kernel+0x%llx]",
		(unsigned long long)(addr & KERNEL_ALIGN_MASK));
	return calltree_special(s->tree, text);
}

/* Outermost first: marker, user frames, kernel frames. Returns how many. */
static uint32_t build_frames(struct session_env *env, struct session *s, struct session_process *p,
	const struct sample *sample)
{
	struct unwind_chain *c = &env->chain;
	unsigned max_frames = s->plan->request.max_frames;
	uint32_t n = 0, kernel = sample->kernel_count;
	enum special marker;

	if (s->plan->capture.stack == STACK_FP || (s->recorded && !sample->regs))
		unwind_from_fp(p->space, sample, max_frames, c);
	else
		unwinder_run(s->unwinder, p->space, sample, max_frames, c);
	use_tail(s, p, sample, c);
	count_end(env, s, c->end);
	tag_frames(s, p);
	if (end_marker(c->end, &marker))
		env->frames[n++] = special_frame(s, marker);
	for (unsigned i = c->count; i-- > 0;)
		env->frames[n++] = user_frame(env, s, p, c->addrs[i]);
	if (kernel > KERNEL_FRAMES_MAX)
		kernel = KERNEL_FRAMES_MAX;
	for (uint32_t i = kernel; i-- > 0;)
		env->frames[n++] = kernel_frame(s, sample->kernel_chain[i]);
	if (!kernel && sample->kernel_ip && s->plan->capture.kernel)
		env->frames[n++] = kernel_frame(s, sample->ip);
	return n;
}

static int64_t tree_process(struct session *s, struct session_process *p)
{
	static const char overflow[] = "[further processes]";

	if (p->tree_index >= 0)
		return p->tree_index;
	p->tree_index = calltree_process(s->tree, p->pid < 0 ? 0 : p->pid, p->start_ticks);
	if (p->tree_index >= PROCESSES_IN_TREE_MAX || p->tree_index < 0) {
		p->tree_index = calltree_process(s->tree, 0, UINT64_MAX);
		if (p->tree_index >= 0)
			calltree_process_comm(s->tree, (uint32_t)p->tree_index, overflow);
		return p->tree_index;
	}
	calltree_process_comm(s->tree, (uint32_t)p->tree_index, p->comm);
	return p->tree_index;
}

static void tell_origin(struct session *s, struct session_process *p)
{
	char container[CONTAINER_ID_LEN + 1] = "";

	p->origin_new = false;
	if (p->tree_index < 0 || p->tree_index >= PROCESSES_IN_TREE_MAX)
		return;
	if (!p->cgroup || cgroup_container(p->cgroup, container) == 0)
		container[0] = 0;
	calltree_process_origin(s->tree, (uint32_t)p->tree_index, p->command ? p->command : "",
		p->cgroup ? p->cgroup : "", container);
}

/* Those that were there before the session have told no name. */
static void name_thread(struct session_env *env, struct session *s, struct session_process *p,
	pid_t tid, uint32_t index)
{
	const char *recorded = processes_thread_comm(s->processes, tid);
	struct procinfo info;

	if (tid == p->pid)
		calltree_thread_comm(s->tree, index, p->comm);
	else if (s->recorded)
		calltree_thread_comm(s->tree, index, recorded ? recorded : p->comm);
	else if (tid > 0 && procinfo_read_thread(env->broker, p->pid, tid, &info) == 0)
		calltree_thread_comm(s->tree, index, info.comm);
}

static int64_t tree_thread(
	struct session_env *env, struct session *s, struct session_process *p, pid_t tid)
{
	uint64_t index;
	int64_t made;

	if (map_get(s->thread_index, (uint32_t)tid, &index))
		return (int64_t)index;
	made = calltree_thread(s->tree, tid < 0 ? 0 : tid, (uint32_t)p->tree_index);
	if (made < 0)
		return made;
	if (map_set(s->thread_index, (uint32_t)tid, (uint64_t)made) < 0)
		return -ENOMEM;
	name_thread(env, s, p, tid, (uint32_t)made);
	return made;
}

/* False: it belongs to somebody else's process, which is none of the session's business. */
static bool may_take(struct session *s, const struct session_process *p)
{
	return s->plan->target.only_uid == (uid_t)-1 || p->uid == s->plan->target.only_uid;
}

/* A deep sample shows what the others may miss, and is counted nowhere. */
static void use_deep(struct session_env *env, struct session *s, struct session_process *p,
	const struct sample *sample)
{
	unwinder_run(s->unwinder, p->space, sample, UNWIND_FRAMES_MAX, &env->chain);
	look_for_lean(s, p, sample, &env->chain);
	learn_tail(s, thread_id(p, sample->tid), sample->t_ns, &env->chain);
}

void feed_sample(
	struct session_env *env, struct session *s, const struct sample *sample, unsigned event)
{
	struct session_process *p = processes_get(s->processes, sample->pid, sample->tid);
	int64_t process = -ENOMEM, thread = -ENOMEM;
	uint32_t n = 0;

	if (p)
		processes_identify(s->processes, p);
	if (p && !may_take(s, p)) {
		s->filtered_here++;
		return;
	}
	if (p)
		processes_look_at_stack(s->processes, p, sample);
	if (s->plan->capture.events[event].deep) {
		if (p)
			use_deep(env, s, p, sample);
		return;
	}
	if (p)
		process = tree_process(s, p);
	if (p && p->origin_new)
		tell_origin(s, p);
	if (process >= 0)
		thread = tree_thread(env, s, p, sample->tid);
	if (process >= 0)
		n = build_frames(env, s, p, sample);
	if (sample->abi == PERF_SAMPLE_REGS_ABI_NONE && !sample->user_count)
		s->ledger.kernel_only++;
	env->stats->samples++;
	/* Without a process or thread for it the tree books it on "[dropped]": no sample goes
	 * uncounted. */
	if (calltree_add(s->tree, process < 0 ? UINT32_MAX : (uint32_t)process,
		    thread < 0 ? UINT32_MAX : (uint32_t)thread, env->frames, n, event,
		    sample->period, sample->t_ns, sample->cpu) < 0) {
		s->ledger.dropped++;
		env->stats->dropped++;
	}
}

void feed_sideband(struct session *s, const struct sideband *sb)
{
	struct session_process *p;
	uint64_t thread;

	processes_sideband(s->processes, sb);
	if (sb->kind == SIDEBAND_EXIT) {
		/* The number may come back as another thread. */
		map_remove(s->thread_index, (uint32_t)sb->tid, NULL);
		return;
	}
	if (sb->kind != SIDEBAND_COMM && sb->kind != SIDEBAND_EXEC)
		return;
	if (map_get(s->thread_index, (uint32_t)sb->tid, &thread))
		calltree_thread_comm(s->tree, (uint32_t)thread, sb->text);
	if (sb->pid != sb->tid)
		return;
	p = processes_find(s->processes, sb->pid);
	if (p && p->tree_index >= 0)
		calltree_process_comm(s->tree, (uint32_t)p->tree_index, sb->text);
}
