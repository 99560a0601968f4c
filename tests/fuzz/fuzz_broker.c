/* One message of the engine, which may have been taken over, to the broker. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "daemon/broker/broker.h"
#include "daemon/broker/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct broker_setup setup = {.sock = -1, .signal_fd = -1};
	struct broker_state state = {.setup = &setup};
	struct broker_answer answer;
	static struct request q;
	int fd = -1;

	/* Opening is for real; what forks a child for it is left to the check alone, for speed. */
	if (request_read(data, size, &q) < 0)
		return 0;
	assert(q.text[sizeof(q.text) - 1] == 0 && q.name[sizeof(q.name) - 1] == 0);
	if (q.head.op == BROKER_OP_MAPPED || q.head.op == BROKER_OP_ELF ||
		q.head.op == BROKER_OP_PERFMAP || q.head.op == BROKER_OP_JITDUMP)
		return 0;
	broker_answer(&state, data, size, &answer, &fd);
	assert(answer.status <= 0);
	assert(answer.status == 0 || fd == -1);
	if (fd >= 0)
		close(fd);
	return 0;
}
