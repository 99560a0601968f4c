#include "daemon/reader/answer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/io.h"
#include "daemon/reader/demangle.h"
#include "daemon/reader/symtab.h"

#define PART_MAX \
	(READER_ANSWER_MAX / 4) /* each of strings and frames; the whole stays below the cap */

int answer_init(struct answer *a, int raw)
{
	memset(a, 0, sizeof(*a));
	a->raw = raw;
	a->strings.max_bytes = a->frames.max_bytes = PART_MAX;
	a->demangled = malloc(DEMANGLE_OUT_MAX);
	if (!a->demangled || map_new(1024, &a->known) < 0 || map_new(1024, &a->names) < 0 ||
		buf_append_char(&a->strings, 0) < 0) {
		answer_done(a);
		return -ENOMEM;
	}
	return 0;
}

void answer_done(struct answer *a)
{
	buf_done(&a->starts);
	buf_done(&a->frames);
	buf_done(&a->strings);
	map_free(a->known);
	map_free(a->names);
	free(a->demangled);
	memset(a, 0, sizeof(*a));
}

uint32_t answer_string(struct answer *a, const char *text, size_t len)
{
	uint64_t hash = hash_bytes(text, len, 0), at;

	if (len == 0)
		return 0;
	/* Of two strings with the same hash the later one is simply kept once more. */
	if (map_get(a->known, hash, &at) && a->strings.len - at > len &&
		memcmp(a->strings.data + at, text, len) == 0 && a->strings.data[at + len] == 0)
		return (uint32_t)at;
	at = a->strings.len;
	buf_append(&a->strings, text, len);
	buf_append_char(&a->strings, 0);
	if (a->strings.error)
		return 0;
	map_set(a->known, hash, at);
	return (uint32_t)at;
}

uint32_t answer_symbol(struct answer *a, const char *name, const char *suffix)
{
	uint64_t key = (uint64_t)(uintptr_t)name ^ (suffix[0] ? 1ull << 63 : 0), at;
	char bare[DEMANGLE_IN_MAX + 1];
	size_t len = symbol_name_len(name);
	const char *shown = name;
	char *both;

	if (map_get(a->names, key, &at))
		return (uint32_t)at;
	if (len > DEMANGLE_IN_MAX)
		len = DEMANGLE_IN_MAX;
	memcpy(bare, name, len);
	bare[len] = 0;
	shown = a->raw ? bare : demangle(bare, a->demangled);
	if (suffix[0] == 0) {
		at = answer_string(a, shown, strlen(shown));
	} else {
		size_t n = strlen(shown), m = strlen(suffix);
		both = malloc(n + m);
		if (!both)
			return 0;
		memcpy(both, shown, n);
		memcpy(both + n, suffix, m);
		at = answer_string(a, both, n + m);
		free(both);
	}
	map_set(a->names, key, at);
	return (uint32_t)at;
}

void answer_next_address(struct answer *a)
{
	uint32_t n = (uint32_t)(a->frames.len / sizeof(struct reader_frame));

	buf_append(&a->starts, &n, sizeof(n));
}

void answer_frame(struct answer *a, const struct reader_frame *f)
{
	buf_append(&a->frames, f, sizeof(*f));
}

static int new_memfd(void)
{
	int fd = memfd_create("names", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	return fd < 0 ? -errno : fd;
}

static int seal(int fd)
{
	return fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0
		? -errno
		: 0;
}

int answer_seal(const void *data, size_t bytes, int *ret_fd)
{
	AUTO(close_auto) int fd = new_memfd();
	int r;

	if (fd < 0)
		return fd;
	r = io_write_all(fd, data, bytes);
	if (r == 0)
		r = seal(fd);
	if (r == 0)
		*ret_fd = MOVE_FD(fd);
	return r;
}

int answer_to_memfd(struct answer *a, int *ret_fd, uint64_t *ret_bytes)
{
	AUTO(close_auto) int fd = -1;
	struct reader_names head = {0};
	int r;

	answer_next_address(a); /* the closing entry */
	head.addr_count = (uint32_t)(a->starts.len / sizeof(uint32_t)) - 1;
	head.frame_count = (uint32_t)(a->frames.len / sizeof(struct reader_frame));
	head.string_bytes = (uint32_t)a->strings.len;
	if (a->starts.len % 8)
		buf_append(&a->starts, &(uint32_t){0}, 4);
	if (a->starts.error || a->frames.error || a->strings.error)
		return -EFBIG;
	fd = new_memfd();
	if (fd < 0)
		return fd;
	r = io_write_all(fd, &head, sizeof(head));
	if (r == 0)
		r = io_write_all(fd, a->starts.data, a->starts.len);
	if (r == 0)
		r = io_write_all(fd, a->frames.data, a->frames.len);
	if (r == 0)
		r = io_write_all(fd, a->strings.data, a->strings.len);
	if (r == 0)
		r = seal(fd);
	if (r < 0)
		return r;
	*ret_bytes = sizeof(head) + a->starts.len + a->frames.len + a->strings.len;
	*ret_fd = MOVE_FD(fd);
	return 0;
}
