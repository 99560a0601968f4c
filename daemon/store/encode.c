#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/buf.h"
#include "daemon/store/format.h"
#include "daemon/store/layout.h"
#include "daemon/store/store.h"
#include "base/varint.h"

#define LEVEL 3

static void put_text(struct buf *into, const char *text)
{
	size_t len = strlen(text);

	put_number(into, len);
	buf_append(into, text, len);
}

static void put_head(const struct profile *p, struct buf *into)
{
	uint64_t numbers[META_NUMBERS];
	uint32_t texts[META_TEXTS];
	const uint64_t *ledger = (const uint64_t *)&p->ledger;

	layout_from_meta(&p->meta, numbers, texts);
	put_number(into, META_NUMBERS);
	for (unsigned i = 0; i < META_NUMBERS; i++)
		put_number(into, numbers[i]);
	put_number(into, META_TEXTS);
	for (unsigned i = 0; i < META_TEXTS; i++)
		put_text(into, profile_text(p, texts[i]));
	put_number(into, LEDGER_NUMBERS);
	for (unsigned i = 0; i < LEDGER_NUMBERS; i++)
		put_number(into, ledger[i]);
	put_number(into, p->event_count);
	for (uint32_t i = 0; i < p->event_count; i++) {
		put_text(into, profile_text(p, p->events[i].name));
		put_number(into, p->events[i].is_clock);
	}
}

static void put_texts(const struct profile *p, struct buf *into)
{
	uint64_t numbers[META_NUMBERS];
	uint32_t texts[META_TEXTS];

	layout_from_meta(&p->meta, numbers, texts);
	put_number(into, p->text ? p->text_bytes : 0);
	buf_append(into, p->text, p->text ? p->text_bytes : 0);
	put_number(into, META_TEXTS);
	for (unsigned i = 0; i < META_TEXTS; i++)
		put_number(into, texts[i]);
	for (uint32_t i = 0; i < p->event_count; i++)
		put_number(into, p->events[i].name);
}

static void put_tables(const struct profile *p, struct buf *into)
{
	put_number(into, p->module_count);
	for (uint32_t i = 0; i < p->module_count; i++) {
		put_number(into, p->modules[i].path);
		put_number(into, p->modules[i].build_id);
	}
	put_number(into, p->process_count);
	for (uint32_t i = 0; i < p->process_count; i++) {
		put_signed(into, p->processes[i].pid);
		put_number(into, p->processes[i].start_ticks);
		put_number(into, p->processes[i].comm);
	}
	put_number(into, p->thread_count);
	for (uint32_t i = 0; i < p->thread_count; i++) {
		put_signed(into, p->threads[i].tid);
		put_number(into, p->threads[i].process);
		put_number(into, p->threads[i].comm);
	}
}

static void put_tree(const struct profile *p, struct buf *into)
{
	put_number(into, p->frame_count);
	for (uint32_t i = 0; i < p->frame_count; i++) {
		put_number(into, p->frames[i].kind);
		put_number(into, p->frames[i].module);
		put_number(into, p->frames[i].addr);
	}
	put_number(into, p->node_count);
	for (uint32_t i = 0; i < p->node_count; i++) {
		/* A child mostly follows its parent. */
		put_number(into, i - p->nodes[i].parent);
		put_number(into, p->nodes[i].frame);
	}
}

/* Most nodes are no leaf: only those that have samples or a weight are written, each with its
 * distance. */
static void put_weights(const struct profile *p, uint32_t event, struct buf *into)
{
	const uint64_t *weight, *samples;
	uint32_t count = 0, last = 0;

	if (p->node_count == 0) {
		put_number(into, 0);
		return;
	}
	weight = p->self_weight + (size_t)event * p->node_count;
	samples = p->self_samples + (size_t)event * p->node_count;
	for (uint32_t i = 0; i < p->node_count; i++)
		count += weight[i] || samples[i];
	put_number(into, count);
	for (uint32_t i = 0; i < p->node_count; i++) {
		if (!weight[i] && !samples[i])
			continue;
		put_number(into, i - last);
		put_number(into, weight[i]);
		put_number(into, samples[i]);
		last = i;
	}
}

