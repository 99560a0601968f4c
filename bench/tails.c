/* tails PID SECONDS COPY_BYTES EVERY: how well tails make cut stacks whole. Samples the process
 * with the longest copies; each sample is unwound whole and with the copy shortened to COPY_BYTES;
 * one in EVERY is learned from, as the deep samples of a session are; those of the others that are
 * cut are learned from as far as they go, completed and compared with the truth. Needs root. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "daemon/run/process.h"
#include "daemon/sample/collect.h"
#include "daemon/unwind/tails.h"
#include "tests/unit/fake_broker.h"
#include "tests/unit/make_table.h"

#define FREQ_HZ 997

struct tally {
	struct processes *processes;
	struct unwinder *unwinder;
	struct tails *tails;
	uint32_t copy_bytes;
	unsigned every;
	struct unwind_chain truth, chain;
	uint64_t samples, known, whole_long, whole_short, cut, completed, wrong, learned,
		unknown_completed;
	uint64_t learn_ns, complete_ns;
};

static bool same(const struct unwind_chain *a, const struct unwind_chain *b)
{
	return a->count == b->count &&
		memcmp(a->addrs, b->addrs, a->count * sizeof(*a->addrs)) == 0;
}

static void on_sample(void *arg, const struct sample *sample, unsigned event)
{
	struct tally *t = arg;
	struct session_process *p = processes_get(t->processes, sample->pid, sample->tid);
	struct sample cut = *sample;
	uint64_t begin;
	bool completed;

	(void)event;
	if (!p || sample->abi != PERF_SAMPLE_REGS_ABI_64)
		return;
	t->samples++;
	unwinder_run(t->unwinder, p->space, sample, UNWIND_FRAMES_MAX, &t->truth);
	if (t->samples % t->every == 0) {
		begin = time_thread_cpu_ns();
		tails_learn(t->tails, (uint64_t)sample->tid, sample->t_ns, &t->truth);
		t->learn_ns += time_thread_cpu_ns() - begin;
		t->learned++;
		return;
	}
	if (cut.stack_bytes > t->copy_bytes)
		cut.stack_bytes = t->copy_bytes;
	unwinder_run(t->unwinder, p->space, &cut, UNWIND_FRAMES_MAX, &t->chain);
	t->known += t->truth.end == UNWIND_ROOT;
	t->whole_long += t->truth.end == UNWIND_ROOT;
	t->whole_short += t->chain.end == UNWIND_ROOT;
	if (t->chain.end != UNWIND_STACK_CUT)
		return;
	t->cut++;
	begin = time_thread_cpu_ns();
	tails_learn(t->tails, (uint64_t)sample->tid, sample->t_ns, &t->chain);
	completed = tails_complete(
		t->tails, (uint64_t)sample->tid, sample->t_ns, UNWIND_FRAMES_MAX, &t->chain);
	t->complete_ns += time_thread_cpu_ns() - begin;
	if (!completed)
		return;
	t->completed++;
	if (t->truth.end != UNWIND_ROOT)
		t->unknown_completed++;
	else if (!same(&t->truth, &t->chain))
		t->wrong++;
}

static void on_sideband(void *arg, const struct sideband *sb)
{
	processes_sideband(((struct tally *)arg)->processes, sb);
}

static int run(struct tally *t, pid_t pid, unsigned seconds)
{
	struct target_spec target = {
		.kind = TARGET_PIDS, .pids = &pid, .pid_count = 1, .only_uid = (uid_t)-1};
	struct capture_options options = {.event_count = 1,
		.freq_hz = FREQ_HZ,
		.kernel = true,
		.stack = STACK_DWARF,
		.stack_bytes = STACK_BYTES_MAX,
		.allow_cpu_wide = true,
		.fd_budget = 10000};
	struct capture_sink sink = {on_sample, on_sideband, t};
	AUTO(buf_done) struct buf message = BUF_INIT;
	AUTO(capture_free_auto) struct capture *c = NULL;
	struct modules *modules = NULL;
	int r = event_parse(fake_broker(), "cpu-clock", &options.events[0]);

	if (r == 0)
		r = modules_new(fake_broker(), 4096, &modules);
	if (r == 0)
		r = unwinder_new("table", &t->unwinder);
	if (r == 0)
		unwinder_ask_tables(t->unwinder, make_table, NULL);
	if (r == 0)
		r = tails_new(65536, &t->tails);
	if (r == 0)
		r = processes_new(fake_broker(), modules, t->unwinder, &t->processes);
	if (r == 0)
		r = capture_new(fake_broker(), &target, &options, &c, &message);
	for (unsigned i = 0; r >= 0 && i < seconds * 20; i++) {
		usleep(50000);
		r = capture_round(c, &sink);
		if (i % 20 == 0)
			capture_refresh(c);
	}
	if (r < 0)
		fprintf(stderr, "tails: %s %s\n", strerror(-r), message.data ? message.data : "");
	return r < 0 ? 1 : 0;
}

int main(int argc, char **argv)
{
	static struct tally t;
	uint64_t tried;

	if (argc != 5) {
		fprintf(stderr, "usage: tails PID SECONDS COPY_BYTES EVERY\n");
		return 2;
	}
	t.copy_bytes = (uint32_t)atoi(argv[3]);
	t.every = (unsigned)atoi(argv[4]);
	if (run(&t, atoi(argv[1]), (unsigned)atoi(argv[2])) != 0)
		return 1;
	tried = t.samples - t.learned;
	printf("samples %llu  whole with %u bytes %.1f %%  with %u bytes %.1f %%, and tails %.1f %%"
	       "  wrong %.2f %% (of those known)  beyond the long copy %.1f %%  learn %.0f ns  "
	       "cut ones %.0f ns each\n",
		(unsigned long long)t.samples, STACK_BYTES_MAX,
		100.0 * (double)t.whole_long / (double)tried, t.copy_bytes,
		100.0 * (double)t.whole_short / (double)tried,
		100.0 * (double)(t.whole_short + t.completed) / (double)tried,
		100.0 * (double)t.wrong / (double)(t.known ? t.known : 1),
		100.0 * (double)t.unknown_completed / (double)tried,
		(double)t.learn_ns / (double)(t.learned ? t.learned : 1),
		(double)t.complete_ns / (double)(t.completed ? t.completed : 1));
	return 0;
}
