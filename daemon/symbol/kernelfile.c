#include "config.h"
#include "daemon/symbol/kernelfile.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/map.h"
#include "daemon/symbol/sigbus.h"

#define MAGIC     UINT64_C(0x324b4c4650) /* "PFLK2" */
#define BYTES_MAX ((size_t)256 << 20)

/* Followed by bytes of packed symbols. */
struct head {
	uint64_t magic;
	char version[16]; /* of the program that made it */
	struct kernelfile_key key;
	uint64_t bytes, sum;
};

static void describe(const struct kernelfile_key *key, struct head *h)
{
	memset(h, 0, sizeof(*h));
	h->magic = MAGIC;
	snprintf(h->version, sizeof(h->version), "%s", PACKAGE_VERSION);
	h->key = *key;
}

/* Some megabytes at each start: four sums side by side, which the processor forms at once. */
static uint64_t sum_of(const void *bytes, size_t len)
{
	uint64_t sums[4] = {1, 2, 3, 4}, words[4];
	size_t at = 0;

	for (; len - at >= sizeof(words); at += sizeof(words)) {
		memcpy(words, (const char *)bytes + at, sizeof(words));
		for (unsigned i = 0; i < 4; i++) {
			sums[i] = (sums[i] ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
			sums[i] ^= sums[i] >> 32;
		}
	}
	return hash_bytes((const char *)bytes + at, len - at, hash_bytes(sums, sizeof(sums), len));
}

/* ---- reading ---- */

/* A mapping begins at a page, and the symbols behind the head. */
static void unmap(void *packed, size_t bytes)
{
	char *map = (char *)packed - sizeof(struct head);

	sigbus_unguard(map);
	munmap(map, bytes + sizeof(struct head));
}

static int map_file(int fd, const struct head *expected, struct kallsyms **ret_syms)
{
	const struct head *h;
	struct stat st;
	size_t bytes;
	char *map;

	if (fstat(fd, &st) < 0 || st.st_size <= (off_t)sizeof(*h) || st.st_size > (off_t)BYTES_MAX)
		return -ESTALE;
	bytes = (size_t)st.st_size - sizeof(*h);
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	h = (const struct head *)map;
	if (sigbus_guard(map, (size_t)st.st_size) < 0 || h->bytes != bytes ||
		memcmp(h, expected, offsetof(struct head, bytes)) != 0 ||
		sum_of(h + 1, bytes) != h->sum) {
		unmap(map + sizeof(*h), bytes);
		return -ESTALE;
	}
	return kallsyms_open_take(map + sizeof(*h), bytes, unmap, ret_syms);
}

int kernelfile_load(int fd, const struct kernelfile_key *key, struct kallsyms **ret_syms)
{
	struct head expected;
	int r;

	describe(key, &expected);
	if (flock(fd, LOCK_SH | LOCK_NB) < 0)
		return -errno;
	r = map_file(fd, &expected, ret_syms);
	if (r < 0)
		(void)flock(fd, LOCK_UN);
	return r;
}

/* ---- writing ---- */

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

/* Without them; they are parsed once more, as they may have ended others. */
static int keep_lasting(const char *text, size_t len, struct kallsyms **ret_syms)
{
	AUTO(buf_done) struct buf kept = BUF_INIT;
	const char *end = text + len, *stop;

	for (; (stop = memchr(text, '\n', (size_t)(end - text))) != NULL; text = stop + 1)
		if (!is_fleeting(text, (size_t)(stop - text)))
			buf_append(&kept, text, (size_t)(stop - text) + 1);
	return kept.error ? kept.error
			  : kallsyms_parse(kept.data ? kept.data : "", kept.len, ret_syms);
}

static int write_file(int fd, struct head *h, const void *packed)
{
	if (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	return io_write_all(fd, h, sizeof(*h)) < 0 ? -EIO : io_write_all(fd, packed, h->bytes);
}

int kernelfile_save(int fd, const struct kernelfile_key *key, const char *text, size_t len)
{
	AUTO(kallsyms_unref_auto) struct kallsyms *k = NULL;
	const void *packed;
	struct head h;
	size_t bytes;
	int r = keep_lasting(text, len, &k);

	if (r < 0)
		return r;
	describe(key, &h);
	packed = kallsyms_packed(k, &bytes);
	if (bytes > BYTES_MAX - sizeof(h))
		return -EFBIG;
	h.bytes = bytes;
	h.sum = sum_of(packed, bytes);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	r = write_file(fd, &h, packed);
	(void)flock(fd, LOCK_UN);
	return r;
}
