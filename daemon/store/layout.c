#include "daemon/store/layout.h"

#include <errno.h>
#include <string.h>

static const char magic[8] = "PFLPROF";

void layout_from_meta(
	const struct profile_meta *m, uint64_t numbers[META_NUMBERS], uint32_t texts[META_TEXTS])
{
	const uint64_t n[META_NUMBERS] = {m->session_id, m->freq_hz, m->period, m->started_wall_ns,
		m->ended_wall_ns, m->started_ns, m->taken_ns, m->cost_cpu_ns, m->cost_bytes,
		m->owner, m->kernel_text};
	const uint32_t t[META_TEXTS] = {m->name, m->target, m->target_json, m->options_json,
		m->state, m->ended_by, m->warnings, m->kernel_release, m->kernel_build_id};

	memcpy(numbers, n, sizeof(n));
	memcpy(texts, t, sizeof(t));
}

void layout_to_meta(
	const uint64_t n[META_NUMBERS], const uint32_t t[META_TEXTS], struct profile_meta *m)
{
	*m = (struct profile_meta){
		.session_id = n[0],
		.freq_hz = n[1],
		.period = n[2],
		.started_wall_ns = n[3],
		.ended_wall_ns = n[4],
		.started_ns = n[5],
		.taken_ns = n[6],
		.cost_cpu_ns = n[7],
		.cost_bytes = n[8],
		.owner = (uid_t)n[9],
		.kernel_text = n[10],
		.name = t[0],
		.target = t[1],
		.target_json = t[2],
		.options_json = t[3],
		.state = t[4],
		.ended_by = t[5],
		.warnings = t[6],
		.kernel_release = t[7],
		.kernel_build_id = t[8],
	};
}

uint64_t layout_sum(const void *data, size_t len)
{
	const uint8_t *at = data;
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ at[i]) * 0x100000001b3u;
	return h;
}

static void put_le(uint8_t *out, uint64_t x, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		out[i] = (uint8_t)(x >> 8 * i);
}

static uint64_t get_le(const uint8_t *at, unsigned bytes)
{
	uint64_t x = 0;

	for (unsigned i = 0; i < bytes; i++)
		x |= (uint64_t)at[i] << 8 * i;
	return x;
}

/* 0 magic, 8 version, 12 flags, 16 … 47 sizes, 48 sum of a plain body, 56 sum of all before it. */
void layout_put_header(const struct format_header *h, uint8_t out[FORMAT_HEADER_BYTES])
{
	memcpy(out, magic, sizeof(magic));
	put_le(out + 8, h->version, 4);
	put_le(out + 12, h->flags, 4);
	put_le(out + 16, h->head_packed, 8);
	put_le(out + 24, h->head_bytes, 8);
	put_le(out + 32, h->body_packed, 8);
	put_le(out + 40, h->body_bytes, 8);
	put_le(out + 48, h->body_sum, 8);
	put_le(out + 56, layout_sum(out, 56), 8);
}

int format_read_header(const void *data, size_t len, struct format_header *ret_header)
{
	const uint8_t *at = data;
	struct format_header h;

	if (len < FORMAT_HEADER_BYTES || memcmp(at, magic, sizeof(magic)) != 0)
		return -EBADMSG;
	/* The first two fields are the same in every version; what follows need not be. */
	h.version = (uint32_t)get_le(at + 8, 4);
	if (h.version > FORMAT_VERSION)
		return -EPROTONOSUPPORT;
	h.flags = (uint32_t)get_le(at + 12, 4);
	h.head_packed = get_le(at + 16, 8);
	h.head_bytes = get_le(at + 24, 8);
	h.body_packed = get_le(at + 32, 8);
	h.body_bytes = get_le(at + 40, 8);
	h.body_sum = get_le(at + 48, 8);
	if (h.version == 0 || (h.flags & ~FORMAT_BODY_PLAIN) ||
		get_le(at + 56, 8) != layout_sum(at, 56))
		return -EBADMSG;
	if (h.head_packed > FORMAT_HEAD_MAX + (FORMAT_HEAD_MAX >> 6) ||
		h.head_bytes > FORMAT_HEAD_MAX ||
		h.body_packed > FORMAT_BODY_MAX + (FORMAT_BODY_MAX >> 6) ||
		h.body_bytes > FORMAT_BODY_MAX)
		return -EBADMSG;
	if (h.flags & FORMAT_BODY_PLAIN
			? h.body_bytes != h.body_packed
			: h.body_bytes > FORMAT_SLACK + FORMAT_RATIO * h.body_packed)
		return -EBADMSG;
	*ret_header = h;
	return 0;
}

uint64_t format_file_bytes(const struct format_header *h)
{
	return FORMAT_HEADER_BYTES + h->head_packed + h->body_packed;
}
