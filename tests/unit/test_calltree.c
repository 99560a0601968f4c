#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/map.h"
#include "daemon/tree/calltree.h"
#include "tests/unit/failing_alloc.h"

/* With all hashes equal, only comparing tells things apart. */
static bool hashes_collide;

uint64_t __real_hash_u64(uint64_t x);
uint64_t __wrap_hash_u64(uint64_t x);
uint64_t __real_hash_bytes(const void *data, size_t len, uint64_t seed);
uint64_t __wrap_hash_bytes(const void *data, size_t len, uint64_t seed);

uint64_t __wrap_hash_u64(uint64_t x)
{
	return hashes_collide ? 7 : __real_hash_u64(x);
}

uint64_t __wrap_hash_bytes(const void *data, size_t len, uint64_t seed)
{
	return hashes_collide ? 7 : __real_hash_bytes(data, len, seed);
}

static struct calltree *tree_of(uint32_t max_nodes, uint32_t max_frames, uint32_t log)
{
	struct calltree_options o = {
		.max_nodes = max_nodes,
		.max_frames = max_frames,
		.log_entries = log,
		.event_count = 2,
	};
	struct calltree *t = NULL;

	assert_int_equal(calltree_new(&o, &t), 0);
	return t;
}

static struct profile *snapshot(const struct calltree *t)
{
	struct profile *p = NULL;

	assert_int_equal(calltree_snapshot(t, true, &p), 0);
	assert_int_equal(profile_check(p), 0);
	return p;
}

/* "pid/addr/addr" of a node, or its special text. */
static void path_of(const struct profile *p, uint32_t node, struct buf *into)
{
	uint32_t up[16];
	unsigned depth = 0;

	for (; node != 0; node = p->nodes[node].parent) {
		assert_true(depth < 16);
		up[depth++] = node;
	}
	buf_clear(into);
	while (depth > 0) {
		const struct profile_frame *f = &p->frames[p->nodes[up[--depth]].frame];

		if (f->kind == FRAME_PROCESS)
			buf_printf(into, "%d", p->processes[f->addr].pid);
		else if (f->kind == FRAME_SPECIAL)
			buf_printf(into, "/%s", profile_text(p, (uint32_t)f->addr));
		else
			buf_printf(into, "/%x", (unsigned)f->addr);
	}
}

static uint64_t samples_at(
	const struct profile *p, const char *path, unsigned event, uint64_t *ret_weight)
{
	AUTO(buf_done) struct buf text = BUF_INIT;
	uint64_t samples = 0;

	*ret_weight = 0;
	for (uint32_t i = 0; i < p->node_count; i++) {
		size_t cell = (size_t)event * p->node_count + i;

		path_of(p, i, &text);
		if (strcmp(text.data ? text.data : "", path) != 0)
			continue;
		samples += p->self_samples[cell];
		*ret_weight += p->self_weight[cell];
	}
	return samples;
}

static void assert_samples(const struct profile *p, const char *path, uint64_t want)
{
	uint64_t weight;

	assert_int_equal(samples_at(p, path, 0, &weight), want);
	assert_int_equal(weight, want * 100);
}

static uint32_t kernel_frame(struct calltree *t, uint64_t addr)
{
	return calltree_frame(t, FRAME_KERNEL, 0, addr);
}

static int add(struct calltree *t, uint32_t process, const uint32_t *frames, uint32_t count)
{
	return calltree_add(t, process, 0, frames, count, 0, 100, 5000, 1);
}

static void samples_are_booked_on_their_leaf(void **state)
{
	AUTO(calltree_free_auto) struct calltree *t = tree_of(0, 0, 100);
	uint32_t a = (uint32_t)calltree_process(t, 10, 1), b = (uint32_t)calltree_process(t, 11, 1);
	uint32_t f[3] = {kernel_frame(t, 1), kernel_frame(t, 2), kernel_frame(t, 3)};
	AUTO(profile_unref_auto) struct profile *p = NULL;
	uint64_t weight;

	assert_int_equal(add(t, a, f, 3), 0);
	assert_int_equal(add(t, a, f, 3), 0);
	assert_int_equal(add(t, a, f, 2), 0);
	assert_int_equal(add(t, b, f, 3), 0);
	assert_int_equal(add(t, b, f, 0), 0);
	assert_int_equal(calltree_add(t, a, 0, f, 3, 1, 17, 1, 0), 0);

	p = snapshot(t);
	assert_samples(p, "10/1/2/3", 2);
	assert_samples(p, "10/1/2", 1);
	assert_samples(p, "10/1", 0);
	assert_samples(p, "11/1/2/3", 1);
	assert_samples(p, "11", 1);
	assert_int_equal(samples_at(p, "10/1/2/3", 1, &weight), 1);
	assert_int_equal(weight, 17);
	/* Equal prefixes are there once: root, its [dropped], two processes, two times three. */
	assert_int_equal(p->node_count, 10);
	assert_int_equal(p->ledger.samples, 6);
	assert_int_equal(p->ledger.dropped, 0);
}

