#include "daemon/tree/calltree.h"

#include <errno.h>
#include <string.h>

#include "base/map.h"
#include "daemon/tree/bulk.h"
#include "daemon/tree/callnodes.h"

#define DEFAULT_NODES  2000000u
#define DEFAULT_FRAMES 1000000u

static int more_nodes(struct calltree *t)
{
	uint32_t cap = tables_next_cap(t->node_cap);
	int r;

	if (t->node_count < t->node_cap)
		return 0;
	/* Where a later one fails, the earlier ones are larger than need be, and that is all. */
	r = tables_resize((void **)&t->nodes, cap, sizeof(*t->nodes));
	if (r == 0)
		r = tables_resize((void **)&t->kin, cap, sizeof(*t->kin));
	for (unsigned e = 0; r == 0 && e < t->options.event_count; e++) {
		r = tables_resize((void **)&t->weight[e], cap, sizeof(uint64_t));
		if (r == 0)
			r = tables_resize((void **)&t->samples[e], cap, sizeof(uint64_t));
	}
	if (r == 0)
		t->node_cap = cap;
	return r;
}

static int new_node(struct calltree *t, uint32_t parent, uint32_t frame, uint32_t *ret_node)
{
	int r = more_nodes(t);

	if (r < 0)
		return r;
	t->nodes[t->node_count] = (struct profile_node){.parent = parent, .frame = frame};
	t->kin[t->node_count] = (struct kin){0};
	for (unsigned e = 0; e < t->options.event_count; e++)
		t->weight[e][t->node_count] = t->samples[e][t->node_count] = 0;
	*ret_node = t->node_count++;
	return 0;
}

int calltree_new(const struct calltree_options *options, struct calltree **ret_tree)
{
	AUTO(calltree_free_auto) struct calltree *t = NULL;
	uint32_t node;
	int r;

	if (options->event_count == 0 || options->event_count > PROFILE_EVENTS_MAX)
		return -EINVAL;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->options = *options;
	if (!t->options.max_nodes)
		t->options.max_nodes = DEFAULT_NODES;
	if (!t->options.max_frames)
		t->options.max_frames = DEFAULT_FRAMES;
	if (t->options.max_frames <= TABLES_DROPPED_FRAME)
		t->options.max_frames = TABLES_DROPPED_FRAME + 1;
	t->seed = hash_u64((uintptr_t)t);
	r = tables_init(&t->tables, t->options.max_frames, t->seed);
	if (r == 0)
		r = samplelog_init(&t->log, options->log_entries);
	if (r == 0)
		r = new_node(t, 0, TABLES_ROOT_FRAME, &node);
	if (r == 0)
		r = new_node(t, ROOT_NODE, TABLES_DROPPED_FRAME, &node);
	if (r < 0)
		return r;
	*ret_tree = MOVE(t);
	return 0;
}

void calltree_free(struct calltree *t)
{
	if (!t)
		return;
	for (unsigned e = 0; e < PROFILE_EVENTS_MAX; e++) {
		free(t->weight[e]);
		free(t->samples[e]);
	}
	tables_done(&t->tables);
	index_done(&t->child_index);
	index_done(&t->stack_index);
	samplelog_done(&t->log);
	free(t->places);
	free(t->nodes);
	free(t->kin);
	free(t);
}

int64_t calltree_text(struct calltree *t, const char *text, size_t len)
{
	return texts_add(t->tables.texts, text, len);
}

void calltree_set_release(struct calltree *t, void (*release)(void *), void *(*retain)(void *))
{
	t->tables.release = release;
	t->tables.retain = retain;
}

int64_t calltree_module(struct calltree *t, uint64_t key, const char *path,
	const char *build_id_hex, void *handle, bool *ret_new)
{
	return tables_module(&t->tables, key, path, build_id_hex, handle, ret_new);
}

void calltree_module_bias(struct calltree *t, uint32_t module, uint64_t bias)
{
	if (module < t->tables.module_count)
		t->tables.modules[module].bias = bias;
}

