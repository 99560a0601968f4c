#include "base/gzip.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#define LEVEL       1
#define GZIP_WINDOW (15 + 16) /* the largest, and gzip's head and tail; zlib.h */
#define MEMORY      8         /* zlib's default */
#define ROOM        ((size_t)32 << 10)

struct gzip {
	z_stream stream;
};

int gzip_new(struct gzip **ret_gzip)
{
	struct gzip *z = calloc(1, sizeof(*z));

	if (!z)
		return -ENOMEM;
	if (deflateInit2(&z->stream, LEVEL, Z_DEFLATED, GZIP_WINDOW, MEMORY, Z_DEFAULT_STRATEGY) !=
		Z_OK) {
		free(z);
		return -ENOMEM;
	}
	*ret_gzip = z;
	return 0;
}

void gzip_free(struct gzip *z)
{
	if (!z)
		return;
	deflateEnd(&z->stream);
	free(z);
}

/* Until zlib leaves some of the room: then it has nothing more to say. */
static int pump(struct gzip *z, int flush, struct buf *into)
{
	char *at;

	do {
		if (buf_reserve(into, ROOM, &at) < 0)
			return into->error;
		z->stream.next_out = (Bytef *)at;
		z->stream.avail_out = ROOM;
		deflate(&z->stream, flush); /* fails for misuse alone */
		into->len += ROOM - z->stream.avail_out;
		into->data[into->len] = 0;
	} while (z->stream.avail_out == 0);
	return 0;
}

int gzip_add(struct gzip *z, const void *data, size_t len, struct buf *into)
{
	const Bytef *at = data;
	int r = 0;

	while (r == 0 && len > 0) {
		uInt part = len < 1u << 30 ? (uInt)len : 1u << 30;

		z->stream.next_in = (Bytef *)(uintptr_t)at;
		z->stream.avail_in = part;
		r = pump(z, Z_NO_FLUSH, into);
		at += part;
		len -= part;
	}
	return r;
}

int gzip_end(struct gzip *z, struct buf *into)
{
	z->stream.avail_in = 0;
	return pump(z, Z_FINISH, into);
}
