/* Checked text-to-number. All: 0, -EINVAL (no number, trailing bytes, sign) or -ERANGE. */
#ifndef PFL_BASE_PARSE_H
#define PFL_BASE_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int parse_u64(const char *text, uint64_t max, uint64_t *ret_value);
int parse_hex(const char *text, size_t len, uint64_t *ret_value); /* no prefix */
int parse_bool(const char *text, bool *ret_value); /* yes no true false on off 1 0 */
/* "90", "90s", "1500ms", "2m", "1h": nanoseconds. A fraction is allowed: "0.5s". */
int parse_duration_ns(const char *text, uint64_t *ret_ns);
/* "512", "64k", "128M", "1G": bytes, in powers of 1024. */
int parse_bytes(const char *text, uint64_t *ret_bytes);
/* "0-3,5,8-9" as the kernel writes CPU lists; calls fn for each. -EINVAL for anything else. */
int parse_cpu_list(const char *text, int (*fn)(unsigned cpu, void *arg), void *arg);

/* Copies text to out as valid UTF-8: bytes that are not become U+FFFD, control bytes too. Returns the
 * bytes written without the closing NUL; out is always closed when out_bytes > 0. A character is
 * never cut in half. Two different inputs may become equal. */
size_t text_utf8(const char *text, size_t len, char *out, size_t out_bytes);
bool text_is_utf8(const char *text, size_t len);

#endif