static void equal_things_have_one_id(void **state)
{
	AUTO(calltree_free_auto) struct calltree *t = tree_of(0, 0, 0);
	int64_t process = calltree_process(t, 10, 1);
	bool is_new = false;
	int64_t module = calltree_module(t, 77, "/lib/a.so", "ab", NULL, &is_new);

	assert_true(is_new);
	assert_int_equal(calltree_module(t, 77, "/lib/a.so", "ab", NULL, &is_new), module);
	assert_false(is_new);
	assert_int_not_equal(calltree_module(t, 78, "/lib/a.so", "ab", NULL, NULL), module);
	assert_int_equal(calltree_process(t, 10, 1), process);
	/* A pid that came back. */
	assert_int_not_equal(calltree_process(t, 10, 2), process);
	assert_int_equal(calltree_thread(t, 5, 0), calltree_thread(t, 5, 0));
	assert_int_not_equal(calltree_thread(t, 5, 0), calltree_thread(t, 5, 1));
	assert_int_equal(kernel_frame(t, 9), kernel_frame(t, 9));
	assert_int_not_equal(kernel_frame(t, 9), calltree_frame(t, FRAME_USER, 0, 9));
	assert_int_not_equal(
		calltree_frame(t, FRAME_USER, 1, 9), calltree_frame(t, FRAME_USER, 0, 9));
	assert_int_not_equal(
		calltree_frame(t, FRAME_JIT, 0, 9), calltree_frame(t, FRAME_USER, 0, 9));
	assert_int_equal(calltree_special(t, "[truncated]"), calltree_special(t, "[truncated]"));
	assert_int_equal(calltree_special(t, "[x]"),
		calltree_frame(t, FRAME_SPECIAL, 0, (uint64_t)calltree_text(t, "[x]", 3)));
	assert_int_equal(calltree_process(t, -1, 1), -EINVAL);
	assert_int_equal(calltree_process(t, 1 << 22, 1), -EINVAL);
	assert_int_equal(calltree_thread(t, 5, 99), -EINVAL);
}

static void hash_collisions_book_no_wrong_stack(void **state)
{
	AUTO(calltree_free_auto) struct calltree *t = NULL;
	AUTO(profile_unref_auto) struct profile *p = NULL;
	uint32_t process[2], f[8];

	hashes_collide = true;
	t = tree_of(0, 0, 0);
	for (unsigned i = 0; i < 2; i++)
		process[i] = (uint32_t)calltree_process(t, 10 + (pid_t)i, 1);
	for (unsigned i = 0; i < 8; i++)
		f[i] = kernel_frame(t, 1 + i);
	/* Each pair (i, j), i + j times, in both processes. */
	for (unsigned times = 0; times < 15; times++) {
		for (unsigned n = 0; n < 2 * 64; n++) {
			uint32_t chain[2] = {f[n % 8], f[n / 8 % 8]};

			if (times < n % 8 + n / 8 % 8)
				assert_int_equal(add(t, process[n / 64], chain, 2), 0);
		}
	}
	hashes_collide = false;
	p = snapshot(t);
	for (unsigned n = 0; n < 2 * 64; n++) {
		char path[32];

		snprintf(path, sizeof(path), "%u/%u/%u", 10 + n / 64, 1 + n % 8, 1 + n / 8 % 8);
		assert_samples(p, path, n % 8 + n / 8 % 8);
	}
}

