#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "daemon/store/format.h"
#include "daemon/store/layout.h"
#include "daemon/store/store.h"
#include "base/varint.h"

/* Every count is checked against the bytes that are left before room is made for it. A node takes
 * two bytes there and up to 136 here, hence a limit of its own; config.c's for a session is far
 * below. */
#define NODES_MAX 16000000u

static int unpack(const uint8_t *packed, uint64_t packed_bytes, uint64_t bytes, uint8_t **ret_data)
{
	AUTO(free_auto) uint8_t *data = NULL;
	size_t n;

	if (ZSTD_getFrameContentSize(packed, packed_bytes) != bytes)
		return -EBADMSG;
	data = malloc(bytes + !bytes);
	if (!data)
		return -ENOMEM;
	n = ZSTD_decompress(data, bytes, packed, packed_bytes);
	if (ZSTD_isError(n))
		return ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation ? -ENOMEM : -EBADMSG;
	if (n != bytes)
		return -EBADMSG;
	*ret_data = MOVE(data);
	return 0;
}

/* Room for count elements, zeroed; at least one, so that NULL always means no memory. */
static int room(void *ret_array, size_t count, size_t each)
{
	void *data = calloc(count + !count, each);

	if (!data)
		return -ENOMEM;
	*(void **)ret_array = data;
	return 0;
}

/* A string of the head becomes one of the profile. */
static int get_text(struct reading *r, struct profile *p, uint32_t *ret_off)
{
	uint64_t len = get_number(r);
	const char *text = get_bytes(r, len);
	int64_t off;

	*ret_off = 0;
	if (!text || len == 0)
		return 0;
	if (memchr(text, 0, len)) {
		r->bad = true;
		return 0;
	}
	off = profile_add_text(p, text, len);
	if (off < 0)
		return (int)off;
	*ret_off = (uint32_t)off;
	return 0;
}

static int get_meta(struct reading *r, struct profile *p)
{
	uint64_t numbers[META_NUMBERS] = {0};
	uint32_t texts[META_TEXTS] = {0};
	uint32_t count = get_count(r, 1);
	int e = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t x = get_number(r);

		if (i < META_NUMBERS)
			numbers[i] = x;
	}
	count = get_count(r, 1);
	for (uint32_t i = 0; e == 0 && i < count; i++) {
		uint32_t off;

		e = get_text(r, p, &off);
		if (i < META_TEXTS)
			texts[i] = off;
	}
	layout_to_meta(numbers, texts, &p->meta);
	return e;
}

static int get_head(struct reading *r, struct profile *p)
{
	uint64_t *ledger = (uint64_t *)&p->ledger;
	uint32_t count;
	int e = get_meta(r, p);

	count = get_count(r, 1);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t x = get_number(r);

		if (i < LEDGER_NUMBERS)
			ledger[i] = x;
	}
	p->event_count = get_count(r, 2);
	if (p->event_count > PROFILE_EVENTS_MAX) {
		p->event_count = 0;
		r->bad = true;
	}
	for (uint32_t i = 0; e == 0 && i < p->event_count; i++) {
		e = get_text(r, p, &p->events[i].name);
		p->events[i].is_clock = get_number(r) != 0;
	}
	return e < 0 ? e : r->bad ? -EBADMSG : 0;
}

/* The profile's own strings take the place of the head's, and offsets are again what they were. */
static int get_texts(struct reading *r, struct profile *p)
{
	uint32_t bytes = get_count(r, 1);
	const char *text = get_bytes(r, bytes);
	uint64_t numbers[META_NUMBERS];
	uint32_t texts[META_TEXTS];
	uint32_t count;

	free(p->text);
	p->text = NULL;
	p->text_bytes = 0;
	if (text && bytes > 0) {
		p->text = malloc(bytes);
		if (!p->text)
			return -ENOMEM;
		memcpy(p->text, text, bytes);
		p->text_bytes = bytes;
	}
	layout_from_meta(&p->meta, numbers, texts);
	memset(texts, 0, sizeof(texts));
	count = get_count(r, 1);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t off = get_u32(r);

		if (i < META_TEXTS)
			texts[i] = off;
	}
	layout_to_meta(numbers, texts, &p->meta);
	for (uint32_t i = 0; i < p->event_count; i++)
		p->events[i].name = get_u32(r);
	return 0;
}

