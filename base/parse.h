/* Checked text-to-number. All: 0, -EINVAL (no number, trailing bytes, sign) or -ERANGE. */
#ifndef PFL_BASE_PARSE_H
#define PFL_BASE_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int parse_u64(const char *text, uint64_t max, uint64_t *ret_value);
/* No prefix. */
int parse_hex(const char *text, size_t len, uint64_t *ret_value);
/* yes no true false on off 1 0, in any case. */
int parse_bool(const char *text, bool *ret_value);
/* "90", "90s", "1500ms", "2m", "1h", "7d": nanoseconds. A fraction is allowed: "0.5s". */
int parse_duration_ns(const char *text, uint64_t *ret_ns);
/* "512", "64k", "128M", "1G": bytes, in powers of 1024. */
int parse_bytes(const char *text, uint64_t *ret_bytes);
/* "0-3,5,8-9" as the kernel writes CPU lists, with or without its newline; calls fn for each, and
 * ends with the first answer that is not 0. -EINVAL for anything else, the empty list included. */
int parse_cpu_list(const char *text, int (*fn)(unsigned cpu, void *arg), void *arg);

/* Copies text to out as valid UTF-8: bytes that are not become U+FFFD, control bytes too. Returns
 * the bytes written without the closing NUL; out is always closed when out_bytes > 0. A character
 * is never cut in half. Two different inputs may become equal. */
size_t text_utf8(const char *text, size_t len, char *out, size_t out_bytes);
bool text_is_utf8(const char *text, size_t len); /* control bytes are allowed here */
/* The length of the UTF-8 character at text and its code; 0 when there is none. */
size_t utf8_char(const char *text, size_t len, uint32_t *ret_code);
/* C0, DEL and C1: what a terminal might obey. */
bool text_is_control(uint32_t code);

/* The length of a path of the kernel without a trailing " (deleted)", never 0 for that. Only the
 * caller can know whether it is the kernel's mark or part of a living file's name. */
size_t path_undeleted_len(const char *path, size_t len);

#endif
