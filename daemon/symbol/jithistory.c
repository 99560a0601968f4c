#include "daemon/symbol/jithistory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 128        /* at one address */
#define CODES_MAX (4u << 20) /* at all of them */

int jithistory_init(struct jithistory *h, const uint64_t *addrs, uint32_t count)
{
	memset(h, 0, sizeof(*h));
	h->addrs = addrs;
	h->count = count;
	h->last = malloc(((size_t)count + 1) * sizeof(*h->last));
	if (!h->last)
		return -ENOMEM;
	memset(h->last, 0xff, ((size_t)count + 1) * sizeof(*h->last));
	return 0;
}

void jithistory_done(struct jithistory *h)
{
	free(h->last);
	free(h->codes);
	memset(h, 0, sizeof(*h));
}

uint32_t jithistory_depth(const struct jithistory *h, uint32_t i)
{
	uint32_t n = 0;

	for (uint32_t at = h->last[i]; at != JITHISTORY_NONE; at = h->codes[at].before)
		n++;
	return n;
}

static uint32_t first_at_or_above(const struct jithistory *h, uint64_t value)
{
	uint32_t lo = 0, hi = h->count;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (h->addrs[mid] < value)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int push(struct jithistory *h, uint32_t i, const struct jit_code *code)
{
	if (!h->codes || h->code_count == h->code_room) {
		uint32_t room = h->code_room ? h->code_room * 2 : 256;
		struct jit_code *more = realloc(h->codes, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		h->codes = more;
		h->code_room = room;
	}
	h->codes[h->code_count] = *code;
	h->codes[h->code_count].before = h->last[i];
	h->last[i] = h->code_count++;
	return 0;
}

static int add_at(struct jithistory *h, uint32_t i, const struct jit_code *code, bool around)
{
	struct jit_code *old = h->last[i] == JITHISTORY_NONE ? NULL : &h->codes[h->last[i]];
	uint64_t since;
	bool same;

	if (!old)
		return push(h, i, code);
	if (around && old->start > code->start && old->end <= code->end)
		return 0;
	same = old->start == code->start && old->name == code->name;
	if (!same && code->since_ns > old->since_ns && h->code_count < CODES_MAX &&
		jithistory_depth(h, i) < DEPTH_MAX)
		return push(h, i, code);
	since = old->since_ns;
	*old = (struct jit_code){.start = code->start,
		.end = code->end,
		.since_ns = since,
		.name = code->name,
		.entry = code->entry,
		.before = old->before};
	return 0;
}

int jithistory_add(struct jithistory *h, const struct jit_code *code, bool around)
{
	int r = 0;

	for (uint32_t i = first_at_or_above(h, code->start);
		r == 0 && i < h->count && h->addrs[i] < code->end; i++)
		r = add_at(h, i, code, around);
	return r;
}