static pid_t get_id(struct reading *r)
{
	int64_t id = get_signed(r);

	if (id < INT32_MIN || id > INT32_MAX) {
		r->bad = true;
		return 0;
	}
	return (pid_t)id;
}

static int get_tables(struct reading *r, struct profile *p)
{
	p->module_count = get_count(r, 2);
	if (room(&p->modules, p->module_count, sizeof(*p->modules)) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->module_count; i++) {
		p->modules[i].path = get_u32(r);
		p->modules[i].build_id = get_u32(r);
	}
	p->process_count = get_count(r, 3);
	if (room(&p->processes, p->process_count, sizeof(*p->processes)) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->process_count; i++) {
		p->processes[i].pid = get_id(r);
		p->processes[i].start_ticks = get_number(r);
		p->processes[i].comm = get_u32(r);
	}
	p->thread_count = get_count(r, 3);
	if (room(&p->threads, p->thread_count, sizeof(*p->threads)) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->thread_count; i++) {
		p->threads[i].tid = get_id(r);
		p->threads[i].process = get_u32(r);
		p->threads[i].comm = get_u32(r);
	}
	return 0;
}

static int get_tree(struct reading *r, struct profile *p)
{
	p->frame_count = get_count(r, 3);
	if (room(&p->frames, p->frame_count, sizeof(*p->frames)) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->frame_count; i++) {
		uint32_t kind = get_u32(r);

		r->bad |= kind >= FRAME_KINDS;
		p->frames[i].kind = (uint8_t)kind;
		p->frames[i].module = get_u32(r);
		p->frames[i].addr = get_number(r);
	}
	p->node_count = get_count(r, 2);
	if (p->node_count > NODES_MAX) {
		p->node_count = 0;
		r->bad = true;
	}
	if (room(&p->nodes, p->node_count, sizeof(*p->nodes)) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->node_count; i++) {
		uint32_t back = get_u32(r);

		r->bad |= back > i;
		p->nodes[i].parent = back > i ? 0 : i - back;
		p->nodes[i].frame = get_u32(r);
	}
	return 0;
}

static int get_weights(struct reading *r, struct profile *p)
{
	size_t cells = (size_t)p->event_count * p->node_count;

	if (room(&p->self_weight, cells, sizeof(*p->self_weight)) < 0 ||
		room(&p->self_samples, cells, sizeof(*p->self_samples)) < 0)
		return -ENOMEM;
	for (size_t e = 0; e < p->event_count; e++) {
		uint32_t count = get_count(r, 3);
		uint64_t node = 0;

		for (uint32_t i = 0; i < count; i++) {
			node += get_u32(r);
			if (node >= p->node_count) {
				r->bad = true;
				return 0;
			}
			p->self_weight[e * p->node_count + node] = get_number(r);
			p->self_samples[e * p->node_count + node] = get_number(r);
		}
	}
	return 0;
}

static int get_log(struct reading *r, struct profile *p)
{
	bool there = get_number(r) != 0;
	uint64_t t_ns = 0;

	p->log_count = get_count(r, 6);
	if (!there) {
		r->bad |= p->log_count > 0;
		p->log_count = 0;
		return 0;
	}
	if (room(&p->log, p->log_count, sizeof(*p->log)) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->log_count; i++) {
		struct log_entry *e = &p->log[i];
		uint64_t weight, cpu, event;

		e->t_ns = t_ns += (uint64_t)get_signed(r);
		e->weight = weight = get_number(r);
		e->cpu = cpu = get_number(r);
		e->event = event = get_number(r);
		e->node = get_u32(r);
		e->thread = get_u32(r);
		r->bad |= e->weight != weight || e->cpu != cpu || e->event != event;
	}
	return 0;
}

