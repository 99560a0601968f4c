/* Processes that are over become one for each name: no sample and no stack is lost or made. */
#include "daemon/tree/calltree.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/failing_alloc.h"

#define PROCESSES 8
#define FRAMES    6
#define DEPTH     5
#define STACKS    4096
#define LOG       700
#define SAMPLES   3000

/* What has to be in the tree: by process and chain, as a number to the base of FRAMES + 1. */
struct model {
	struct calltree *t;
	uint32_t frames[FRAMES];
	int64_t process[PROCESSES];
	bool over[PROCESSES];
	uint64_t samples[2][PROCESSES][16807]; /* 7^5 */
	struct {
		unsigned process, chain;
	} log[LOG];
	unsigned log_count; /* ever */
	uint32_t random;
};

static const char *const comms[PROCESSES] = {"cc", "cc", "ld", "cc", "ld", "sh", "cc", "sh"};

static unsigned next(struct model *m, unsigned below)
{
	m->random = m->random * 1664525u + 1013904223u;
	return (m->random >> 8) % below;
}

static struct model *begin(void)
{
	struct model *m = calloc(1, sizeof(*m));
	struct calltree_options o = {.event_count = 2, .log_entries = LOG};

	assert_non_null(m);
	m->random = 1;
	assert_int_equal(calltree_new(&o, &m->t), 0);
	for (unsigned i = 0; i < FRAMES; i++)
		m->frames[i] = calltree_frame(m->t, FRAME_KERNEL, 0, i);
	for (unsigned i = 0; i < PROCESSES; i++) {
		m->process[i] = calltree_process(m->t, 100 + (pid_t)i, 1);
		calltree_process_comm(m->t, (uint32_t)m->process[i], comms[i]);
	}
	return m;
}

static void end(struct model *m)
{
	calltree_free(m->t);
	free(m);
}

static void add(struct model *m, unsigned count)
{
	while (count--) {
		unsigned process = next(m, PROCESSES), depth = next(m, DEPTH + 1),
			 event = next(m, 2);
		uint32_t chain[DEPTH];
		unsigned number = 0;

		/* The real ones send no more. */
		if (m->over[process])
			continue;
		for (unsigned i = 0; i < depth; i++) {
			unsigned f = next(m, FRAMES);

			chain[i] = m->frames[f];
			number = number * (FRAMES + 1) + f + 1;
		}
		assert_int_equal(calltree_add(m->t, (uint32_t)m->process[process],
					 (uint32_t)calltree_thread(m->t, 100 + (pid_t)process,
						 (uint32_t)m->process[process]),
					 chain, depth, event, 10, 1 + m->log_count, 0),
			0);
		m->samples[event][process][number]++;
		m->log[m->log_count % LOG].process = process;
		m->log[m->log_count % LOG].chain = number;
		m->log_count++;
	}
}

static bool is_over(void *arg, uint32_t process)
{
	const struct model *m = arg;

	for (unsigned i = 0; i < PROCESSES; i++)
		if (m->process[i] == process)
			return m->over[i];
	return false;
}

/* Where a process of the model is now: the first one that shares its place. */
static unsigned home(const struct model *m, unsigned process)
{
	for (unsigned i = 0; m->over[process] && i < process; i++)
		if (m->over[i] && strcmp(comms[i], comms[process]) == 0)
			return i;
	return process;
}

static void place_of(const struct model *m, const struct profile *p, uint32_t node,
	unsigned *ret_process, unsigned *ret_chain)
{
	const struct profile_process *at;
	unsigned number = 0, factor = 1;
	char name[32];

	for (; p->frames[p->nodes[node].frame].kind == FRAME_KERNEL; node = p->nodes[node].parent) {
		number += factor * (unsigned)(p->frames[p->nodes[node].frame].addr + 1);
		factor *= FRAMES + 1;
	}
	assert_int_equal(p->frames[p->nodes[node].frame].kind, FRAME_PROCESS);
	at = &p->processes[p->frames[p->nodes[node].frame].addr];
	*ret_chain = number;
	for (unsigned i = 0; i < PROCESSES; i++) {
		snprintf(name, sizeof(name), "%s (ended)", comms[i]);
		if (m->over[i] ? at->pid == -1 && strcmp(profile_text(p, at->comm), name) == 0
			       : at->pid == 100 + (pid_t)i) {
			*ret_process = i;
			return;
		}
	}
	fail_msg("a process that was never there: %d %s", at->pid, profile_text(p, at->comm));
}

