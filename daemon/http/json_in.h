/* Bodies of requests to plain structs: each wrong type, range, unknown or doubled key is refused
 * with a sentence that names the key. Pure. */
#ifndef PFL_HTTP_JSON_IN_H
#define PFL_HTTP_JSON_IN_H

#include <stddef.h>
#include "base/buf.h"
#include "daemon/run/run.h"

/* All: 0, -EINVAL with a sentence in why, -ENOMEM. */

/* The body of POST /v1/sessions. Fills in the defaults first. */
int json_in_session(const char *text, size_t len, uint64_t max_freq_hz,
	struct session_request *ret_request, struct buf *why);

/* The body of PATCH /v1/sessions/ID: one of them at least. */
int json_in_change(const char *text, size_t len, uint64_t max_freq_hz,
	struct session_change *ret_change, struct buf *why);

/* A body where nothing is to be said: none, or {}. */
int json_in_nothing(const char *text, size_t len, struct buf *why);

#endif
