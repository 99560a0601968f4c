/* Writing JSON piece by piece. A comma goes in where one belongs, by the last byte written; key
 * NULL: an element of an array. Numbers print in full, whatever their size. */
#ifndef PFL_HTTP_JSON_OUT_H
#define PFL_HTTP_JSON_OUT_H

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"

void json_begin(struct buf *into, char bracket);                     /* '{' or '[', as a value */
void json_begin_in(struct buf *into, const char *key, char bracket); /* as a member */
void json_end(struct buf *into, char bracket);
void json_text(struct buf *into, const char *key, const char *text); /* NULL: null */
void json_u64(struct buf *into, const char *key, uint64_t value);
void json_bool(struct buf *into, const char *key, bool value);
void json_double(struct buf *into, const char *key, double value);
void json_null(struct buf *into, const char *key);
/* A value that is JSON already. */
void json_raw(struct buf *into, const char *key, const char *json);
/* RFC 3339 in UTC with milliseconds; 0: null. */
void json_time(struct buf *into, const char *key, uint64_t wall_ns);
/* Nanoseconds as seconds. */
void json_seconds(struct buf *into, const char *key, uint64_t ns);

#endif
