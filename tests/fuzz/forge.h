/* Bytes that a fuzzer made, as the body of a profile file whose sums are right: what lies behind
 * them is reached at once. */
#ifndef PFL_TESTS_FORGE_H
#define PFL_TESTS_FORGE_H

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "daemon/store/format.h"
#include "daemon/store/layout.h"
#include "daemon/store/store.h"

/* events: how many the head speaks of. */
static int forge_profile(
	const uint8_t *body, size_t len, uint32_t events, struct profile **ret_profile)
{
	AUTO(profile_unref_auto) struct profile *p = NULL;
	AUTO(buf_done) struct buf file = BUF_INIT;
	struct format_header h;

	if (profile_new(&p) < 0)
		abort();
	/* Weights come with the body: the head alone is taken from this one. */
	p->event_count = events % (PROFILE_EVENTS_MAX + 1);
	p->events[0].is_clock = true;
	p->meta.started_ns = 100;
	p->meta.taken_ns = 1000000;
	p->ledger.log_from_ns = 500;
	if (store_encode(p, &file) < 0 || format_read_header(file.data, file.len, &h) < 0)
		abort();
	file.len -= h.body_packed;
	h.flags = FORMAT_BODY_PLAIN;
	h.body_packed = h.body_bytes = len;
	h.body_sum = layout_sum(body, len);
	buf_append(&file, body, len);
	layout_put_header(&h, (uint8_t *)file.data);
	return store_decode(file.data, file.len, false, ret_profile);
}

#endif
