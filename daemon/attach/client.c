#include "daemon/attach/client.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>

#include "base/io.h"
#include "daemon/attach/wire.h"

#define ANSWER_MS (ATTACH_TIMEOUT_MS + 2000)

struct attacher {
	pthread_mutex_t lock; /* held from a request to its answer */
	int sock;             /* -1 once it went out of step */
};

int attacher_new(int sock, struct attacher **ret_attacher)
{
	AUTO(close_auto) int taken = sock;
	struct attacher *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	pthread_mutex_init(&a->lock, NULL);
	a->sock = MOVE_FD(taken);
	*ret_attacher = a;
	return 0;
}

void attacher_free(struct attacher *a)
{
	if (!a)
		return;
	close_auto(&a->sock);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

static int receive(struct attacher *a, struct attach_answer *answer)
{
	struct pollfd p = {.fd = a->sock, .events = POLLIN};
	int n;

	do
		n = poll(&p, 1, ANSWER_MS);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return -EPIPE;
	if (io_recv_fds(a->sock, answer, sizeof(*answer), NULL, NULL) != sizeof(*answer))
		return -EPIPE;
	return answer->version == ATTACH_VERSION && answer->status <= 0 &&
			answer->text_bytes <= sizeof(answer->text)
		? 0
		: -EPIPE;
}

static int ask(struct attacher *a, pid_t pid, struct attach_answer *answer)
{
	struct attach_request q = {.version = ATTACH_VERSION, .pid = pid};
	int r = -EPIPE;

	if (a->sock >= 0 && io_send_fds(a->sock, &q, sizeof(q), NULL, 0) == sizeof(q))
		r = receive(a, answer);
	/* An answer that came later would be taken for the next one's. */
	if (r < 0 && a->sock >= 0)
		close(MOVE_FD(a->sock));
	return r;
}

int attacher_write_perfmap(
	struct attacher *a, pid_t pid, struct hotspot_map *ret_map, struct buf *why)
{
	struct attach_answer answer = {0};
	int r;

	if (pthread_mutex_trylock(&a->lock) != 0) {
		buf_append_str(why, "another process is being asked: try again in some seconds");
		return -EAGAIN;
	}
	r = ask(a, pid, &answer);
	pthread_mutex_unlock(&a->lock);
	if (r < 0) {
		buf_append_str(why, "the daemon's process for this is gone; its log says why");
		return r;
	}
	buf_append(why, answer.text, answer.text_bytes);
	if (answer.status == 0)
		*ret_map = (struct hotspot_map){
			.ns_pid = answer.ns_pid, .map_bytes = answer.map_bytes};
	return answer.status;
}