int64_t calltree_process(struct calltree *t, pid_t pid, uint64_t start_ticks)
{
	return tables_process(&t->tables, pid, start_ticks);
}

int64_t calltree_thread(struct calltree *t, pid_t tid, uint32_t process)
{
	return tables_thread(&t->tables, tid, process);
}

void calltree_process_comm(struct calltree *t, uint32_t process, const char *comm)
{
	tables_process_comm(&t->tables, process, comm);
}

void calltree_process_origin(struct calltree *t, uint32_t process, const char *command,
	const char *cgroup, const char *container)
{
	tables_process_origin(&t->tables, process, command, cgroup, container);
}

void calltree_thread_comm(struct calltree *t, uint32_t thread, const char *comm)
{
	tables_thread_comm(&t->tables, thread, comm);
}

uint32_t calltree_frame(struct calltree *t, enum frame_kind kind, uint32_t module, uint64_t addr)
{
	return tables_frame(&t->tables, kind, module, addr);
}

uint32_t calltree_special(struct calltree *t, const char *text)
{
	return tables_special(&t->tables, text);
}

uint32_t calltree_find_child(const struct calltree *t, uint32_t parent, uint32_t frame)
{
	uint64_t hash;
	size_t cursor;
	uint32_t id;

	if (t->kin[parent].children <= FEW) {
		id = t->kin[parent].first;
		while (id && t->nodes[id].frame != frame)
			id = t->kin[id].next;
		return id;
	}
	cursor = hash = calltree_hash_child(t, parent, frame);
	while ((id = index_next(&t->child_index, hash, &cursor)) != INDEX_NONE) {
		if (t->nodes[id].parent == parent && t->nodes[id].frame == frame)
			return id;
	}
	return 0;
}

static void index_child(struct calltree *t, uint32_t id)
{
	const struct profile_node *n = &t->nodes[id];

	index_put(&t->child_index, calltree_hash_child(t, n->parent, n->frame), id);
}

void calltree_link_child(struct calltree *t, uint32_t id)
{
	struct kin *k = &t->kin[t->nodes[id].parent];

	/* The one that is the first of many takes those before it into the index along. */
	for (uint32_t c = k->first; k->children == FEW && c; c = t->kin[c].next)
		index_child(t, c);
	if (k->children >= FEW)
		index_child(t, id);
	t->kin[id].next = k->first;
	k->first = id;
	k->children++;
}

static int add_child(struct calltree *t, uint32_t parent, uint32_t frame, uint32_t *ret_child)
{
	uint32_t children = t->kin[parent].children;
	int r = children < FEW ? 0 : index_reserve(&t->child_index, children == FEW ? FEW + 1 : 1);

	if (r == 0)
		r = new_node(t, parent, frame, ret_child);
	if (r == 0)
		calltree_link_child(t, *ret_child);
	return r;
}

/* The child of parent with that frame, made if there is none and limit allows. */
static int child_of(
	struct calltree *t, uint32_t parent, uint32_t frame, uint32_t limit, uint32_t *ret_child)
{
	uint32_t id = calltree_find_child(t, parent, frame);

	if (id) {
		*ret_child = id;
		return 0;
	}
	return t->node_count < limit ? add_child(t, parent, frame, ret_child) : -ENOSPC;
}

int calltree_place(struct calltree *t, uint32_t process, struct process_place **ret_place)
{
	uint32_t cap = t->place_count;

	while (cap <= process)
		cap = tables_next_cap(cap);
	if (cap > t->place_count) {
		if (tables_resize((void **)&t->places, cap, sizeof(*t->places)) < 0)
			return -ENOMEM;
		memset(t->places + t->place_count, 0, (cap - t->place_count) * sizeof(*t->places));
		t->place_count = cap;
	}
	*ret_place = &t->places[process];
	return 0;
}

