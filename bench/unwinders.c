/* Samples a process, unwinds each stack by compiled rules, by libunwind and by libdw, compares the
 * chains frame by frame and prints what a frame costs each of them.
 *
 *   unwinders PID [SAMPLES [HZ [STACK_BYTES]]]
 *
 * One JSON object on standard output. Needs the rights to sample that process. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/parse.h"
#include "daemon/sample/collect.h"
#include "daemon/symbol/sigbus.h"
#include "daemon/symbol/space.h"
#include "daemon/unwind/unwind.h"
#include "tests/unit/fake_broker.h"
#include "tests/unit/make_table.h"

#define SHOWN_MAX    8
#define IN_CACHE     32 /* samples of 16 KiB: what an L2 cache holds */
#define FRAMES_TIMED 2000000u
#define WAIT_NS      UINT64_C(60000000000)
#define MAX_FRAMES   2048

struct kept {
	struct sample sample; /* points into the rest */
	uint64_t regs[SAMPLE_REGS];
	uint8_t *stack;
};

struct run {
	pid_t pid;
	struct modules *modules;
	struct space *space;
	struct unwinder *unwinders[UNWINDER_KINDS];
	struct unwind_chain chains[UNWINDER_KINDS];
	struct kept *kept;
	unsigned count, wanted;
	bool exited;
	uint64_t frames;
	uint64_t same[UNWINDER_KINDS];   /* chains as by compiled rules, their ends too */
	uint64_t prefix[UNWINDER_KINDS]; /* chains that agree as far as both go */
	uint64_t same_frames[UNWINDER_KINDS];
	uint64_t same_sps;               /* chains whose stack pointers too are as by libunwind */
	uint64_t ends[UNWIND_END_COUNT]; /* by compiled rules */
	unsigned shown;
};

static void show_difference(struct run *r, enum unwinder_kind other)
{
	const struct unwind_chain *a = &r->chains[UNWINDER_TABLE], *b = &r->chains[other];
	unsigned i = 0;

	if (r->shown++ >= SHOWN_MAX)
		return;
	while (i < a->count && i < b->count && a->addrs[i] == b->addrs[i])
		i++;
	fprintf(stderr, "sample %u: table %u frames, %s; %s %u frames, %s; first other frame %u\n",
		r->count, a->count, unwind_end_name(a->end), unwinder_name(other), b->count,
		unwind_end_name(b->end), i);
	for (unsigned j = i > 1 ? i - 2 : 0; j < i + 2; j++) {
		struct range *range = j < a->count ? space_find(r->space, a->addrs[j]) : NULL;
		uint64_t vaddr = 0;

		if (range)
			(void)range_vaddr(range, a->addrs[j], &vaddr);
		fprintf(stderr, "  %2u: %12" PRIx64 " by %u, %12" PRIx64 "  %s %" PRIx64 "\n", j,
			j < a->count ? a->addrs[j] : 0, j < a->count ? a->how[j] : 0,
			j < b->count ? b->addrs[j] : 0, range ? range->path : "", vaddr);
	}
}

static void compare(struct run *r)
{
	const struct unwind_chain *a = &r->chains[UNWINDER_TABLE];
	const struct unwind_chain *u = &r->chains[UNWINDER_LIBUNWIND];

	if (u->count == a->count)
		r->same_sps += memcmp(a->sps, u->sps, a->count * sizeof(a->sps[0])) == 0;
	r->frames += a->count;
	r->ends[a->end]++;
	for (int k = UNWINDER_LIBUNWIND; k < UNWINDER_KINDS; k++) {
		const struct unwind_chain *b = &r->chains[k];
		unsigned i = 0;

		while (i < a->count && i < b->count && a->addrs[i] == b->addrs[i])
			i++;
		r->same_frames[k] += i;
		r->prefix[k] += i == a->count || i == b->count;
		if (i == a->count && i == b->count && a->end == b->end)
			r->same[k]++;
		else if (k == UNWINDER_LIBUNWIND)
			show_difference(r, (enum unwinder_kind)k);
	}
}

