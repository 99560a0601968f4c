/* Profiles made by hand, for tests of what reads them. Allocations that fail end the test. */
#ifndef PFL_TESTS_PROFILE_SAMPLES_H
#define PFL_TESTS_PROFILE_SAMPLES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "daemon/tree/profile.h"

#define SAMPLE_EVENT "cpu-clock"
#define SAMPLE_START 1000000000ull /* monotonic */
#define SAMPLE_WALL  1700000000000000000ull

struct sample_builder {
	struct profile *p;
	struct profile_name *names; /* in the order of frames, until sample_end() */
	uint32_t *name_counts;      /* by frame */
	uint32_t name_count;
	bool any_name;
};

__attribute__((unused)) static void *sample_more(void *array, uint32_t count, size_t each)
{
	/* Doubles at each power of two: nothing else says how much is there. */
	if ((count & (count - 1)) == 0)
		array = realloc(array, (count ? count * 2 : 1) * each);
	if (!array)
		abort();
	return array;
}

__attribute__((unused)) static uint32_t sample_text(struct sample_builder *b, const char *text)
{
	int64_t off = profile_add_text(b->p, text, strlen(text));

	if (off < 0)
		abort();
	return (uint32_t)off;
}

/* A frame of its own with count names, innermost first, all in source.c, line by line from 10. */
__attribute__((unused)) static uint32_t sample_frame(struct sample_builder *b, enum frame_kind kind,
	uint32_t module, uint64_t addr, const char *const *names, uint32_t count)
{
	struct profile *p = b->p;
	uint32_t id = p->frame_count;

	p->frames = sample_more(p->frames, id, sizeof(*p->frames));
	b->name_counts = sample_more(b->name_counts, id, sizeof(*b->name_counts));
	p->frames[id] =
		(struct profile_frame){.addr = addr, .module = module, .kind = (uint8_t)kind};
	b->name_counts[id] = count;
	for (uint32_t i = 0; i < count; i++) {
		b->names = sample_more(b->names, b->name_count, sizeof(*b->names));
		b->names[b->name_count++] = (struct profile_name){
			.name = sample_text(b, names[i]),
			.file = sample_text(b, "/src/source.c"),
			.line = 10 + i + (uint32_t)(addr % 1000),
			.inlined = i + 1 < count,
		};
	}
	b->any_name |= count > 0;
	p->frame_count++;
	return id;
}

/* A node of its own, even when there is one like it. */
__attribute__((unused)) static uint32_t sample_node(
	struct sample_builder *b, uint32_t parent, uint32_t frame)
{
	struct profile *p = b->p;
	uint32_t id = p->node_count++;
	size_t cells = (size_t)p->event_count;

	p->nodes = sample_more(p->nodes, id, sizeof(*p->nodes));
	p->nodes[id] = (struct profile_node){.parent = parent, .frame = frame};
	/* [node * events + event] until sample_end() */
	p->self_weight = sample_more(p->self_weight, id, cells * sizeof(*p->self_weight));
	p->self_samples = sample_more(p->self_samples, id, cells * sizeof(*p->self_samples));
	memset(p->self_weight + id * cells, 0, cells * sizeof(*p->self_weight));
	memset(p->self_samples + id * cells, 0, cells * sizeof(*p->self_samples));
	return id;
}

/* events: how many; the first is the clock. */
__attribute__((unused)) static void sample_begin(struct sample_builder *b, uint32_t events)
{
	*b = (struct sample_builder){0};
	if (profile_new(&b->p) < 0)
		abort();
	b->p->event_count = events;
	for (uint32_t i = 0; i < events; i++) {
		char name[32] = SAMPLE_EVENT;

		if (i > 0)
			snprintf(name, sizeof(name), "event-%u", i);
		b->p->events[i].name = sample_text(b, name);
		b->p->events[i].is_clock = i == 0;
	}
	b->p->meta = (struct profile_meta){
		.session_id = 7,
		.name = sample_text(b, "morning"),
		.target = sample_text(b, "pid 42 (app)"),
		.target_json = sample_text(b, "{\"pid\": 42}"),
		.options_json = sample_text(b, "{}"),
		.state = sample_text(b, "stopped"),
		.ended_by = sample_text(b, "request"),
		.freq_hz = 99,
		.started_wall_ns = SAMPLE_WALL,
		.ended_wall_ns = SAMPLE_WALL + 60000000000u,
		.started_ns = SAMPLE_START,
		.taken_ns = SAMPLE_START + 60000000000u,
		.owner = 1000,
	};
	sample_node(b, 0, sample_frame(b, FRAME_ROOT, 0, 0, NULL, 0));
}

__attribute__((unused)) static uint32_t sample_module(struct sample_builder *b, const char *path)
{
	struct profile *p = b->p;

	p->modules = sample_more(p->modules, p->module_count, sizeof(*p->modules));
	p->modules[p->module_count] = (struct profile_module){
		.path = sample_text(b, path),
		.build_id = sample_text(b, "00ff00ff"),
		.bias = 0x1000,
	};
	return p->module_count++;
}

/* The process's node. */
__attribute__((unused)) static uint32_t sample_process(
	struct sample_builder *b, pid_t pid, const char *comm)
{
	struct profile *p = b->p;
	uint32_t id = p->process_count++;

