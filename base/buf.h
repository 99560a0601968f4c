/* Growable bytes with a cap. Belongs to one thread. */
#ifndef PFL_BASE_BUF_H
#define PFL_BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Invariant: data[len] is 0 whenever data is not NULL. Once error is set (-ENOMEM, or -EFBIG over
 * max_bytes) further appends do nothing, so that a writer may check once, at its end. */
struct buf {
	char *data;
	size_t len;
	size_t cap;
	size_t max_bytes; /* 0: no cap */
	int error;
};

/* clang-format off */
#define BUF_INIT {0}
/* clang-format on */

void buf_done(struct buf *b);
void buf_clear(struct buf *b); /* keeps the memory, forgets the error */
/* Of buf_append(): where there is no room yet, or an error. */
int buf_append_growing(struct buf *b, const void *data, size_t len);

static inline int buf_append(struct buf *b, const void *data, size_t len)
{
	if (len >= b->cap - b->len || b->error || b->max_bytes || len == 0)
		return buf_append_growing(b, data, len);
	memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = 0;
	return 0;
}

static inline int buf_append_str(struct buf *b, const char *text)
{
	return buf_append(b, text, strlen(text));
}

static inline int buf_append_char(struct buf *b, char c)
{
	return buf_append(b, &c, 1);
}

int buf_append_u64(struct buf *b, uint64_t value); /* decimal */
int buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int buf_vprintf(struct buf *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* Room for len more bytes and a closing 0 at *ret_at; the caller then adds to b->len what it wrote,
 * and writes data[len] = 0 if it reads data as a string before the next append or buf_take(). */
int buf_reserve(struct buf *b, size_t len, char **ret_at);
/* The bytes as a string that the caller frees; b is empty afterwards. NULL if b has an error. */
char *buf_take(struct buf *b);

#endif
