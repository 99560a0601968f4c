/* profiled-attacher: asks Java processes of its own user to name their code, for a daemon that runs
 * as that user. The broker's and the engine's filters allow no connection to anybody; this one may
 * do that, send SIGQUIT and nothing else. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/cleanup.h"
#include "base/hotspot.h"
#include "base/io.h"
#include "base/log.h"
#include "daemon/attach/wire.h"
#include "daemon/sandbox.h"

#define SOCK_FD 3

static void answer_one(const struct attach_request *q, struct attach_answer *answer)
{
	AUTO(buf_done) struct buf why = BUF_INIT;
	struct hotspot_map map = {0};

	memset(answer, 0, sizeof(*answer));
	answer->version = ATTACH_VERSION;
	answer->status = q->version == ATTACH_VERSION && q->pid > 0
		? hotspot_write_perfmap(q->pid, ATTACH_TIMEOUT_MS, &map, &why)
		: -EPROTO;
	answer->ns_pid = map.ns_pid;
	answer->map_bytes = map.map_bytes;
	answer->text_bytes = why.len < ATTACH_TEXT_MAX ? (uint32_t)why.len : ATTACH_TEXT_MAX;
	if (answer->text_bytes > 0)
		memcpy(answer->text, why.data, answer->text_bytes);
}

int main(void)
{
	struct attach_request q;
	struct attach_answer answer;
	int r;

	log_init("attacher", LOG_LEVEL_INFO);
	prctl(PR_SET_NAME, "profiled-attach");
	signal(SIGPIPE, SIG_IGN);
	r = sandbox_attacher();
	if (r < 0) {
		log_error("cannot filter system calls: %s", strerror(-r));
		return 1;
	}
	while (io_recv_fds(SOCK_FD, &q, sizeof(q), NULL, NULL) == sizeof(q)) {
		answer_one(&q, &answer);
		if (io_send_fds(SOCK_FD, &answer, sizeof(answer), NULL, 0) < 0)
			break;
	}
	return 0;
}
