/* Checked reading of query values. Each: true, also when the key is not there (*ret then stays);
 * false: a 400 that names the key is ready. */
#ifndef PFL_HTTP_ASK_H
#define PFL_HTTP_ASK_H

#include <stdbool.h>
#include <stdint.h>
#include "daemon/http/request.h"

bool ask_bool(struct req *r, const char *key, bool *ret_value);
bool ask_u64(struct req *r, const char *key, uint64_t min, uint64_t max, uint64_t *ret_value);
bool ask_double(struct req *r, const char *key, double min, double max, double *ret_value);

/* A moment: seconds since the start of a session, or a time of RFC 3339. */
struct ask_moment {
	bool given, is_wall;
	uint64_t ns; /* since the start, or since 1970 */
};
bool ask_moment(struct req *r, const char *key, struct ask_moment *ret_moment);
/* Which of the words, ended by NULL, the value is. */
bool ask_choice(struct req *r, const char *key, const char *const *words, unsigned *ret_index);

/* "2026-02-03T04:05:06.789Z", "…+01:00": nanoseconds since 1970. -EINVAL. */
int ask_parse_rfc3339(const char *text, uint64_t *ret_wall_ns);

#endif