static int node_of_process(struct calltree *t, uint32_t process, struct process_place **ret_place)
{
	struct profile_frame f = {.kind = FRAME_PROCESS, .addr = process};
	uint32_t frame;
	int r = calltree_place(t, process, ret_place);

	/* Not limited: there are few, and each is what its dropped samples hang below. */
	if (r == 0 && !(*ret_place)->node) {
		r = tables_new_frame(&t->tables, &f, &frame);
		if (r == 0)
			r = new_node(t, ROOT_NODE, frame, &(*ret_place)->node);
	}
	return r;
}

static uint32_t dropped_node_of(struct calltree *t, uint32_t process)
{
	struct process_place *place;

	if (process >= t->tables.process_count || node_of_process(t, process, &place) < 0)
		return ROOT_DROPPED_NODE;
	if (!place->dropped &&
		child_of(t, place->node, TABLES_DROPPED_FRAME, UINT32_MAX, &place->dropped) < 0)
		return ROOT_DROPPED_NODE;
	return place->dropped;
}

static uint64_t hash_stack(
	const struct calltree *t, uint32_t process, const uint32_t *frames, uint32_t count)
{
	uint64_t h = t->seed ^ process;

	for (uint32_t i = 0; i < count; i++) {
		h = (h ^ frames[i]) * 0xa0761d6478bd642fu;
		h ^= h >> 32;
	}
	return hash_u64(h ^ count);
}

/* The leaf of a chain seen before, or INDEX_NONE. The tree itself says whether it is that chain. */
static uint32_t find_stack(const struct calltree *t, uint64_t hash, uint32_t top,
	const uint32_t *frames, uint32_t count)
{
	size_t cursor = hash;
	uint32_t leaf;

	while ((leaf = index_next(&t->stack_index, hash, &cursor)) != INDEX_NONE) {
		uint32_t node = leaf;
		uint32_t left = count;

		while (left > 0 && t->nodes[node].frame == frames[left - 1]) {
			node = t->nodes[node].parent;
			left--;
		}
		if (left == 0 && node == top)
			return leaf;
	}
	return INDEX_NONE;
}

int calltree_child(struct calltree *t, uint32_t node, uint32_t frame, uint32_t *ret_child)
{
	/* The root is none, and one that did not fit would make stacks look alike. */
	if (frame <= TABLES_DROPPED_FRAME || frame >= t->tables.frame_count)
		return -ENOSPC;
	return child_of(t, node, frame, t->options.max_nodes, ret_child);
}

static int grow_stack(struct calltree *t, uint64_t hash, uint32_t top, const uint32_t *frames,
	uint32_t count, uint32_t *ret_leaf)
{
	uint32_t node = top;
	int r = index_room(&t->stack_index);

	for (uint32_t i = 0; r == 0 && i < count; i++)
		r = calltree_child(t, node, frames[i], &node);
	if (r < 0)
		return r;
	index_put(&t->stack_index, hash, node);
	*ret_leaf = node;
	return 0;
}

static int leaf_of(struct calltree *t, uint32_t process, const uint32_t *frames, uint32_t count,
	uint32_t *ret_leaf)
{
	struct process_place *place;
	uint64_t hash;
	int r;

	if (process >= t->tables.process_count)
		return -ENOSPC;
	r = node_of_process(t, process, &place);
	if (r < 0)
		return r;
	hash = hash_stack(t, process, frames, count);
	*ret_leaf = find_stack(t, hash, place->node, frames, count);
	return *ret_leaf != INDEX_NONE ? 0
				       : grow_stack(t, hash, place->node, frames, count, ret_leaf);
}

int calltree_add(struct calltree *t, uint32_t process, uint32_t thread, const uint32_t *frames,
	uint32_t count, unsigned event, uint64_t weight, uint64_t t_ns, unsigned cpu)
{
	static const uint64_t most =
		((uint64_t)1 << 48) - 1; /* of log_entry; 3.2 days of a clock */
	uint32_t leaf = INDEX_NONE;
	int r;

	if (event >= t->options.event_count)
		return -EINVAL;
	if (weight > most)
		weight = most;
	r = leaf_of(t, process, frames, count, &leaf);
	if (r < 0) {
		leaf = dropped_node_of(t, process);
		t->dropped++;
	}
	t->weight[event][leaf] += weight;
	t->samples[event][leaf]++;
	t->sample_count++;
	if (thread < t->tables.thread_count) {
		struct log_entry e = {
			.t_ns = t_ns,
			.weight = weight,
			.cpu = cpu & 0xfff,
			.event = event & 0xf,
			.node = leaf,
			.thread = thread,
		};

		samplelog_add(&t->log, &e);
	}
	return r;
}