static void full_tree_drops_and_counts(void **state)
{
	/* Room for the two that are always there, the process, and two more. */
	AUTO(calltree_free_auto) struct calltree *t = tree_of(5, 0, 100);
	uint32_t process = (uint32_t)calltree_process(t, 10, 1);
	uint32_t late, f[3] = {kernel_frame(t, 1), kernel_frame(t, 2), kernel_frame(t, 3)};
	AUTO(profile_unref_auto) struct profile *p = NULL;
	struct calltree_stats stats;

	assert_int_equal(add(t, process, f, 2), 0);
	assert_int_equal(add(t, process, f, 3), -ENOSPC);
	assert_int_equal(add(t, process, f, 2), 0);
	late = (uint32_t)calltree_process(t, 11, 1);
	assert_int_equal(add(t, late, f, 1), -ENOSPC);
	assert_int_equal(add(t, CALLTREE_NONE, f, 1), -ENOSPC);
	assert_int_equal(calltree_add(t, process, 0, f, 1, 2, 1, 1, 1), -EINVAL);

	p = snapshot(t);
	assert_samples(p, "10/1/2", 2);
	assert_samples(p, "10/[dropped]", 1);
	assert_samples(p, "11/[dropped]", 1);
	assert_samples(p, "/[dropped]", 1);
	assert_int_equal(p->ledger.samples, 5);
	assert_int_equal(p->ledger.dropped, 3);
	calltree_get_stats(t, &stats);
	assert_int_equal(stats.dropped, 3);
	assert_int_equal(stats.samples, 5);
}

static void frame_that_does_not_fit_drops_its_chain(void **state)
{
	AUTO(calltree_free_auto) struct calltree *t = tree_of(0, 4, 0);
	uint32_t process = (uint32_t)calltree_process(t, 10, 1);
	uint32_t f[3] = {kernel_frame(t, 1), kernel_frame(t, 2), kernel_frame(t, 3)};
	uint32_t chain[2] = {f[0], calltree_frame(t, FRAME_USER, CALLTREE_NONE, 1)};
	AUTO(profile_unref_auto) struct profile *p = NULL;

	assert_int_equal(add(t, process, f, 2), 0);
	assert_int_equal(add(t, process, f, 3), -ENOSPC);
	assert_int_equal(add(t, process, chain, 2), -ENOSPC);
	p = snapshot(t);
	assert_samples(p, "10/1/2", 1);
	assert_samples(p, "10/1", 0);
	assert_samples(p, "10/[dropped]", 2);
}

static void log_keeps_the_last_and_counts_the_rest(void **state)
{
	AUTO(calltree_free_auto) struct calltree *t = tree_of(0, 0, 10);
	uint32_t process = (uint32_t)calltree_process(t, 10, 1);
	uint32_t thread = (uint32_t)calltree_thread(t, 12, process);
	uint32_t f = kernel_frame(t, 1);
	AUTO(profile_unref_auto) struct profile *p = NULL;
	struct calltree_stats stats;

	for (uint64_t i = 0; i < 10; i++)
		calltree_add(t, process, thread, &f, 1, 0, 1 + i, 1000 + i, (unsigned)i);
	calltree_get_stats(t, &stats);
	assert_int_equal(stats.log_dropped, 0);
	assert_int_equal(stats.log_from_ns, 0);
	for (uint64_t i = 10; i < 37; i++)
		calltree_add(t, process, thread, &f, 1, i % 2, 1 + i, 1000 + i, (unsigned)i);

	p = snapshot(t);
	assert_int_equal(p->log_count, 10);
	for (unsigned i = 0; i < 10; i++) {
		assert_int_equal(p->log[i].t_ns, 1027 + i);
		assert_int_equal(p->log[i].weight, 28 + i);
		assert_int_equal(p->log[i].cpu, 27 + i);
		assert_int_equal(p->log[i].event, (27 + i) % 2);
		assert_int_equal(p->log[i].thread, thread);
	}
	assert_int_equal(p->ledger.log_dropped, 27);
	assert_int_equal(p->ledger.log_from_ns, 1027);
}