static void assert_same(struct model *m)
{
	struct profile *p;
	uint64_t total = 0, nodes_with = 0, stacks = 0;

	assert_int_equal(calltree_snapshot(m->t, true, &p), 0);
	assert_int_equal(profile_check(p), 0);
	for (uint32_t i = 2; i < p->node_count; i++) {
		unsigned process, chain;

		place_of(m, p, i, &process, &chain);
		for (unsigned e = 0; e < 2; e++) {
			uint64_t want = 0, cell = (uint64_t)e * p->node_count + i;

			for (unsigned k = 0; k < PROCESSES; k++)
				if (home(m, k) == process)
					want += m->samples[e][k][chain];
			assert_int_equal(p->self_samples[cell], want);
			assert_int_equal(p->self_weight[cell], 10 * want);
			total += want;
			nodes_with += want > 0;
		}
	}
	assert_int_equal(total, m->log_count);
	/* Each stack is there once. */
	for (unsigned e = 0; e < 2; e++)
		for (unsigned k = 0; k < PROCESSES; k++)
			for (unsigned c = 0; c < 16807; c++) {
				uint64_t all = 0;

				for (unsigned i = 0; home(m, k) == k && i < PROCESSES; i++)
					all += home(m, i) == k ? m->samples[e][i][c] : 0;
				stacks += all > 0;
			}
	assert_int_equal(nodes_with, stacks);
	assert_int_equal(p->log_count, m->log_count < LOG ? m->log_count : LOG);
	for (unsigned i = 0; i < p->log_count; i++) {
		unsigned process, chain;
		unsigned at = (m->log_count - p->log_count + i) % LOG;

		place_of(m, p, p->log[i].node, &process, &chain);
		assert_int_equal(process, home(m, m->log[at].process));
		assert_int_equal(chain, m->log[at].chain);
	}
	profile_unref(p);
}

static uint64_t nodes(const struct model *m)
{
	struct calltree_stats stats;

	calltree_get_stats(m->t, &stats);
	return stats.nodes;
}

static void what_is_over_is_one_and_nothing_is_lost(void **state)
{
	struct model *m = begin();
	uint64_t before;

	add(m, SAMPLES);
	assert_same(m);
	assert_int_equal(calltree_merge(m->t, is_over, m), 0);
	m->over[0] = m->over[1] = m->over[2] = m->over[5] = true;
	before = nodes(m);
	assert_int_equal(calltree_merge(m->t, is_over, m), 4);
	assert_true(nodes(m) < before);
	assert_same(m);
	add(m, SAMPLES);
	assert_same(m);
	/* Those that end later join them. */
	m->over[3] = m->over[4] = true;
	assert_int_equal(calltree_merge(m->t, is_over, m), 2);
	assert_same(m);
	assert_int_equal(calltree_merge(m->t, is_over, m), 0);
	add(m, 50);
	assert_same(m);
	end(m);
}

static bool all_are_over(void *arg, uint32_t process)
{
	return true;
}

/* More of them than the table of processes had room for before. */
static void many_names_make_many_processes(void **state)
{
	struct calltree_options o = {.event_count = 1};
	struct calltree *t;
	struct profile *p;
	uint64_t samples = 0;

	assert_int_equal(calltree_new(&o, &t), 0);
	for (unsigned i = 0; i < 200; i++) {
		uint32_t frame = calltree_frame(t, FRAME_KERNEL, 0, 1);
		int64_t process = calltree_process(t, 1000 + (pid_t)i, 1);
		char comm[16];

		snprintf(comm, sizeof(comm), "program-%u", i % 100);
		calltree_process_comm(t, (uint32_t)process, comm);
		assert_int_equal(
			calltree_add(t, (uint32_t)process,
				(uint32_t)calltree_thread(t, 1000 + (pid_t)i, (uint32_t)process),
				&frame, 1, 0, 10, 1 + i, 0),
			0);
	}
	assert_int_equal(calltree_merge(t, all_are_over, NULL), 200);
	assert_int_equal(calltree_snapshot(t, true, &p), 0);
	assert_int_equal(profile_check(p), 0);
	for (uint32_t i = 0; i < p->node_count; i++) {
		const struct profile_node *n = &p->nodes[i];
		char name[32];

		if (p->self_samples[i] == 0)
			continue;
		assert_int_equal(p->self_samples[i], 2);
		snprintf(name, sizeof(name), "program-%u (ended)", (unsigned)(samples / 2));
		assert_string_equal(
			profile_text(
				p, p->processes[p->frames[p->nodes[n->parent].frame].addr].comm),
			name);
		samples += 2;
	}
	assert_int_equal(samples, 200);
	profile_unref(p);
	calltree_free(t);
}

static void a_tree_of_nobody_is_left_alone(void **state)
{
	struct calltree_options o = {.event_count = 1};
	struct calltree *t;

	assert_int_equal(calltree_new(&o, &t), 0);
	assert_int_equal(calltree_merge(t, is_over, NULL), 0);
	calltree_free(t);
}

static void no_memory_leaves_all_as_it_was(void **state)
{
	struct model *m = begin();
	int64_t r = -ENOMEM;

	add(m, SAMPLES);
	m->over[0] = m->over[1] = m->over[3] = true;
	for (long after = 0; r == -ENOMEM; after++) {
		assert_true(after < 100);
		alloc_fail_after = after;
		r = calltree_merge(m->t, is_over, m);
		alloc_fail_after = -1;
		if (r == -ENOMEM) {
			m->over[0] = m->over[1] = m->over[3] = false;
			assert_same(m);
			m->over[0] = m->over[1] = m->over[3] = true;
		}
	}
	assert_int_equal(r, 3);
	assert_same(m);
	end(m);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_over_is_one_and_nothing_is_lost),
		cmocka_unit_test(many_names_make_many_processes),
		cmocka_unit_test(a_tree_of_nobody_is_left_alone),
		cmocka_unit_test(no_memory_leaves_all_as_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
