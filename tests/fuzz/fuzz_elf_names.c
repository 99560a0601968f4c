/* ELF files of any bytes: names, lines and inline frames of some addresses, and unwind rules. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "daemon/cfi/table.h"
#include "daemon/reader/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ADDRS 256

static int memfd_of(const void *data, size_t size)
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	if (fd < 0 || io_write_all(fd, data, size) < 0)
		abort();
	return fd;
}

static void ask(enum reader_op op, int file, int addrs)
{
	struct reader_request req = {.version = READER_VERSION, .op = op, .addr_count = ADDRS};
	struct reader_reply reply;
	int fds[2] = {file, addrs};

	reader_handle(&req, fds, op == READER_DEBUGLINK ? 1 : 2, 100000000, &reply);
	if ((reply.head.status == 0) != (reply.fd >= 0))
		abort();
	if (reply.fd >= 0)
		close(reply.fd);
}

/* Whatever comes of it, the engine takes it. */
static void ask_for_rules(int file)
{
	struct reader_request req = {.version = READER_VERSION, .op = READER_UNWIND};
	struct reader_reply reply;
	struct cfi_table table;
	void *map;

	reader_handle(&req, &file, 1, 100000000, &reply);
	if ((reply.head.status == 0) != (reply.fd >= 0))
		abort();
	if (reply.fd < 0)
		return;
	map = mmap(NULL, reply.head.bytes, PROT_READ, MAP_PRIVATE, reply.fd, 0);
	if (map == MAP_FAILED || cfi_table_check(map, reply.head.bytes, &table) < 0)
		abort();
	munmap(map, reply.head.bytes);
	close(reply.fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t list[ADDRS];
	int file, addrs;

	for (unsigned i = 0; i < ADDRS; i++)
		list[i] = i < 96 ? 0x200 + i * 4 : i < 128 ? 0x1000 + i : 0x400080 + i;
	file = memfd_of(data, size);
	addrs = memfd_of(list, sizeof(list));
	ask(READER_DEBUGLINK, file, addrs);
	ask(READER_SYMBOLS, file, addrs);
	ask(READER_INLINES, file, addrs);
	ask_for_rules(file);
	close(file);
	close(addrs);
	return 0;
}