static void log_and_tree_take_other_limits(void **state)
{
	AUTO(calltree_free_auto) struct calltree *t = tree_of(0, 0, 10);
	uint32_t process = (uint32_t)calltree_process(t, 10, 1);
	uint32_t thread = (uint32_t)calltree_thread(t, 12, process);
	uint32_t f = kernel_frame(t, 1), g = kernel_frame(t, 2);
	struct calltree_stats stats;

	for (uint64_t i = 0; i < 13; i++)
		calltree_add(t, process, thread, &f, 1, 0, 1, 1000 + i, 0);
	calltree_get_stats(t, &stats);
	assert_int_equal(calltree_limit(t, (uint32_t)stats.nodes, 4), 0);
	for (unsigned run = 0; run < 2; run++) {
		AUTO(profile_unref_auto) struct profile *p = snapshot(t);

		assert_int_equal(p->log_count, 4);
		for (unsigned i = 0; i < 4; i++)
			assert_int_equal(p->log[i].t_ns, 1009 + i);
		assert_int_equal(p->ledger.log_dropped, 9);
		assert_int_equal(p->ledger.log_from_ns, 1009);
		/* More room brings nothing back. */
		assert_int_equal(calltree_limit(t, (uint32_t)stats.nodes, 6), 0);
	}
	/* No new stack, but those that are there go on. */
	assert_int_equal(calltree_add(t, process, thread, &g, 1, 0, 1, 1013, 0), -ENOSPC);
	assert_int_equal(calltree_add(t, process, thread, &f, 1, 0, 1, 1014, 0), 0);
	assert_int_equal(calltree_limit(t, 1000, 6), 0);
	assert_int_equal(calltree_add(t, process, thread, &g, 1, 0, 1, 1015, 0), 0);
	calltree_get_stats(t, &stats);
	assert_int_equal(stats.log_count, 6);
	assert_int_equal(stats.log_dropped, 10);
	assert_int_equal(stats.log_from_ns, 1010);
	assert_int_equal(stats.samples, 16);
	assert_int_equal(stats.dropped, 1);
	assert_int_equal(calltree_limit(t, 1000, 0), 0);
	calltree_get_stats(t, &stats);
	assert_int_equal(stats.log_count, 0);
	assert_int_equal(stats.log_dropped, 16);
	assert_int_equal(calltree_add(t, process, thread, &g, 1, 0, 1, 1016, 0), 0);
}

static void log_out_of_order_covers_less(void **state)
{
	static const uint64_t times[] = {5, 9, 1, 7, 8};
	AUTO(calltree_free_auto) struct calltree *t = tree_of(0, 0, 3);
	uint32_t process = (uint32_t)calltree_process(t, 10, 1);
	uint32_t thread = (uint32_t)calltree_thread(t, 12, process);
	struct calltree_stats stats;

	for (unsigned i = 0; i < 5; i++)
		calltree_add(t, process, thread, NULL, 0, 0, 1, times[i], 0);
	calltree_get_stats(t, &stats);
	/* 5 and 9 went: of what is there, only from 10 on nothing is missing. */
	assert_int_equal(stats.log_from_ns, 10);
}

static void huge_weights_fit_the_log(void **state)
{
	AUTO(calltree_free_auto) struct calltree *t = tree_of(0, 0, 3);
	uint32_t process = (uint32_t)calltree_process(t, 10, 1);
	uint32_t thread = (uint32_t)calltree_thread(t, 12, process);
	AUTO(profile_unref_auto) struct profile *p = NULL;
	uint64_t weight;

	calltree_add(t, process, thread, NULL, 0, 0, UINT64_MAX, 1, 70000);
	p = snapshot(t);
	assert_int_equal(samples_at(p, "10", 0, &weight), 1);
	assert_int_equal(weight, p->log[0].weight);
	assert_int_equal(weight, ((uint64_t)1 << 48) - 1);
}

static void snapshot_without_log_has_none(void **state)
{
	AUTO(calltree_free_auto) struct calltree *t = tree_of(0, 0, 3);
	AUTO(profile_unref_auto) struct profile *p = NULL, *with = snapshot(t);

	assert_int_equal(calltree_snapshot(t, false, &p), 0);
	assert_null(p->log);
	assert_non_null(with->log);
	assert_int_equal(with->log_count, 0);
}

static void snapshot_does_not_change(void **state)
{
	AUTO(calltree_free_auto) struct calltree *t = tree_of(0, 0, 10);
	uint32_t process = (uint32_t)calltree_process(t, 10, 1);
	uint32_t f[2] = {kernel_frame(t, 1), kernel_frame(t, 2)};
	AUTO(profile_unref_auto) struct profile *p = NULL;

	calltree_process_comm(t, process, "before");
	add(t, process, f, 1);
	p = snapshot(t);
	calltree_process_comm(t, process, "after");
	for (unsigned i = 0; i < 1000; i++) {
		f[1] = kernel_frame(t, 2 + i);
		add(t, process, f, 2);
	}
	assert_int_equal(profile_check(p), 0);
	assert_samples(p, "10/1", 1);
	assert_int_equal(p->node_count, 4);
	assert_string_equal(profile_text(p, p->processes[0].comm), "before");
}

static int handle_refs;

static void release_handle(void *handle)
{
	assert_ptr_equal(handle, &handle_refs);
	handle_refs--;
}