static void keep(struct run *r, const struct sample *s)
{
	struct kept *k = &r->kept[r->count++];

	k->sample = *s;
	memcpy(k->regs, s->regs, sizeof(k->regs));
	k->stack = malloc(s->stack_bytes ? s->stack_bytes : 1);
	if (!k->stack)
		abort();
	memcpy(k->stack, s->stack, s->stack_bytes);
	k->sample.regs = k->regs;
	k->sample.stack = k->stack;
}

static void on_sample(void *arg, const struct sample *s, unsigned event)
{
	struct run *r = arg;

	(void)event;
	if (s->pid != r->pid || r->count == r->wanted || s->abi != PERF_SAMPLE_REGS_ABI_64 ||
		!s->regs || !s->stack)
		return;
	for (int k = 0; k < UNWINDER_KINDS; k++)
		unwinder_run(r->unwinders[k], r->space, s, MAX_FRAMES, &r->chains[k]);
	keep(r, s);
	compare(r);
}

static void on_sideband(void *arg, const struct sideband *s)
{
	struct run *r = arg;

	if (s->pid != r->pid)
		return;
	if (s->kind == SIDEBAND_MMAP)
		(void)space_map(r->space, s->start, s->end, s->pgoff, s->dev, s->inode, s->text);
	else if (s->kind == SIDEBAND_EXEC)
		space_clear(r->space);
	else if (s->kind == SIDEBAND_EXIT && s->tid == s->pid)
		r->exited = true;
}

static int set_up(struct run *r)
{
	int e = sigbus_install();

	r->kept = calloc(r->wanted, sizeof(*r->kept));
	if (!r->kept)
		return -ENOMEM;
	if (e == 0)
		e = modules_new(fake_broker(), 1000, &r->modules);
	if (e == 0)
		e = space_new(r->modules, r->pid, &r->space);
	if (e == 0)
		e = space_read(r->space, 0);
	for (int k = 0; e == 0 && k < UNWINDER_KINDS; k++)
		e = unwinder_new(unwinder_name((enum unwinder_kind)k), &r->unwinders[k]);
	if (e == 0)
		unwinder_ask_tables(r->unwinders[UNWINDER_TABLE], make_table, NULL);
	return e;
}

static int sample(struct run *r, uint64_t hz, uint32_t stack_bytes)
{
	struct capture_sink sink = {on_sample, on_sideband, r};
	struct target_spec target = {
		.kind = TARGET_PIDS, .pids = &r->pid, .pid_count = 1, .only_uid = (uid_t)-1};
	struct capture_options options = {.event_count = 1,
		.freq_hz = hz,
		.stack = STACK_DWARF,
		.stack_bytes = stack_bytes,
		.allow_cpu_wide = false,
		.fd_budget = 256};
	AUTO(buf_done) struct buf message = BUF_INIT;
	AUTO(capture_free_auto) struct capture *c = NULL;
	uint64_t until = time_mono_ns() + WAIT_NS;
	int e = event_parse(fake_broker(), "cpu-clock", &options.events[0]);

	if (e == 0)
		e = capture_new(fake_broker(), &target, &options, &c, &message);
	if (e < 0) {
		fprintf(stderr, "cannot sample: %s: %s\n", strerror(-e),
			message.data ? message.data : "");
		return e;
	}
	while (e >= 0 && r->count < r->wanted && !r->exited && time_mono_ns() < until) {
		(void)poll(NULL, 0, 20);
		e = capture_round(c, &sink);
	}
	return e < 0 ? e : 0;
}

