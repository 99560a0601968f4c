#include "daemon/unwind/tails.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

/* What has not been seen for longer, and a doubt as old, counts for nothing. */
#define MEMORY_NS UINT64_C(20000000000)
/* A start does not change; nothing of it may be seen for as long as chains alone are taken. */
#define BASE_MEMORY_NS UINT64_C(200000000000)
/* A recursion comes to the same place on many ways. What was seen there so often with one caller,
 * and with no other, has but one. Measured on compilers, whose recursion is hard, and on random
 * recursion in C, Python, JavaScript and Java, with copies of 4 to 32 KiB: after once up to 0.6 %
 * of the stacks are wrong, after twice 0.2 %, after four times 0.1 % at most, most often none. */
#define TIMES 4

#define AT_ROOT UINT32_MAX /* as a caller: the frame is the outermost */
#define UNKNOWN (UINT32_MAX - 1)

/* A frame at its place on a thread's stack. */
struct place {
	uint64_t thread, sp, pc; /* sp 0: anywhere; thread is a process's then */
	uint64_t seen_ns;        /* with this caller; 0: never */
	uint64_t doubted_ns;     /* when another caller was seen; 0: never */
	uint32_t caller;         /* an index into places */
	uint32_t times;          /* seen with this caller */
};

struct tails {
	struct place *places;
	uint32_t *slots; /* index into places + 1 by hash; 0: free */
	uint32_t count, max, mask;
};

int tails_new(uint32_t max_frames, struct tails **ret_tails)
{
	AUTO(tails_free_auto) struct tails *t = calloc(1, sizeof(*t));
	uint32_t slots = 64;

	if (!t)
		return -ENOMEM;
	while (slots < 2 * max_frames)
		slots *= 2;
	t->max = max_frames;
	t->mask = slots - 1;
	t->places = malloc((size_t)max_frames * sizeof(*t->places));
	t->slots = calloc(slots, sizeof(*t->slots));
	if (!t->places || !t->slots)
		return -ENOMEM;
	*ret_tails = MOVE(t);
	return 0;
}

void tails_free(struct tails *t)
{
	if (!t)
		return;
	free(t->places);
	free(t->slots);
	free(t);
}

size_t tails_bytes(const struct tails *t)
{
	return t->max * sizeof(*t->places) + ((size_t)t->mask + 1) * sizeof(*t->slots);
}

/* The slot that has the place, or the free one where it belongs. */
static uint32_t *slot_of(const struct tails *t, uint64_t thread, uint64_t sp, uint64_t pc)
{
	uint64_t hash = hash_u64((thread ^ sp) * UINT64_C(0x9e3779b97f4a7c15) + pc);
	uint32_t at = (uint32_t)hash & t->mask;

	for (;; at = (at + 1) & t->mask) {
		const struct place *p = &t->places[t->slots[at] - 1];

		if (!t->slots[at] || (p->sp == sp && p->pc == pc && p->thread == thread))
			return &t->slots[at];
	}
}

static uint32_t place_of(struct tails *t, uint64_t thread, uint64_t sp, uint64_t pc)
{
	uint32_t *slot = slot_of(t, thread, sp, pc);

	if (!*slot) {
		t->places[t->count] =
			(struct place){.thread = thread, .sp = sp, .pc = pc, .caller = UNKNOWN};
		*slot = ++t->count;
	}
	return *slot - 1;
}

static void see(struct place *p, uint32_t caller, uint64_t t_ns)
{
	if (p->caller != caller && p->caller != UNKNOWN) {
		p->doubted_ns = t_ns;
		p->times = 0;
	}
	p->caller = caller;
	p->times++;
	p->seen_ns = t_ns;
}

static void make_room(struct tails *t, unsigned frames)
{
	if (t->count + frames <= t->max)
		return;
	memset(t->slots, 0, ((size_t)t->mask + 1) * sizeof(*t->slots));
	t->count = 0;
}