	p->processes = sample_more(p->processes, id, sizeof(*p->processes));
	p->processes[id] = (struct profile_process){
		.pid = pid,
		.start_ticks = 5000 + id,
		.comm = sample_text(b, comm),
		.command = sample_text(b, "/srv/prog --of \"it\""),
		.cgroup = sample_text(b, "/system.slice/it.service"),
	};
	return sample_node(b, 0, sample_frame(b, FRAME_PROCESS, 0, id, NULL, 0));
}

__attribute__((unused)) static uint32_t sample_thread(
	struct sample_builder *b, pid_t tid, uint32_t process, const char *comm)
{
	struct profile *p = b->p;

	p->threads = sample_more(p->threads, p->thread_count, sizeof(*p->threads));
	p->threads[p->thread_count] = (struct profile_thread){
		.tid = tid,
		.process = process,
		.comm = sample_text(b, comm),
	};
	return p->thread_count++;
}

/* A chain of named functions of one module below node, as "main;work;hot": children that are there
 * already are used again. Answers the leaf. */
__attribute__((unused)) static uint32_t sample_chain(
	struct sample_builder *b, uint32_t node, uint32_t module, const char *chain)
{
	char *copy = strdup(chain), *rest = copy, *name;

	if (!copy)
		abort();
	while ((name = strsep(&rest, ";"))) {
		const char *one = name;
		uint32_t frame = 0, at, next = 0;

		for (at = 0; at < b->name_count; at++) {
			if (strcmp(profile_text(b->p, b->names[at].name), name) == 0)
				break;
		}
		/* The frame that has name number at. */
		for (uint32_t sum = 0; at < b->name_count; frame++) {
			sum += b->name_counts[frame];
			if (sum > at)
				break;
		}
		if (at == b->name_count)
			frame = sample_frame(
				b, FRAME_USER, module, 0x1000 + 16 * b->p->frame_count, &one, 1);
		for (uint32_t i = node + 1; i < b->p->node_count && !next; i++) {
			if (b->p->nodes[i].parent == node && b->p->nodes[i].frame == frame)
				next = i;
		}
		node = next ? next : sample_node(b, node, frame);
	}
	free(copy);
	return node;
}

/* Samples whose leaf is the node, in tree and ledger. */
__attribute__((unused)) static void sample_add(
	struct sample_builder *b, uint32_t node, uint32_t event, uint64_t samples, uint64_t weight)
{
	b->p->self_samples[node * b->p->event_count + event] += samples;
	b->p->self_weight[node * b->p->event_count + event] += weight;
	b->p->ledger.samples += samples;
	b->p->ledger.unwind_ends[0] += samples;
}

/* One sample, in tree, ledger and log. */
__attribute__((unused)) static void sample_log(struct sample_builder *b, uint32_t node,
	uint32_t thread, uint32_t event, uint64_t weight, uint64_t t_ns)
{
	struct profile *p = b->p;

	sample_add(b, node, event, 1, weight);
	p->log = sample_more(p->log, p->log_count, sizeof(*p->log));
	p->log[p->log_count++] = (struct log_entry){
		.t_ns = t_ns,
		.weight = weight,
		.cpu = 1,
		.event = event,
		.node = node,
		.thread = thread,
	};
}

/* The profile is the caller's. It passes profile_check(). */
__attribute__((unused)) static struct profile *sample_end(struct sample_builder *b)
{
	struct profile *p = b->p;
	size_t cells = (size_t)p->event_count * p->node_count;
	uint64_t *weight = calloc(cells + 1, sizeof(*weight));
	uint64_t *samples = calloc(cells + 1, sizeof(*samples));
	uint32_t *starts = calloc(p->frame_count + (size_t)1, sizeof(*starts));

	if (!weight || !samples || !starts)
		abort();
	for (size_t i = 0; i < cells; i++) {
		size_t to = i % p->event_count * p->node_count + i / p->event_count;

		weight[to] = p->self_weight[i];
		samples[to] = p->self_samples[i];
	}
	free(p->self_weight);
	free(p->self_samples);
	p->self_weight = weight;
	p->self_samples = samples;
	for (uint32_t i = 0; i < p->frame_count; i++)
		starts[i + 1] = starts[i] + b->name_counts[i];
	free(b->name_counts);
	if (b->any_name) {
		p->name_starts = starts;
		p->name_frames = b->names;
	} else {
		free(starts);
	}
	p->ledger.frames_total = p->frame_count;
	*b = (struct sample_builder){0};
	if (profile_check(p) < 0)
		abort();
	return p;
}

/* app (42): main;work;hot 60, main;work;cold 20, main 10; of libm: main;sin 10. Weight: 10 ms each.
 */
__attribute__((unused)) static struct profile *sample_small(void)
{
	struct sample_builder b;
	uint32_t app, libm, process;

	sample_begin(&b, 1);
	app = sample_module(&b, "/usr/bin/app");
	libm = sample_module(&b, "/lib/libm.so.6");
	process = sample_process(&b, 42, "app");
	sample_add(&b, sample_chain(&b, process, app, "main;work;hot"), 0, 60, 600000000);
	sample_add(&b, sample_chain(&b, process, app, "main;work;cold"), 0, 20, 200000000);
	sample_add(&b, sample_chain(&b, process, app, "main"), 0, 10, 100000000);
	sample_add(&b, sample_chain(&b, sample_chain(&b, process, app, "main"), libm, "sin"), 0, 10,
		100000000);
	return sample_end(&b);
}

#endif
