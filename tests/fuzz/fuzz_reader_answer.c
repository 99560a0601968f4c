/* What a reader that was taken over may send back: a message of any bytes, sealed memory of any
 * content or something else in its place, over its socket, to each of the engine's questions. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/io.h"
#include "daemon/cfi/table.h"
#include "daemon/symbol/namestore.h"
#include "daemon/symbol/readerclient.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum shape {
	QUESTION = 3, /* which of the four */
	ANY_HEAD = 4, /* of the input, and not the one that goes with the rest */
	NOT_SEALED = 8,
	NO_MEMORY = 16, /* no descriptor */
	TOO_MANY = 32,  /* two of them */
	SHORT = 64,     /* a part of the head */
};

struct input {
	unsigned shape, count; /* count: how many addresses are asked for */
	const uint8_t *body;
	size_t bytes;
	int readers_end;
};

static int memory(const struct input *in)
{
	int fd = memfd_create("answer", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || io_write_all(fd, in->body, in->bytes) < 0)
		abort();
	if (!(in->shape & NOT_SEALED))
		(void)fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW);
	return fd;
}

/* The answer is there before the question. */
static int start(void *arg, int *ret_sock, pid_t *ret_pid)
{
	struct input *in = arg;
	struct reader_answer head = {.version = READER_VERSION};
	int pair[2], fds[2];
	size_t n = in->shape & NO_MEMORY ? 0 : in->shape & TOO_MANY ? 2 : 1;

	if (in->readers_end >= 0)
		return -ENOENT;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		abort();
	if (in->shape & ANY_HEAD && in->bytes >= sizeof(head)) {
		memcpy(&head, in->body, sizeof(head));
		in->body += sizeof(head);
		in->bytes -= sizeof(head);
	} else {
		head.bytes = in->bytes;
	}
	fds[0] = fds[1] = memory(in);
	if (io_send_fds(pair[1], &head, in->shape & SHORT ? in->count % sizeof(head) : sizeof(head),
		    fds, n) < 0)
		abort();
	close(fds[0]);
	in->readers_end = pair[1];
	*ret_sock = pair[0];
	*ret_pid = 1;
	return 0;
}

/* As names are kept and handed out. */
static void use_names(const struct reader_result *r, const uint64_t *addrs, uint32_t count)
{
	struct namestore *s;
	struct name_answer a;

	if (namestore_new(&s) < 0)
		return;
	if (namestore_add(s, NAMES_INLINES, addrs, count, r, NAME_FROM_DEBUGLINK) < 0 ||
		namestore_answer(s, NAMES_INLINES, addrs, count, &a) < 0)
		abort();
	for (uint32_t i = 0; i < a.starts[count]; i++)
		if (strlen(a.frames[i].name) + strlen(a.frames[i].file) > r->bytes)
			abort();
	namestore_unref(s);
	names_release(&a);
}

static void use_splits(const struct reader_split_list *l, size_t bytes)
{
	for (uint32_t i = 0; i < l->count; i++)
		if (strlen(l->strings + l->splits[i].dir) + strlen(l->strings + l->splits[i].name) >
			bytes)
			abort();
}

static int ask_for_names(struct readerclient *c, const struct reader_fds *files,
	const uint64_t *addrs, uint32_t count)
{
	struct reader_result result;
	int r = readerclient_names(c, READER_INLINES, 0, files, addrs, count, &result);

	if (r == 0 && result.status == 0)
		use_names(&result, addrs, count);
	reader_result_done(&result);
	return r;
}

static int ask_for_splits(struct readerclient *c, const struct reader_fds *files,
	const uint64_t *addrs, uint32_t count)
{
	struct reader_split_list list;
	struct reader_result result;
	int r = readerclient_split(c, files, addrs, count, &list, &result);

	if (r == 0 && result.status == 0)
		use_splits(&list, result.bytes);
	reader_result_done(&result);
	return r;
}

static int ask_for_link(struct readerclient *c, int file)
{
	struct reader_debuglink link;
	struct reader_result result;
	int r = readerclient_debuglink(c, file, -1, &link, &result);

	if (r == 0 && result.status == 0 &&
		(strlen(link.name) >= sizeof(link.name) ||
			strlen(link.alt_name) >= sizeof(link.alt_name) ||
			link.build_id_bytes > sizeof(link.build_id)))
		abort();
	reader_result_done(&result);
	return r;
}

static int ask_for_rules(struct readerclient *c, int file)
{
	struct cfi_table *table = NULL;
	struct reader_result result;
	int r = readerclient_unwind(c, file, -1, &table, &result);

	if (r == 0 && result.status == 0) {
		for (uint32_t i = 0; i < table->count; i++)
			if (cfi_table_find(table, table->base + table->starts[i]) !=
				table->codes[i])
				abort();
		munmap((void *)(uintptr_t)table->map, table->bytes);
		free(table);
	}
	reader_result_done(&result);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader_fds files = {.file = -1, .debug = -1, .alt = -1, .split = -1};
	struct input in = {.readers_end = -1};
	struct readerclient *c;
	uint64_t addrs[256];
	int r;

	if (size < 2)
		return 0;
	in.shape = data[0];
	in.count = data[1];
	in.body = data + 2;
	in.bytes = size - 2;
	for (uint32_t i = 0; i < 256; i++)
		addrs[i] = (uint64_t)i * 16;
	files.file = memfd_create("file", MFD_CLOEXEC);
	if (files.file < 0 || readerclient_new(start, &in, &c) < 0)
		abort();
	switch (in.shape & QUESTION) {
	case 0: r = ask_for_names(c, &files, addrs, in.count); break;
	case 1: r = ask_for_splits(c, &files, addrs, in.count); break;
	case 2: r = ask_for_link(c, files.file); break;
	default: r = ask_for_rules(c, files.file); break;
	}
	if (r != 0 && r != -EIO)
		abort();
	readerclient_free(c);
	close(in.readers_end);
	close(files.file);
	return 0;
}
