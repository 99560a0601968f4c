/* The records of a perf.data file in the order of their time. perf writes what it found in the ring
 * of each CPU one after the other, and a mark (FINISHED_ROUND) when it has been around: what is
 * older than the newest record of the round before last cannot come any more. */
#include "daemon/sample/perfdata.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/sample/perfdata_parts.h"

/* Without marks between them no more records than this wait for older ones. */
#define CHUNKS_MAX        ((size_t)256 << 20) /* the same for unpacked bytes */
#define PROGRESS_BYTES    ((size_t)8 << 20)
#define WAITING_MAX       ((size_t)4 << 20)
#define WAITING_BYTES_MAX ((size_t)64 << 20) /* of the file, between progress and reading */

/* ---- handing out ---- */

static const struct layout *layout_of(const struct perfdata *pd, const uint8_t *bytes, size_t len)
{
	uint64_t id, index;

	if (pd->layout_count > 1 && perfdata_id(&pd->layouts[0], bytes, len, &id) &&
		map_get(pd->by_id, id, &index))
		return &pd->layouts[index];
	return &pd->layouts[0];
}

static void count_malformed(struct perfdata *pd, size_t bytes)
{
	pd->stats.malformed++;
	pd->stats.malformed_bytes += bytes;
}

static void hand_out_sample(
	struct perfdata *pd, const struct layout *l, const uint8_t *bytes, size_t len)
{
	struct sample s;

	if (l->event < 0) {
		pd->stats.left_out += l->event == -2;
		return;
	}
	if (perfdata_decode_sample(pd, l, bytes, len, &s) < 0) {
		count_malformed(pd, len);
		return;
	}
	pd->stats.samples++;
	pd->over = !pd->sink->sample(pd->sink->arg, &s, (unsigned)l->event);
}

static void take_lost(struct perfdata *pd, const struct record *record)
{
	uint64_t *sum = &pd->stats.lost;

	/* At its end perf tells once more what each event has lost, without a time. */
	if (record->lost.by_hardware && record->t_ns == 0)
		sum = &pd->lost_told;
	if (__builtin_add_overflow(*sum, record->lost.count, sum))
		*sum = UINT64_MAX;
}

static void hand_out_other(
	struct perfdata *pd, const struct layout *l, const uint8_t *bytes, size_t len)
{
	size_t around = RECORD_HEADER_BYTES + perfdata_trailer_bytes(l);
	struct perf_event_header header;
	struct record record;

	memcpy(&header, bytes, sizeof(header));
	if (len < around ||
		record_decode_body(&header, bytes + RECORD_HEADER_BYTES, len - around,
			perfdata_time(l, bytes, len), &record) < 0) {
		count_malformed(pd, len);
		return;
	}
	switch (record.kind) {
	case RECORD_SIDEBAND:
		pd->over = !pd->sink->sideband(pd->sink->arg, &record.sideband);
		break;
	case RECORD_LOST: take_lost(pd, &record); break;
	case RECORD_THROTTLE: pd->stats.throttled++; break;
	case RECORD_UNKNOWN: pd->stats.unknown++; break;
	default: break;
	}
}

static void hand_out(struct perfdata *pd, const uint8_t *bytes)
{
	struct perf_event_header header;
	const struct layout *l;

	memcpy(&header, bytes, sizeof(header));
	pd->touched_bytes += header.size;
	if ((uintptr_t)bytes % sizeof(uint64_t) != 0) {
		memcpy(pd->scratch, bytes, header.size);
		bytes = (const uint8_t *)pd->scratch;
	}
	l = layout_of(pd, bytes, header.size);
	if (header.type == PERF_RECORD_SAMPLE)
		hand_out_sample(pd, l, bytes, header.size);
	else
		hand_out_other(pd, l, bytes, header.size);
}

/* Where the first record of the file is that still has to be looked at; of many that wait, without
 * marks between them, where the reading is. */
