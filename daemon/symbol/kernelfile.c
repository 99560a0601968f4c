#include "daemon/symbol/kernelfile.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/io.h"
#include "base/map.h"

#define MAGIC     UINT64_C(0x314b4c4650) /* "PFLK1" */
#define BYTES_MAX ((size_t)64 << 20)

/* Followed by bytes of text. */
struct head {
	uint64_t magic;
	struct kernelfile_key key;
	uint64_t bytes, sum;
};

static uint64_t sum_of(const struct head *h, const char *text)
{
	return hash_bytes(text, h->bytes, hash_bytes(&h->key, sizeof(h->key), h->bytes));
}

int kernelfile_load(int fd, const struct kernelfile_key *key, struct buf *into)
{
	struct head h;
	char *at;
	int r;

	if (pread(fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h) || h.magic != MAGIC ||
		memcmp(&h.key, key, sizeof(*key)) != 0 || h.bytes > BYTES_MAX)
		return -ESTALE;
	r = buf_reserve(into, h.bytes, &at);
	if (r < 0)
		return r;
	if (pread(fd, at, h.bytes, sizeof(h)) != (ssize_t)h.bytes || sum_of(&h, at) != h.sum)
		return -ESTALE;
	into->len += h.bytes;
	return 0;
}

/* What is there again only for as long as nobody changes it: "...\t[bpf]",
 * "...\t[__builtin__ftrace]".
 */
static bool is_fleeting(const char *line, size_t len)
{
	const char *tab = memchr(line, '\t', len);
	size_t left = tab ? len - (size_t)(tab - line) : 0;

	return left >= 6 &&
		(memcmp(tab, "\t[bpf]", 6) == 0 ||
			(left >= 11 && memcmp(tab, "\t[__builtin", 11) == 0));
}

int kernelfile_save(int fd, const struct kernelfile_key *key, const char *text, size_t len)
{
	AUTO(buf_done) struct buf kept = BUF_INIT;
	struct head h = {.magic = MAGIC, .key = *key};
	const char *end = text + len, *stop;

	for (; (stop = memchr(text, '\n', (size_t)(end - text))) != NULL; text = stop + 1)
		if (!is_fleeting(text, (size_t)(stop - text)))
			buf_append(&kept, text, (size_t)(stop - text) + 1);
	if (kept.error || kept.len > BYTES_MAX)
		return kept.error ? kept.error : -EFBIG;
	h.bytes = kept.len;
	h.sum = sum_of(&h, kept.data ? kept.data : "");
	if (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	if (io_write_all(fd, &h, sizeof(h)) < 0)
		return -EIO;
	return io_write_all(fd, kept.data ? kept.data : "", kept.len);
}
