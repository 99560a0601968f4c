/* One message of the engine, which may have been taken over, to the broker: as it is, and over its
 * socket, with descriptors or without. */
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/io.h"
#include "daemon/broker/broker.h"
#include "daemon/broker/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Opening is for real; what forks a child for it is left to the check alone, for speed. */
static bool forks(const struct request *q)
{
	return q->head.op == BROKER_OP_MAPPED || q->head.op == BROKER_OP_ELF ||
		q->head.op == BROKER_OP_PERFMAP || q->head.op == BROKER_OP_JITDUMP;
}

static void answer_it(const uint8_t *data, size_t size)
{
	static const struct broker_setup setup = {.sock = -1, .signal_fd = -1};
	struct broker_state state = {.setup = &setup};
	struct broker_answer answer;
	int fd = -1;

	broker_answer(&state, data, size, &answer, &fd);
	assert(answer.status <= 0);
	assert(answer.status == 0 || fd == -1);
	if (fd >= 0)
		close(fd);
}

/* Each message has its answer, whatever it is, but for the empty one, which is the end. */
static void serve_it(const uint8_t *data, size_t size, size_t fd_count)
{
	struct broker_setup setup = {.signal_fd = -1};
	int pair[2], fds[IO_FDS_MAX] = {0}, fd = -1;
	struct broker_answer answer;
	size_t came = 1;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		abort();
	setup.sock = pair[1];
	for (size_t i = 0; i < fd_count; i++)
		fds[i] = pair[0];
	if (io_send_fds(pair[0], data, size, fds, fd_count) != (ssize_t)size)
		abort();
	shutdown(pair[0], SHUT_WR);
	(void)broker_serve(&setup);
	assert(io_recv_fds(pair[0], &answer, sizeof(answer), &fd, &came) ==
		(size ? (ssize_t)sizeof(answer) : 0));
	assert(!size || (answer.version == BROKER_VERSION && answer.status <= 0));
	assert(!size || answer.status == 0 || came == 0);
	/* With descriptors, or longer than any, it is no request. */
	assert(!size || (fd_count == 0 && size <= BROKER_MESSAGE_MAX) || answer.status < 0);
	if (size && came == 1)
		close(fd);
	close(pair[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct request q;

	if (request_read(data, size, &q) == 0) {
		assert(q.text[sizeof(q.text) - 1] == 0 && q.name[sizeof(q.name) - 1] == 0);
		if (forks(&q))
			return 0;
	}
	answer_it(data, size);
	serve_it(data, size, 0);
	serve_it(data, size, size % 3);
	return 0;
}