static void *retain_handle(void *handle)
{
	handle_refs++;
	return handle;
}

static void module_handles_are_given_back(void **state)
{
	struct calltree *t = tree_of(0, 0, 0);
	struct profile *p, *copy = NULL;
	bool is_new;

	handle_refs = 1; /* ours, handed over */
	calltree_set_release(t, release_handle, retain_handle);
	calltree_module(t, 1, "/a", "", &handle_refs, &is_new);
	calltree_module(t, 1, "/a", "", &handle_refs, &is_new);
	assert_false(is_new);
	p = snapshot(t);
	assert_int_equal(handle_refs, 2);
	calltree_free(t);
	assert_int_equal(handle_refs, 1);
	assert_int_equal(profile_copy(p, retain_handle, &copy), 0);
	assert_int_equal(handle_refs, 2);
	profile_unref(p);
	assert_int_equal(handle_refs, 1);
	profile_unref(copy);
	assert_int_equal(handle_refs, 0);
}

static void deep_and_wide_trees_are_taken(void **state)
{
	enum { MANY = 20000 };
	AUTO(calltree_free_auto) struct calltree *t = tree_of(0, 0, 0);
	uint32_t process = (uint32_t)calltree_process(t, 10, 1);
	AUTO(free_auto) uint32_t *f = calloc(MANY, sizeof(*f));
	AUTO(profile_unref_auto) struct profile *p = NULL;

	for (unsigned i = 0; i < MANY; i++)
		f[i] = kernel_frame(t, i);
	assert_int_equal(add(t, process, f, MANY), 0);
	assert_int_equal(add(t, process, f, MANY), 0);
	for (unsigned i = 0; i < MANY; i++)
		assert_int_equal(add(t, process, &f[i], 1), 0);
	p = snapshot(t);
	assert_int_equal(p->node_count, 3 + MANY + MANY - 1);
	assert_int_equal(p->ledger.samples, MANY + 2);
}

/* Large enough for memory of its own kind. */
/* Few children are looked at one by one, many are in an index: where it changes none gets lost. */
static void each_child_is_there_once(void **state)
{
	struct calltree *t = tree_of(0, 0, 0);
	uint32_t process = (uint32_t)calltree_process(t, 1, 1), top, children[40], again;

	assert_int_equal(calltree_top(t, process, &top), 0);
	assert_int_equal(calltree_top(t, process + 1, &again), -EINVAL);
	for (uint32_t i = 0; i < 40; i++) {
		assert_int_equal(calltree_child(t, top, kernel_frame(t, i), &children[i]), 0);
		for (uint32_t k = 0; k <= i; k++) {
			assert_int_equal(calltree_child(t, top, kernel_frame(t, k), &again), 0);
			assert_int_equal(again, children[k]);
		}
	}
	calltree_free(t);
}

static void large_snapshot_is_whole(void **state)
{
	enum { MANY = 300000 };
	AUTO(calltree_free_auto) struct calltree *t = tree_of(0, 0, MANY);
	uint32_t process = (uint32_t)calltree_process(t, 10, 1);
	uint32_t thread = (uint32_t)calltree_thread(t, 10, process);
	AUTO(profile_unref_auto) struct profile *p = NULL, *copy = NULL;

	for (uint32_t i = 0; i < MANY; i++) {
		uint32_t f = kernel_frame(t, i);

		assert_int_equal(calltree_add(t, process, thread, &f, 1, 0, 100, i, 0), 0);
	}
	p = snapshot(t);
	assert_int_equal(profile_copy(p, NULL, &copy), 0);
	assert_int_equal(profile_check(copy), 0);
	for (uint32_t i = 0; i < MANY; i++) {
		const struct log_entry *e = &copy->log[i];

		assert_int_equal(e->t_ns, i);
		assert_int_equal(copy->frames[copy->nodes[e->node].frame].addr, i);
		assert_int_equal(copy->self_weight[e->node], 100);
	}
}

static void too_many_threads_share_one(void **state)
{
	AUTO(calltree_free_auto) struct calltree *t = tree_of(0, 0, 0);
	uint32_t process = (uint32_t)calltree_process(t, 10, 1);
	AUTO(profile_unref_auto) struct profile *p = NULL;
	int64_t id = 0;

	for (uint32_t i = 0; i < CALLTREE_MAX_THREADS + 10; i++)
		id = calltree_thread(t, (pid_t)i, process);
	assert_int_equal(id, CALLTREE_MAX_THREADS - 1);
	assert_int_equal(calltree_thread(t, 5, process), 5);
	p = snapshot(t);
	assert_int_equal(p->thread_count, CALLTREE_MAX_THREADS);
	assert_string_equal(profile_text(p, p->threads[id].comm), "[other threads]");
}

