/* Frames of JIT memory that was used anew: samples go with the function of their time. */
#include "daemon/run/jitsplit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* root - process - jit 100 - user; and the same below another jit frame. */
static const struct profile_frame frames[] = {
	{.kind = FRAME_ROOT},
	{.kind = FRAME_PROCESS},
	{.kind = FRAME_JIT, .addr = 100},
	{.kind = FRAME_KERNEL, .addr = 5},
};
static const struct profile_node nodes[] = {{0, 0}, {0, 1}, {1, 2}, {2, 3}, {1, 3}};
#define NODES (sizeof(nodes) / sizeof(*nodes))
static const uint64_t since[] = {0, 1000, 2000};
static struct profile *p;

static void *copy(const void *data, size_t bytes)
{
	void *to = malloc(bytes);

	assert_non_null(to);
	return memcpy(to, data, bytes);
}

static void entry(uint64_t t_ns, uint32_t node, uint64_t weight)
{
	p->log[p->log_count++] = (struct log_entry){.t_ns = t_ns, .node = node, .weight = weight};
	p->self_weight[node] += weight;
	p->self_samples[node]++;
}

static int setup(void **state)
{
	assert_int_equal(profile_new(&p), 0);
	p->frames = copy(frames, sizeof(frames));
	p->frame_count = sizeof(frames) / sizeof(*frames);
	p->nodes = copy(nodes, sizeof(nodes));
	p->node_count = NODES;
	p->processes = calloc(1, sizeof(*p->processes));
	p->threads = calloc(1, sizeof(*p->threads));
	p->process_count = p->thread_count = p->event_count = 1;
	p->self_weight = calloc(NODES, sizeof(*p->self_weight));
	p->self_samples = calloc(NODES, sizeof(*p->self_samples));
	p->log = calloc(16, sizeof(*p->log));
	return 0;
}

static int teardown(void **state)
{
	profile_unref(p);
	return 0;
}

/* Weight of the samples that end in a node of that frame. */
static uint64_t self_of(uint32_t frame, uint32_t parent_frame)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < p->node_count; i++)
		if (p->nodes[i].frame == frame &&
			p->nodes[p->nodes[i].parent].frame == parent_frame)
			sum += p->self_weight[i];
	return sum;
}

static struct jitsplit split_at_100(void)
{
	return (struct jitsplit){.frame = 2, .count = 3, .since_at = 0};
}

static void samples_go_with_their_time(void **state)
{
	struct jitsplit s = split_at_100();

	entry(500, 2, 1);
	entry(999, 3, 2);
	entry(1000, 2, 4);
	entry(1500, 4, 8); /* beside it */
	entry(2500, 3, 16);
	entry(2600, 2, 32);
	assert_int_equal(jitsplit_apply(p, &s, 1, since), 0);
	assert_int_equal(p->frame_count, 6);
	assert_int_equal(s.extra, 4);
	assert_int_equal(self_of(s.extra, 1), 1);
	assert_int_equal(self_of(s.extra + 1, 1), 4);
	assert_int_equal(self_of(2, 1), 32);
	assert_int_equal(self_of(3, s.extra), 2);
	assert_int_equal(self_of(3, s.extra + 1), 0);
	assert_int_equal(self_of(3, 2), 16);
	assert_int_equal(self_of(3, 1), 8);
	assert_int_equal(profile_check(p), 0);
	assert_int_equal(p->nodes[p->log[1].node].frame, 3);
	assert_int_equal(p->nodes[p->nodes[p->log[1].node].parent].frame, s.extra);
}

static void samples_older_than_the_log_go_with_its_beginning(void **state)
{
	struct jitsplit s = split_at_100();

	entry(2500, 2, 16);
	p->self_weight[2] += 100;
	p->self_samples[2] += 10;
	p->ledger.log_from_ns = 1500;
	assert_int_equal(jitsplit_apply(p, &s, 1, since), 0);
	assert_int_equal(self_of(2, 1), 16);
	assert_int_equal(self_of(s.extra + 1, 1), 100);
	assert_int_equal(self_of(s.extra, 1), 0);
	assert_int_equal(profile_check(p), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(samples_go_with_their_time),
		TEST(samples_older_than_the_log_go_with_its_beginning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