static int get_names(struct reading *r, struct profile *p)
{
	uint64_t count = 0;

	if (get_number(r) == 0)
		return 0;
	if (p->frame_count > (size_t)(r->end - r->at)) {
		r->bad = true;
		return 0;
	}
	if (room(&p->name_starts, p->frame_count + (size_t)1, sizeof(*p->name_starts)) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->frame_count; i++) {
		count += get_u32(r);
		r->bad |= count > UINT32_MAX;
		p->name_starts[i + 1] = (uint32_t)count;
	}
	if (r->bad || count * 4 > (size_t)(r->end - r->at)) {
		r->bad = true;
		return 0;
	}
	if (room(&p->name_frames, count, sizeof(*p->name_frames)) < 0)
		return -ENOMEM;
	for (uint64_t i = 0; i < count; i++) {
		struct profile_name *n = &p->name_frames[i];

		n->name = get_u32(r);
		n->file = get_u32(r);
		n->line = get_u32(r);
		n->inlined = get_number(r) != 0;
	}
	return 0;
}

/* Files of before have none. */
static void get_biases(struct reading *r, struct profile *p)
{
	if (r->at == r->end)
		return;
	for (uint32_t i = 0; i < p->module_count; i++)
		p->modules[i].bias = get_number(r);
}

static void get_origins(struct reading *r, struct profile *p)
{
	if (r->at == r->end)
		return;
	for (uint32_t i = 0; i < p->process_count; i++) {
		p->processes[i].command = get_u32(r);
		p->processes[i].cgroup = get_u32(r);
		p->processes[i].container = get_u32(r);
	}
}

static int get_body(struct reading *r, struct profile *p)
{
	int e = get_texts(r, p);

	if (e == 0)
		e = get_tables(r, p);
	if (e == 0)
		e = get_tree(r, p);
	if (e == 0)
		e = get_weights(r, p);
	if (e == 0)
		e = get_log(r, p);
	if (e == 0)
		e = get_names(r, p);
	if (e == 0)
		get_biases(r, p);
	if (e == 0)
		get_origins(r, p);
	if (e == 0 && (r->bad || r->at != r->end))
		e = -EBADMSG;
	return e == 0 ? profile_check(p) : e;
}

static int decode_head(const uint8_t *at, const struct format_header *h, struct profile *p)
{
	AUTO(free_auto) uint8_t *data = NULL;
	struct reading r = {0};
	int e = unpack(at, h->head_packed, h->head_bytes, &data);

	if (e < 0)
		return e;
	r = (struct reading){.at = data, .end = data + h->head_bytes};
	return get_head(&r, p);
}

static int decode_body(const uint8_t *at, const struct format_header *h, struct profile *p)
{
	AUTO(free_auto) uint8_t *data = NULL;
	struct reading r = {.at = at, .end = at + h->body_bytes};
	int e;

	if (h->flags & FORMAT_BODY_PLAIN) {
		if (layout_sum(at, h->body_bytes) != h->body_sum)
			return -EBADMSG;
		return get_body(&r, p);
	}
	e = unpack(at, h->body_packed, h->body_bytes, &data);
	if (e < 0)
		return e;
	r = (struct reading){.at = data, .end = data + h->body_bytes};
	return get_body(&r, p);
}

int store_decode(const void *data, size_t len, bool head_only, struct profile **ret_profile)
{
	AUTO(profile_unref_auto) struct profile *p = NULL;
	const uint8_t *head = (const uint8_t *)data + FORMAT_HEADER_BYTES;
	struct format_header h;
	int r = format_read_header(data, len, &h);

	if (r < 0)
		return r;
	if (head_only ? len < FORMAT_HEADER_BYTES + h.head_packed : len != format_file_bytes(&h))
		return -EBADMSG;
	r = profile_new(&p);
	if (r == 0)
		r = decode_head(head, &h, p);
	if (r == 0 && !head_only)
		r = decode_body(head + h.head_packed, &h, p);
	if (r < 0)
		return r;
	*ret_profile = MOVE(p);
	return 0;
}