static void put_log(const struct profile *p, struct buf *into)
{
	uint64_t before = 0;

	put_number(into, p->log != NULL);
	put_number(into, p->log ? p->log_count : 0);
	for (uint32_t i = 0; p->log && i < p->log_count; i++) {
		const struct log_entry *e = &p->log[i];

		put_signed(into, (int64_t)(e->t_ns - before));
		put_number(into, e->weight);
		put_number(into, e->cpu);
		put_number(into, e->event);
		put_number(into, e->node);
		put_number(into, e->thread);
		before = e->t_ns;
	}
}

static void put_names(const struct profile *p, struct buf *into)
{
	uint32_t count = p->name_starts ? p->name_starts[p->frame_count] : 0;

	put_number(into, p->name_starts != NULL);
	for (uint32_t i = 0; p->name_starts && i < p->frame_count; i++)
		put_number(into, p->name_starts[i + 1] - p->name_starts[i]);
	for (uint32_t i = 0; i < count; i++) {
		const struct profile_name *n = &p->name_frames[i];

		put_number(into, n->name);
		put_number(into, n->file);
		put_number(into, n->line);
		put_number(into, n->inlined);
	}
}

/* Behind all that the first version has. */
static void put_biases(const struct profile *p, struct buf *into)
{
	for (uint32_t i = 0; i < p->module_count; i++)
		put_number(into, p->modules[i].bias);
}

static void put_origins(const struct profile *p, struct buf *into)
{
	for (uint32_t i = 0; i < p->process_count; i++) {
		put_number(into, p->processes[i].command);
		put_number(into, p->processes[i].cgroup);
		put_number(into, p->processes[i].container);
	}
}

static int pack(const struct buf *from, struct buf *into, uint64_t *ret_packed)
{
	size_t most = ZSTD_compressBound(from->len);
	ZSTD_CCtx *zstd = NULL;
	char *at;
	size_t n;
	int r = buf_reserve(into, most, &at);

	if (r < 0)
		return r;
	zstd = ZSTD_createCCtx();
	if (!zstd)
		return -ENOMEM;
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
	n = ZSTD_compress2(zstd, at, most, from->data, from->len);
	ZSTD_freeCCtx(zstd);
	if (ZSTD_isError(n))
		return -ENOMEM; /* the room is enough: it can have met nothing else */
	into->len += n;
	*ret_packed = n;
	return 0;
}

static int pack_body(const struct buf *body, struct buf *into, struct format_header *h)
{
	size_t before = into->len;
	int r = pack(body, into, &h->body_packed);

	h->body_bytes = body->len;
	if (r < 0 || h->body_bytes <= FORMAT_SLACK + FORMAT_RATIO * h->body_packed)
		return r;
	into->len = before;
	h->flags |= FORMAT_BODY_PLAIN;
	h->body_packed = body->len;
	h->body_sum = layout_sum(body->data, body->len);
	return buf_append(into, body->data, body->len);
}

int store_encode(const struct profile *p, struct buf *into)
{
	AUTO(buf_done) struct buf head = {.max_bytes = FORMAT_HEAD_MAX};
	AUTO(buf_done) struct buf body = {.max_bytes = FORMAT_BODY_MAX};
	struct format_header h = {.version = FORMAT_VERSION};
	char space[FORMAT_HEADER_BYTES] = {0};
	size_t start = into->len;
	int r;

	put_head(p, &head);
	put_texts(p, &body);
	put_tables(p, &body);
	put_tree(p, &body);
	for (uint32_t e = 0; e < p->event_count; e++)
		put_weights(p, e, &body);
	put_log(p, &body);
	put_names(p, &body);
	put_biases(p, &body);
	put_origins(p, &body);
	if (head.error || body.error)
		return head.error ? head.error : body.error;
	r = buf_append(into, space, sizeof(space));
	if (r == 0)
		r = pack(&head, into, &h.head_packed);
	if (r == 0)
		r = pack_body(&body, into, &h);
	if (r < 0)
		return r;
	h.head_bytes = head.len;
	layout_put_header(&h, (uint8_t *)into->data + start);
	return 0;
}
