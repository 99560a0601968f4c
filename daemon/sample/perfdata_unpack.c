/* Packed records (perf record -z): one zstd stream over all of them. The home of zstd.h here. */
#include "daemon/sample/perfdata_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#define PIECE_BYTES ((size_t)256 << 10)
#define CHUNK_MAX   ((size_t)64 << 20)
/* What a packed file of n bytes may come to. Stacks pack well, but not without end. */
#define UNPACK_SLACK ((uint64_t)64 << 20)
#define UNPACK_RATIO 64u

struct unpacker {
	ZSTD_DStream *stream;
	uint8_t rest[RECORD_BYTES_MAX]; /* the first part of a record */
	size_t rest_bytes;
};

void unpacker_free(struct unpacker *u)
{
	if (!u)
		return;
	ZSTD_freeDStream(u->stream);
	free(u);
}

static struct unpacker *unpacker_new(void)
{
	struct unpacker *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->stream = ZSTD_createDStream();
	if (!u->stream) {
		free(u);
		return NULL;
	}
	return u;
}

void chunk_let_go(struct chunk *c)
{
	if (!c || c->open || c->waiting)
		return;
	if (c->alive)
		*c->alive -= c->cap;
	free(c->bytes);
	free(c);
}

static int make_room(struct chunk *c, size_t more)
{
	size_t cap = c->cap ? 2 * c->cap : PIECE_BYTES;
	uint8_t *grown;

	if (c->cap - c->len >= more)
		return 0;
	while (cap - c->len < more)
		cap *= 2;
	if (cap > CHUNK_MAX)
		return -EFBIG;
	grown = realloc(c->bytes, cap);
	if (!grown)
		return -ENOMEM;
	c->bytes = grown;
	c->cap = cap;
	return 0;
}

static int unpack(struct unpacker *u, const uint8_t *packed, size_t len, struct chunk *c)
{
	ZSTD_inBuffer in = {packed, len, 0};
	bool full = true;

	while (in.pos < in.size || full) {
		ZSTD_outBuffer out;
		int r = make_room(c, PIECE_BYTES / 2);
		size_t e;

		if (r < 0)
			return r;
		out = (ZSTD_outBuffer){c->bytes + c->len, c->cap - c->len, 0};
		e = ZSTD_decompressStream(u->stream, &out, &in);
		if (ZSTD_isError(e))
			return -EBADMSG;
		c->len += out.pos;
		full = out.pos == out.size;
	}
	return 0;
}

/* Keeps what is no whole record for the next time. */
static int cut_rest(struct unpacker *u, struct chunk *c)
{
	size_t at = 0;

	while (c->len - at >= RECORD_HEADER_BYTES) {
		struct perf_event_header h;

		memcpy(&h, c->bytes + at, sizeof(h));
		if (h.size < RECORD_HEADER_BYTES)
			return -EBADMSG;
		if (h.size > c->len - at)
			break;
		at += h.size;
	}
	u->rest_bytes = c->len - at;
	if (u->rest_bytes)
		memcpy(u->rest, c->bytes + at, u->rest_bytes);
	c->len = at;
	return 0;
}

int unpacker_run(struct perfdata *pd, const uint8_t *packed, size_t len, struct chunk **ret_chunk)
{
	struct unpacker *u = pd->unpacker;
	struct chunk *c = calloc(1, sizeof(*c));
	int r;

	if (!u)
		u = pd->unpacker = unpacker_new();
	if (!c || !u) {
		free(c);
		return -ENOMEM;
	}
	r = make_room(c, u->rest_bytes + 1);
	if (r == 0 && c->bytes) {
		memcpy(c->bytes, u->rest, u->rest_bytes);
		c->len = u->rest_bytes;
		r = unpack(u, packed, len, c);
	}
	pd->unpacked_bytes += c->len;
	if (r == 0 && pd->unpacked_bytes > UNPACK_SLACK + UNPACK_RATIO * (uint64_t)pd->len)
		r = -EFBIG;
	if (r == 0)
		r = cut_rest(u, c);
	if (r < 0) {
		chunk_let_go(c);
		return r;
	}
	c->alive = &pd->chunk_bytes;
	pd->chunk_bytes += c->cap;
	*ret_chunk = c;
	return 0;
}