int calltree_top(struct calltree *t, uint32_t process, uint32_t *ret_node)
{
	struct process_place *place;
	int r = process < t->tables.process_count ? node_of_process(t, process, &place) : -EINVAL;

	if (r == 0)
		*ret_node = place->node;
	return r;
}

uint32_t calltree_dropped(struct calltree *t, uint32_t process)
{
	return dropped_node_of(t, process);
}

void calltree_book(
	struct calltree *t, uint32_t node, unsigned event, uint64_t samples, uint64_t weight)
{
	t->weight[event][node] += weight;
	t->samples[event][node] += samples;
	t->sample_count += samples;
	if (t->nodes[node].frame == TABLES_DROPPED_FRAME)
		t->dropped += samples;
}

int calltree_limit(struct calltree *t, uint32_t max_nodes, uint32_t log_entries)
{
	t->options.max_nodes = max_nodes;
	return log_entries == t->log.cap ? 0 : samplelog_resize(&t->log, log_entries);
}

void calltree_get_stats(const struct calltree *t, struct calltree_stats *ret_stats)
{
	size_t node_bytes =
		sizeof(*t->nodes) + sizeof(*t->kin) + t->options.event_count * 2 * sizeof(uint64_t);

	*ret_stats = (struct calltree_stats){
		.processes = t->tables.process_count,
		.nodes = t->node_count,
		.frames = t->tables.frame_count,
		.samples = t->sample_count,
		.dropped = t->dropped,
		.log_dropped = t->log.dropped,
		.log_count = t->log.count,
		.log_from_ns = t->log.from_ns,
		.tasks_merged = t->tables.tasks_merged,
	};
	ret_stats->bytes = sizeof(*t) + tables_bytes(&t->tables) +
		(size_t)t->node_count * node_bytes + t->place_count * sizeof(*t->places) +
		index_bytes(&t->child_index) + index_bytes(&t->stack_index) +
		samplelog_bytes(&t->log);
}

static int copy_weights(const struct calltree *t, struct profile *p)
{
	size_t cells = (size_t)t->options.event_count * t->node_count;

	p->self_weight = bulk_alloc(cells * sizeof(*p->self_weight));
	p->self_samples = bulk_alloc(cells * sizeof(*p->self_samples));
	if (!p->self_weight || !p->self_samples)
		return -ENOMEM;
	for (size_t e = 0; e < t->options.event_count; e++) {
		memcpy(p->self_weight + e * t->node_count, t->weight[e],
			t->node_count * sizeof(uint64_t));
		memcpy(p->self_samples + e * t->node_count, t->samples[e],
			t->node_count * sizeof(uint64_t));
	}
	return 0;
}

int calltree_snapshot(const struct calltree *t, bool with_log, struct profile **ret_profile)
{
	AUTO(profile_unref_auto) struct profile *p = NULL;
	int r = profile_new(&p);

	if (r == 0)
		r = tables_copy(&t->tables, p);
	if (r == 0)
		r = tables_copy_array(&p->nodes, t->nodes, t->node_count, sizeof(*t->nodes));
	if (r == 0)
		r = copy_weights(t, p);
	if (r == 0 && with_log)
		r = samplelog_copy(&t->log, &p->log, &p->log_count);
	if (r < 0)
		return r;
	p->node_count = t->node_count;
	p->event_count = t->options.event_count;
	p->ledger.samples = t->sample_count;
	p->ledger.dropped = t->dropped;
	p->ledger.log_dropped = t->log.dropped;
	p->ledger.log_from_ns = t->log.from_ns;
	p->ledger.frames_total = t->tables.frame_count;
	*ret_profile = MOVE(p);
	return 0;
}
