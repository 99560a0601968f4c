/* What an engine that was taken over may send to the reader: some messages of any bytes, with
 * descriptors of any kind, over its socket. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "daemon/reader/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MESSAGES    4u
#define VDSO_BYTES  0x2000u
#define CPU_SECONDS 60 /* a sanitizer is slow, and a machine may be busy */

enum kind { AN_ELF, BYTES, ADDRS, EMPTY, A_PIPE, A_FOLDER, NO_RIGHTS, AN_EVENT, KINDS };

static const uint8_t *at, *end;

static uint32_t take(unsigned bytes)
{
	uint32_t value = 0;

	for (unsigned i = 0; i < bytes && at < end; i++)
		value |= (uint32_t)*at++ << 8 * i;
	return value;
}

static int memfd_of(const void *data, size_t size)
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	if (fd < 0 || io_write_all(fd, data, size) < 0)
		abort();
	return fd;
}

/* Ascending, unless they overflow. */
static int addrs(void)
{
	uint64_t list[64] = {0};
	uint32_t count = take(1) % 64;

	for (uint32_t i = 0; i < count; i++)
		list[i] = (i ? list[i - 1] : 0) + take(2);
	return memfd_of(list, sizeof(list));
}

static int bytes(void)
{
	size_t size = take(2), left = (size_t)(end - at);
	int fd;

	if (size > left)
		size = left;
	fd = memfd_of(at, size);
	at += size;
	return fd;
}

static int empty_pipe(void)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		abort();
	close(ends[1]);
	return ends[0];
}

static int take_fd(void)
{
	switch ((enum kind)(take(1) % KINDS)) {
	case AN_ELF: return memfd_of((const void *)getauxval(AT_SYSINFO_EHDR), VDSO_BYTES);
	case BYTES: return bytes();
	case ADDRS: return addrs();
	case EMPTY: return memfd_create("input", MFD_CLOEXEC);
	case A_PIPE: return empty_pipe();
	case A_FOLDER: return open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	case NO_RIGHTS: return open("/proc/self/exe", O_PATH | O_CLOEXEC);
	case AN_EVENT: return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	case KINDS: break;
	}
	abort();
}

static void send_one(int sock)
{
	struct reader_request q = {.version = READER_VERSION};
	uint32_t shape = take(1), count = shape & 7;
	size_t len = shape & 8 ? take(1) % (sizeof(q) + 1) : sizeof(q);
	int fds[8] = {0};

	q.op = take(1) % 8;
	q.flags = shape & 16 ? take(4) : take(1);
	q.addr_count = shape & 32 ? take(4) : take(1);
	if (shape & 64)
		q.version = take(4);
	for (uint32_t i = 0; i < count; i++) {
		fds[i] = take_fd();
		if (fds[i] < 0)
			abort();
	}
	if (io_send_fds(sock, &q, len, fds, count) != (ssize_t)len)
		abort();
	for (uint32_t i = 0; i < count; i++)
		close(fds[i]);
}

/* As the engine wants it. False: there is none any more. */
static bool receive_one(int sock)
{
	int fd = -1, seals = F_SEAL_WRITE | F_SEAL_SHRINK;
	struct reader_answer a;
	struct stat st;
	size_t fds = 1;
	ssize_t n = io_recv_fds(sock, &a, sizeof(a), &fd, &fds);

	if (n == 0 || n == -ECONNRESET) /* with requests left */
		return false;
	if (n != sizeof(a) || a.version != READER_VERSION || a.status > 0 ||
		(a.status < 0 && fds != 0))
		abort();
	if (fds == 0)
		return true;
	if ((fcntl(fd, F_GET_SEALS) & seals) != seals || fstat(fd, &st) < 0 ||
		(uint64_t)st.st_size != a.bytes || a.bytes == 0 || a.bytes > READER_ANSWER_MAX)
		abort();
	close(fd);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned sent = 0, answered = 0;
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		abort();
	at = data;
	end = data + size;
	for (; sent < MESSAGES && at < end; sent++)
		send_one(pair[0]);
	shutdown(pair[0], SHUT_WR);
	/* More descriptors than there can be end it. */
	r = reader_serve(pair[1], CPU_SECONDS);
	if (r != 0 && r != -EMSGSIZE)
		abort();
	close(pair[1]);
	while (receive_one(pair[0]))
		answered++;
	if (answered > sent)
		abort();
	close(pair[0]);
	return 0;
}