static size_t done_with(const struct perfdata *pd, size_t first_waiting)
{
	size_t at = pd->read_at;

	for (size_t i = first_waiting; i < pd->waiting_count; i++)
		if (!pd->waiting[i].chunk && (size_t)(pd->waiting[i].bytes - pd->bytes) < at)
			at = (size_t)(pd->waiting[i].bytes - pd->bytes);
	return pd->read_at - at > WAITING_BYTES_MAX ? pd->read_at : at;
}

/* By what was read and what was handed out, which may be far behind. */
static void tell_progress(struct perfdata *pd, size_t first_waiting)
{
	if (!pd->sink->progress || pd->touched_bytes < PROGRESS_BYTES)
		return;
	pd->touched_bytes = 0;
	pd->sink->progress(pd->sink->arg, done_with(pd, first_waiting));
}

/* ---- waiting for older ones ---- */

static int compare_waiting(const void *a, const void *b)
{
	const struct waiting *x = a, *y = b;

	if (x->t_ns != y->t_ns)
		return x->t_ns < y->t_ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static bool is_sorted(const struct perfdata *pd)
{
	for (size_t i = 1; i < pd->waiting_count; i++)
		if (compare_waiting(&pd->waiting[i - 1], &pd->waiting[i]) > 0)
			return false;
	return true;
}

static void let_go(struct waiting *w)
{
	if (!w->chunk)
		return;
	w->chunk->waiting--;
	chunk_let_go(w->chunk);
}

/* All that is not newer than until_ns. */
static void flush(struct perfdata *pd, uint64_t until_ns)
{
	size_t n = 0;

	if (!pd->waiting_count)
		return;
	if (!is_sorted(pd))
		qsort(pd->waiting, pd->waiting_count, sizeof(*pd->waiting), compare_waiting);
	for (; n < pd->waiting_count && pd->waiting[n].t_ns <= until_ns; n++) {
		if (!pd->over)
			hand_out(pd, pd->waiting[n].bytes);
		tell_progress(pd, n + 1);
		pd->handed_ns = pd->waiting[n].t_ns;
		let_go(&pd->waiting[n]);
	}
	pd->waiting_count -= n;
	memmove(pd->waiting, pd->waiting + n, pd->waiting_count * sizeof(*pd->waiting));
}

static void drop_waiting(struct perfdata *pd)
{
	for (size_t i = 0; i < pd->waiting_count; i++)
		let_go(&pd->waiting[i]);
	pd->waiting_count = 0;
}

static int make_room(struct perfdata *pd)
{
	size_t room = pd->waiting_room ? 2 * pd->waiting_room : 1024;
	struct waiting *grown;

	if (pd->waiting_count < pd->waiting_room)
		return 0;
	if (room > WAITING_MAX) {
		qsort(pd->waiting, pd->waiting_count, sizeof(*pd->waiting), compare_waiting);
		flush(pd, pd->waiting[pd->waiting_count / 2].t_ns);
		return 0;
	}
	grown = realloc(pd->waiting, room * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	pd->waiting = grown;
	pd->waiting_room = room;
	return 0;
}

static int wait(struct perfdata *pd, uint64_t t_ns, const uint8_t *bytes, struct chunk *chunk)
{
	int r = make_room(pd);

	if (r < 0)
		return r;
	pd->stats.out_of_order += t_ns < pd->handed_ns;
	if (t_ns > pd->newest_ns)
		pd->newest_ns = t_ns;
	pd->waiting[pd->waiting_count++] = (struct waiting){t_ns, bytes, chunk, pd->order++};
	if (chunk)
		chunk->waiting++;
	return 0;
}

static void end_round(struct perfdata *pd)
{
	flush(pd, pd->round_ns);
	pd->round_ns = pd->newest_ns;
}

/* ---- the records in the order of the file ---- */

static int take_records(struct perfdata *pd, const uint8_t *at, size_t left, struct chunk *chunk,
	const char **ret_cut);

static int take_packed(struct perfdata *pd, const struct perf_event_header *h, const uint8_t *bytes)
{
	const uint8_t *at = bytes + RECORD_HEADER_BYTES;
	size_t len = h->size - RECORD_HEADER_BYTES;
	const char *cut = NULL;
	struct chunk *chunk;
	int r;

	if (h->type == PERFDATA_COMPRESSED2) {
		if (len < sizeof(uint64_t) || load_u64(at) > len - sizeof(uint64_t)) {
			count_malformed(pd, h->size);
			return 0;
		}
		len = (size_t)load_u64(at);
		at += sizeof(uint64_t);
	}
	/* Without marks, or with ones far apart: rather out of order than out of memory. */
	if (pd->chunk_bytes > CHUNKS_MAX)
		flush(pd, UINT64_MAX);
	r = unpacker_run(pd, at, len, &chunk);
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		/* What follows is of the same stream. */
		pd->stats.cut = r == -EFBIG ? "its packed records unpack to more than is taken"
					    : "its packed records are damaged";
		count_malformed(pd, h->size);
		return 0;
	}
	chunk->open = true;
	r = take_records(pd, chunk->bytes, chunk->len, chunk, &cut);
	chunk->open = false;
	chunk_let_go(chunk);
	return r;
}

static int take_kernel_record(
	struct perfdata *pd, const uint8_t *bytes, size_t len, struct chunk *chunk)
{
	uint64_t t_ns = perfdata_time(layout_of(pd, bytes, len), bytes, len);

	if (t_ns)
		return wait(pd, t_ns, bytes, chunk);
	hand_out(pd, bytes);
	return 0;
}

static int take_record(struct perfdata *pd, const struct perf_event_header *h, const uint8_t *bytes,
	struct chunk *chunk)
{
	pd->stats.records++;
	if (h->type < PERFDATA_ATTR)
		return take_kernel_record(pd, bytes, h->size, chunk);
	switch (h->type) {
	case PERFDATA_ROUND: end_round(pd); return 0;
	case PERFDATA_COMPRESSED:
	case PERFDATA_COMPRESSED2:
		if (!chunk)
			return take_packed(pd, h, bytes);
		count_malformed(pd, h->size);
		return 0;
	default: pd->stats.unknown += h->type >= PERFDATA_USER_MAX; return 0;
	}
}

/* Bytes that follow a record without being part of it. False: nonsense. */
static bool payload_of(const struct perf_event_header *h, const uint8_t *bytes, uint64_t *ret_bytes)
{
	*ret_bytes = 0;
	if (h->type == PERFDATA_TRACING) {
		if (h->size < RECORD_HEADER_BYTES + 4)
			return false;
		*ret_bytes = ((uint64_t)load_u32(bytes + RECORD_HEADER_BYTES) + 7) & ~UINT64_C(7);
	}
	if (h->type == PERFDATA_AUXTRACE) {
		if (h->size < RECORD_HEADER_BYTES + 8)
			return false;
		*ret_bytes = load_u64(bytes + RECORD_HEADER_BYTES);
	}
	return true;
}

bool perfdata_next(const uint8_t *at, size_t left, struct perf_event_header *ret_header,
	size_t *ret_bytes, const char **ret_cut)
{
	uint64_t payload;

	if (left == 0)
		return false;
	*ret_cut = "it ends within a record";
	if (left < RECORD_HEADER_BYTES)
		return false;
	memcpy(ret_header, at, sizeof(*ret_header));
	if (ret_header->size < RECORD_HEADER_BYTES) {
		*ret_cut = "a record has an impossible size";
		return false;
	}
	if (ret_header->size > left)
		return false;
	if (!payload_of(ret_header, at, &payload)) {
		*ret_cut = "a record has an impossible size";
		return false;
	}
	if (payload > left - ret_header->size)
		return false;
	*ret_cut = NULL;
	*ret_bytes = ret_header->size + (size_t)payload;
	return true;
}

static int take_records(struct perfdata *pd, const uint8_t *at, size_t left, struct chunk *chunk,
	const char **ret_cut)
{
	struct perf_event_header h;
	size_t bytes;
	int r = 0;

	while (r == 0 && !pd->over && !pd->stats.cut &&
		perfdata_next(at, left, &h, &bytes, ret_cut)) {
		r = take_record(pd, &h, at, chunk);
		at += bytes;
		left -= bytes;
		if (!chunk)
			pd->read_at = (size_t)(at - pd->bytes);
		pd->touched_bytes += bytes;
		tell_progress(pd, 0);
	}
	if (*ret_cut)
		count_malformed(pd, left);
	return r;
}

/* The ring counts records of any kind as they are lost; events that count their own samples tell at
 * the very end, if perf gets that far. */
static void settle_lost(struct perfdata *pd)
{
	uint64_t records = pd->stats.lost, samples = pd->lost_told;
	bool counts = pd->layout_count > 0 && !pd->stats.cut && !pd->info.unfinished && !pd->over;

	for (unsigned i = 0; i < pd->layout_count; i++)
		counts &= pd->layouts[i].event < 0 ||
			(pd->layouts[i].read_format & PERFDATA_FORMAT_LOST);
	if (counts) {
		pd->stats.lost = samples;
		pd->stats.other_lost = records > samples ? records - samples : 0;
	} else if (samples > records) {
		pd->stats.lost = samples;
	}
}

int perfdata_read(struct perfdata *pd, const struct perfdata_sink *sink)
{
	const char *cut = NULL;
	int r;

	pd->sink = sink;
	r = take_records(pd, pd->bytes + pd->data_at, pd->data_end - pd->data_at, NULL, &cut);
	if (!pd->stats.cut)
		pd->stats.cut = cut;
	if (r == 0)
		flush(pd, UINT64_MAX);
	drop_waiting(pd);
	settle_lost(pd);
	if (r == 0 && pd->over)
		r = -ECANCELED;
	return r;
}

/* ---- life ---- */

int perfdata_open(const void *bytes, size_t len, struct perfdata **ret_file, struct buf *message)
{
	AUTO(perfdata_free_auto) struct perfdata *pd = calloc(1, sizeof(*pd));
	int r;

	if (!pd)
		return -ENOMEM;
	pd->bytes = bytes;
	pd->len = len;
	pd->scratch = malloc(RECORD_BYTES_MAX);
	if (!pd->scratch)
		return -ENOMEM;
	r = map_new(64, &pd->by_id);
	if (r == 0)
		r = map_new(64, &pd->told_by_path);
	if (r == 0)
		r = perfdata_read_head(pd, message);
	if (r < 0)
		return r;
	*ret_file = MOVE(pd);
	return 0;
}

void perfdata_free(struct perfdata *pd)
{
	if (!pd)
		return;
	drop_waiting(pd);
	unpacker_free(pd->unpacker);
	perfdata_head_done(pd);
	map_free(pd->by_id);
	map_free(pd->told_by_path);
	free(pd->waiting);
	free(pd->scratch);
	free(pd);
}

const struct perfdata_info *perfdata_info(const struct perfdata *pd)
{
	return &pd->info;
}

void perfdata_get_stats(const struct perfdata *pd, struct perfdata_stats *ret_stats)
{
	*ret_stats = pd->stats;
}

const uint8_t *perfdata_build_id(const struct perfdata *pd, const char *path, unsigned *ret_bytes)
{
	uint64_t index;

	if (!map_get(pd->told_by_path, hash_bytes(path, strlen(path), 0), &index) ||
		strcmp(pd->told[index].path, path) != 0)
		return NULL;
	*ret_bytes = pd->told[index].bytes;
	return pd->told[index].id;
}