void tails_learn(struct tails *t, uint64_t thread, uint64_t t_ns, const struct unwind_chain *chain)
{
	uint32_t caller = AT_ROOT;

	if (chain->count > t->max || (chain->end != UNWIND_ROOT && chain->end != UNWIND_STACK_CUT))
		return;
	if (chain->count && !chain->sps[chain->count - 1])
		return; /* by the kernel's chain: without places */
	make_room(t, chain->count);
	/* The innermost has no return address. */
	for (unsigned i = chain->count; i-- > 1;) {
		uint32_t at = place_of(t, thread, chain->sps[i], chain->addrs[i]);

		if (i + 1 < chain->count || chain->end == UNWIND_ROOT)
			see(&t->places[at], caller, t_ns);
		caller = at;
	}
}

void tails_learn_base(struct tails *t, uint64_t process, uint64_t t_ns,
	const struct unwind_chain *chain, unsigned base)
{
	uint32_t caller = AT_ROOT;

	if (base == 0 || base > TAILS_BASE || base + 1 >= chain->count)
		return;
	make_room(t, base + 1);
	for (unsigned i = chain->count; i-- > chain->count - base - 1;) {
		uint32_t at = place_of(t, process, 0, chain->addrs[i]);

		see(&t->places[at], caller, t_ns);
		caller = at;
	}
}

void tails_doubt_base(struct tails *t, uint64_t process, uint64_t t_ns,
	const struct unwind_chain *chain, unsigned at)
{
	uint32_t slot = *slot_of(t, process, 0, chain->addrs[at]);
	struct place *p;

	if (!slot)
		return;
	p = &t->places[slot - 1];
	if (p->caller < t->count && t->places[p->caller].pc == chain->addrs[at + 1])
		return;
	p->doubted_ns = t_ns;
	p->times = 0;
}

static bool is_certain(const struct place *p, uint64_t t_ns)
{
	uint64_t memory = p->sp ? MEMORY_NS : BASE_MEMORY_NS;

	return p->seen_ns && t_ns - p->seen_ns < memory &&
		(!p->doubted_ns || t_ns - p->doubted_ns >= memory);
}

static bool has_pc(const struct unwind_chain *chain, unsigned from, unsigned end, uint64_t pc)
{
	for (unsigned i = from; i < end; i++)
		if (chain->addrs[i] == pc)
			return true;
	return false;
}

/* From that slot on. repeated: nothing counts that was not seen again and again. */
static bool complete(struct tails *t, uint32_t at, uint64_t t_ns, unsigned max_frames,
	bool repeated, struct unwind_chain *chain)
{
	unsigned known = chain->count, count = known;
	enum unwind_end end = UNWIND_ROOT;
	uint32_t times = UINT32_MAX;

	if (!at--)
		return false;
	for (;;) {
		const struct place *p = &t->places[at];

		if (!is_certain(p, t_ns))
			return false;
		times = p->times < times ? p->times : times;
		if (p->caller == AT_ROOT)
			break;
		if (count == max_frames) {
			end = UNWIND_MAX_FRAMES;
			break;
		}
		at = p->caller;
		p = &t->places[at];
		repeated = repeated || has_pc(chain, known - 1, count, p->pc);
		if (repeated && times < TIMES)
			return false;
		chain->addrs[count] = p->pc;
		chain->sps[count] = p->sp;
		chain->how[count++] = UNWIND_BY_TAIL;
	}
	if (repeated && times < TIMES)
		return false;
	chain->end = end;
	chain->count = count;
	return true;
}

/* Whether there is anything to complete, and a frame to do it by: the innermost has no caller's
 * address. */
static bool is_open(const struct unwind_chain *chain)
{
	return chain->end == UNWIND_STACK_CUT && chain->count >= 2;
}

bool tails_complete(struct tails *t, uint64_t thread, uint64_t t_ns, unsigned max_frames,
	struct unwind_chain *chain)
{
	unsigned last = chain->count - 1;

	return is_open(chain) && chain->sps[last] &&
		complete(t, *slot_of(t, thread, chain->sps[last], chain->addrs[last]), t_ns,
			max_frames, false, chain);
}

bool tails_complete_base(struct tails *t, uint64_t process, uint64_t t_ns, unsigned max_frames,
	struct unwind_chain *chain)
{
	return is_open(chain) &&
		complete(t, *slot_of(t, process, 0, chain->addrs[chain->count - 1]), t_ns,
			max_frames, true, chain);
}
