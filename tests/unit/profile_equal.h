/* Two profiles hold the same, strings by offset and all. Module handles do not count. */
#ifndef PFL_TESTS_PROFILE_EQUAL_H
#define PFL_TESTS_PROFILE_EQUAL_H

#include "daemon/tree/profile.h"

#define ASSERT_SAME_ARRAY(a, b, field, count)                                           \
	do {                                                                            \
		assert_int_equal(!(a)->field, !(b)->field);                             \
		if ((a)->field && (count))                                              \
			assert_memory_equal(                                            \
				(a)->field, (b)->field, (count) * sizeof(*(a)->field)); \
	} while (0)

static void assert_same_meta(const struct profile_meta *a, const struct profile_meta *b)
{
	assert_int_equal(a->session_id, b->session_id);
	assert_int_equal(a->name, b->name);
	assert_int_equal(a->target, b->target);
	assert_int_equal(a->target_json, b->target_json);
	assert_int_equal(a->options_json, b->options_json);
	assert_int_equal(a->state, b->state);
	assert_int_equal(a->ended_by, b->ended_by);
	assert_int_equal(a->warnings, b->warnings);
	assert_int_equal(a->freq_hz, b->freq_hz);
	assert_int_equal(a->period, b->period);
	assert_int_equal(a->started_wall_ns, b->started_wall_ns);
	assert_int_equal(a->ended_wall_ns, b->ended_wall_ns);
	assert_int_equal(a->started_ns, b->started_ns);
	assert_int_equal(a->taken_ns, b->taken_ns);
	assert_int_equal(a->cost_cpu_ns, b->cost_cpu_ns);
	assert_int_equal(a->cost_bytes, b->cost_bytes);
	assert_int_equal(a->owner, b->owner);
}

static void assert_same_profile(const struct profile *a, const struct profile *b)
{
	size_t cells = (size_t)a->event_count * a->node_count;
	uint32_t names = a->name_starts ? a->name_starts[a->frame_count] : 0;

	assert_same_meta(&a->meta, &b->meta);
	assert_memory_equal(&a->ledger, &b->ledger, sizeof(a->ledger));
	assert_int_equal(a->event_count, b->event_count);
	for (uint32_t i = 0; i < a->event_count; i++) {
		assert_int_equal(a->events[i].name, b->events[i].name);
		assert_int_equal(a->events[i].is_clock, b->events[i].is_clock);
	}
	assert_int_equal(a->text_bytes, b->text_bytes);
	assert_memory_equal(a->text, b->text, a->text_bytes);
	assert_int_equal(a->module_count, b->module_count);
	for (uint32_t i = 0; i < a->module_count; i++) {
		assert_int_equal(a->modules[i].path, b->modules[i].path);
		assert_int_equal(a->modules[i].build_id, b->modules[i].build_id);
		assert_int_equal(a->modules[i].bias, b->modules[i].bias);
	}
	assert_int_equal(a->process_count, b->process_count);
	for (uint32_t i = 0; i < a->process_count; i++) {
		assert_int_equal(a->processes[i].pid, b->processes[i].pid);
		assert_int_equal(a->processes[i].start_ticks, b->processes[i].start_ticks);
		assert_int_equal(a->processes[i].comm, b->processes[i].comm);
		assert_int_equal(a->processes[i].command, b->processes[i].command);
		assert_int_equal(a->processes[i].cgroup, b->processes[i].cgroup);
		assert_int_equal(a->processes[i].container, b->processes[i].container);
	}
	assert_int_equal(a->thread_count, b->thread_count);
	assert_int_equal(a->frame_count, b->frame_count);
	assert_int_equal(a->node_count, b->node_count);
	assert_int_equal(a->log_count, b->log_count);
	if (a->thread_count)
		ASSERT_SAME_ARRAY(a, b, threads, a->thread_count);
	if (a->frame_count)
		ASSERT_SAME_ARRAY(a, b, frames, a->frame_count);
	if (a->node_count)
		ASSERT_SAME_ARRAY(a, b, nodes, a->node_count);
	if (cells) {
		ASSERT_SAME_ARRAY(a, b, self_weight, cells);
		ASSERT_SAME_ARRAY(a, b, self_samples, cells);
	}
	ASSERT_SAME_ARRAY(a, b, log, a->log_count);
	ASSERT_SAME_ARRAY(a, b, name_starts, a->frame_count + 1);
	if (names)
		ASSERT_SAME_ARRAY(a, b, name_frames, names);
}

#endif
