#include "base/buf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAP 64

void buf_done(struct buf *b)
{
	free(b->data);
	*b = (struct buf){.max_bytes = b->max_bytes};
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	b->error = 0;
	if (b->data)
		b->data[0] = 0;
}

static int fail(struct buf *b, int error)
{
	b->error = error;
	return error;
}

/* Makes sure that len more bytes and the closing NUL fit. */
static int grow(struct buf *b, size_t len)
{
	size_t cap;
	char *data;

	if (b->error)
		return b->error;
	if (len > SIZE_MAX / 2 - 1 - b->len)
		return fail(b, b->max_bytes ? -EFBIG : -ENOMEM);
	if (b->max_bytes && b->len + len > b->max_bytes)
		return fail(b, -EFBIG);
	if (b->len + len < b->cap)
		return 0;

	cap = b->cap ? b->cap : FIRST_CAP;
	while (cap <= b->len + len)
		cap *= 2;
	data = realloc(b->data, cap);
	if (!data)
		return fail(b, -ENOMEM);
	if (!b->data)
		data[0] = 0;
	b->data = data;
	b->cap = cap;
	return 0;
}

int buf_append_growing(struct buf *b, const void *data, size_t len)
{
	int r = grow(b, len);

	if (r < 0)
		return r;
	if (len > 0)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = 0;
	return 0;
}

int buf_append_u64(struct buf *b, uint64_t value)
{
	char digits[20]; /* of 2^64 - 1 */
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	return buf_append(b, digits + at, sizeof(digits) - at);
}

int buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = buf_vprintf(b, fmt, ap);
	va_end(ap);
	return r;
}

int buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;
	size_t room;
	int r, len;

	r = grow(b, 0);
	if (r < 0)
		return r;

	/* Most of what is printed fits into the spare room, and is then formatted only once. */
	room = b->cap - b->len;
	va_copy(again, ap);
	len = vsnprintf(b->data + b->len, room, fmt, again);
	va_end(again);
	if (len < 0) {
		b->data[b->len] = 0;
		return fail(b, -EINVAL);
	}
	if ((size_t)len >= room || (b->max_bytes && b->len + (size_t)len > b->max_bytes)) {
		b->data[b->len] = 0;
		r = grow(b, (size_t)len);
		if (r < 0)
			return r;
		vsnprintf(b->data + b->len, (size_t)len + 1, fmt, ap);
	}
	b->len += (size_t)len;
	return 0;
}

int buf_reserve(struct buf *b, size_t len, char **ret_at)
{
	int r = grow(b, len);

	if (r < 0)
		return r;
	*ret_at = b->data + b->len;
	return 0;
}

char *buf_take(struct buf *b)
{
	char *data;

	if (grow(b, 0) < 0)
		return NULL;
	data = b->data;
	data[b->len] = 0;
	*b = (struct buf){.max_bytes = b->max_bytes};
	return data;
}
