/* The grammar of JSON, held strictly and without recursion, before a more lenient parser that
 * recurses gets to see the bytes. Pure. */
#ifndef PFL_HTTP_JSON_TEXT_H
#define PFL_HTTP_JSON_TEXT_H

#include <stddef.h>
#include "base/buf.h"

#define JSON_DEPTH_MAX  32
#define JSON_VALUES_MAX 4096

/* One value of RFC 8259 and nothing after it but blanks. -EINVAL and a sentence in why: also for a
 * byte order mark, bytes that are not UTF-8, \u0000, half a surrogate pair, more levels or more
 * values than the caps. */
int json_text_check(const char *text, size_t len, struct buf *why);

#endif