/* Of this thread, so that others on the machine count as little as they can. */
/* Nanoseconds a frame: over the first of the samples, again and again. */
static double time_one(struct run *r, enum unwinder_kind kind, unsigned count)
{
	struct unwind_chain *chain = &r->chains[kind];
	uint64_t frames = 0, begin;

	if (count > r->count)
		count = r->count;
	for (unsigned i = 0; i < count; i++)
		unwinder_run(r->unwinders[kind], r->space, &r->kept[i].sample, MAX_FRAMES, chain);
	begin = time_thread_cpu_ns();
	do {
		for (unsigned i = 0; i < count; i++) {
			unwinder_run(r->unwinders[kind], r->space, &r->kept[i].sample, MAX_FRAMES,
				chain);
			frames += chain->count;
		}
	} while (frames && frames < (kind == UNWINDER_TABLE ? FRAMES_TIMED : FRAMES_TIMED / 20));
	return frames ? (double)(time_thread_cpu_ns() - begin) / (double)frames : 0;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void print_result(struct run *r)
{
	struct unwinder_stats stats;

	unwinder_get_stats(r->unwinders[UNWINDER_TABLE], &stats);
	printf("{\"samples\": %u, \"frames\": %" PRIu64 ", \"asked_frames\": %" PRIu64
	       ", \"asked_stacks\": %" PRIu64 ",\n \"ends\": {",
		r->count, r->frames, stats.asked_frames, stats.asked_stacks);
	for (int e = 0, first = 1; e < UNWIND_END_COUNT; e++)
		if (r->ends[e]) {
			printf("%s\"%s\": %" PRIu64, first ? "" : ", ",
				unwind_end_name((enum unwind_end)e), r->ends[e]);
			first = 0;
		}
	printf("}");
	for (int k = 0; k < UNWINDER_KINDS; k++) {
		enum unwinder_kind kind = (enum unwinder_kind)k;

		printf(",\n \"%s\": {\"ns_per_frame\": %.1f, \"ns_per_frame_in_cache\": %.1f",
			unwinder_name(kind), time_one(r, kind, r->count),
			time_one(r, kind, IN_CACHE));
		if (kind != UNWINDER_TABLE)
			printf(", \"same_chains_percent\": %.3f, \"agreeing_chains_percent\": %.3f"
			       ", \"same_frames_percent\": %.3f",
				percent(r->same[k], r->count), percent(r->prefix[k], r->count),
				percent(r->same_frames[k], r->frames));
		if (kind == UNWINDER_LIBUNWIND)
			printf(", \"same_stack_pointers_percent\": %.3f",
				percent(r->same_sps, r->count));
		printf("}");
	}
	printf("}\n");
}

static void done(struct run *r)
{
	for (int k = 0; k < UNWINDER_KINDS; k++) {
		if (r->unwinders[k])
			unwinder_forget(r->unwinders[k], r->space);
		unwinder_free(r->unwinders[k]);
	}
	space_free(r->space);
	modules_free(r->modules);
	for (unsigned i = 0; i < r->count; i++)
		free(r->kept[i].stack);
	free(r->kept);
}

static int read_number(int argc, char **argv, int i, uint64_t max, uint64_t *into)
{
	return i < argc ? parse_u64(argv[i], max, into) : 0;
}

int main(int argc, char **argv)
{
	static struct run r; /* the chains are large */
	uint64_t pid = 0, samples = 2000, hz = 997, stack_bytes = STACK_BYTES_DEFAULT;
	int e;

	if (argc < 2 || read_number(argc, argv, 1, INT32_MAX, &pid) < 0 ||
		read_number(argc, argv, 2, 100000, &samples) < 0 ||
		read_number(argc, argv, 3, 10000, &hz) < 0 ||
		read_number(argc, argv, 4, STACK_BYTES_MAX, &stack_bytes) < 0) {
		fputs("usage: unwinders PID [SAMPLES [HZ [STACK_BYTES]]]\n", stderr);
		return 2;
	}
	r.pid = (pid_t)pid;
	r.wanted = samples ? (unsigned)samples : 1;
	e = set_up(&r);
	if (e == 0)
		e = sample(&r, hz, (uint32_t)stack_bytes & ~7u);
	if (e < 0)
		fprintf(stderr, "unwinders: %s\n", strerror(-e));
	else
		print_result(&r);
	done(&r);
	return e < 0;
}