static void too_many_modules_drop_their_chains(void **state)
{
	AUTO(calltree_free_auto) struct calltree *t = tree_of(0, 0, 0);
	uint32_t process = (uint32_t)calltree_process(t, 10, 1);
	uint32_t f;

	for (uint32_t i = 0; i < CALLTREE_MAX_MODULES; i++)
		assert_int_equal(calltree_module(t, i, "/m", "", NULL, NULL), i);
	assert_int_equal(calltree_module(t, UINT64_MAX, "/m", "", NULL, NULL), -ENOSPC);
	f = calltree_frame(t, FRAME_USER, CALLTREE_NONE, 1);
	assert_int_equal(add(t, process, &f, 1), -ENOSPC);
}

static void too_many_processes_share_one(void **state)
{
	AUTO(calltree_free_auto) struct calltree *t = tree_of(0, 0, 0);
	struct calltree_stats stats;
	int64_t id = 0;

	for (uint32_t i = 0; i < CALLTREE_MAX_PROCESSES + 10; i++) {
		id = calltree_process(t, (pid_t)i, 1);
		assert_true(id >= 0 && id < CALLTREE_MAX_PROCESSES);
	}
	assert_int_equal(id, CALLTREE_MAX_PROCESSES - 1);
	assert_int_equal(calltree_process(t, 5, 1), 5);
	calltree_get_stats(t, &stats);
	assert_int_equal(stats.tasks_merged, 11);
	assert_int_equal(add(t, (uint32_t)id, NULL, 0), 0);
}

/* Whatever allocation fails, nothing leaks or crashes, and what was said to be counted is. */
static void no_memory_is_survived(void **state)
{
	for (long after = 0; after < 400; after++) {
		struct calltree_options o = {.event_count = 2, .log_entries = 50};
		struct calltree *t = NULL;
		struct profile *p = NULL;
		struct calltree_stats stats;
		uint64_t counted = 0;
		int r;

		alloc_fail_after = after;
		r = calltree_new(&o, &t);
		for (unsigned i = 0; r == 0 && i < 300; i++) {
			int64_t process = calltree_process(t, (pid_t)i / 30, 1);
			int64_t thread = process < 0
				? process
				: calltree_thread(t, (pid_t)i, (uint32_t)process);
			int64_t module = calltree_module(t, i / 20, "/m", "", NULL, NULL);
			uint32_t f[2] = {kernel_frame(t, i),
				calltree_frame(t, FRAME_USER, (uint32_t)module, i)};

			calltree_add(
				t, (uint32_t)process, (uint32_t)thread, f, 2, i % 2, 100, i, 0);
			counted++;
		}
		if (r == 0 && calltree_snapshot(t, true, &p) == 0)
			assert_int_equal(profile_check(p), 0);
		alloc_fail_after = -1;
		profile_unref(p);
		if (t) {
			p = snapshot(t);
			calltree_get_stats(t, &stats);
			assert_int_equal(stats.samples, counted);
			profile_unref(p);
		}
		calltree_free(t);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_are_booked_on_their_leaf),
		cmocka_unit_test(equal_things_have_one_id),
		cmocka_unit_test(hash_collisions_book_no_wrong_stack),
		cmocka_unit_test(full_tree_drops_and_counts),
		cmocka_unit_test(frame_that_does_not_fit_drops_its_chain),
		cmocka_unit_test(log_keeps_the_last_and_counts_the_rest),
		cmocka_unit_test(log_and_tree_take_other_limits),
		cmocka_unit_test(log_out_of_order_covers_less),
		cmocka_unit_test(huge_weights_fit_the_log),
		cmocka_unit_test(snapshot_without_log_has_none),
		cmocka_unit_test(snapshot_does_not_change),
		cmocka_unit_test(module_handles_are_given_back),
		cmocka_unit_test(deep_and_wide_trees_are_taken),
		cmocka_unit_test(each_child_is_there_once),
		cmocka_unit_test(large_snapshot_is_whole),
		cmocka_unit_test(too_many_processes_share_one),
		cmocka_unit_test(too_many_threads_share_one),
		cmocka_unit_test(too_many_modules_drop_their_chains),
		cmocka_unit_test(no_memory_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
