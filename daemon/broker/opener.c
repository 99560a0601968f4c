#include "daemon/broker/opener.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "daemon/broker/files.h"

#define TIMEOUT_MS 2000

static int open_one(const struct request *q, int *ret_fd)
{
	switch ((enum broker_op)q->head.op) {
	case BROKER_OP_MAPPED: return files_open_mapped(q, ret_fd);
	case BROKER_OP_JITDUMP: return files_open_jitdump(q, ret_fd);
	case BROKER_OP_ELF: return files_open_elf(q, ret_fd);
	case BROKER_OP_PERFMAP: return files_open_perfmap(q, ret_fd);
	default: return -EPERM;
	}
}

/* The child, until the broker closes its end or ends. */
_Noreturn static void serve(int sock, pid_t parent)
{
	static struct request q;

	prctl(PR_SET_NAME, "profiled-opener");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	/* Held by a file system that does not answer it outlives the broker, and must not keep the
	 * broker's locks then: the next daemon could not start. */
	if (io_close_others(sock) < 0)
		_exit(1);
	while (io_recv_fds(sock, &q, sizeof(q), NULL, NULL) == sizeof(q)) {
		int fd = -1, status = open_one(&q, &fd);
		ssize_t n = io_send_fds(sock, &status, sizeof(status), &fd, status == 0 ? 1 : 0);

		if (fd >= 0)
			close(fd);
		if (n < 0)
			break;
	}
	_exit(0);
}

static int start(struct opener *o)
{
	pid_t self = getpid(), pid;
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		close(pair[0]);
		serve(pair[1], self);
	}
	r = pid < 0 ? -errno : 0;
	close(pair[1]);
	if (r < 0) {
		close(pair[0]);
		return r;
	}
	o->pid = pid;
	o->sock = pair[0];
	return 0;
}

void opener_end(struct opener *o)
{
	if (o->pid == 0)
		return;
	close(o->sock);
	kill(o->pid, SIGKILL);
	while (waitpid(o->pid, NULL, 0) < 0 && errno == EINTR)
		;
	o->pid = 0;
}

void opener_ended(struct opener *o, pid_t pid)
{
	if (o->pid == 0 || o->pid != pid)
		return;
	close(o->sock);
	o->pid = 0;
}

static int receive(int sock, int *ret_fd)
{
	struct pollfd p = {.fd = sock, .events = POLLIN};
	int n, status, fd = -1;
	size_t fds = 1;
	ssize_t got;

	do
		n = poll(&p, 1, TIMEOUT_MS);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n == 0 ? -ETIMEDOUT : -errno;
	got = io_recv_fds(sock, &status, sizeof(status), &fd, &fds);
	if (got == -EMSGSIZE)
		return -EMFILE;
	if (got <= 0)
		return -EPIPE;
	if (got != sizeof(status) || status > 0 || (status == 0) != (fds == 1)) {
		if (fds == 1)
			close(fd);
		return -EPIPE;
	}
	if (status == 0)
		*ret_fd = fd;
	return status;
}

static int ask(struct opener *o, const struct request *q, int *ret_fd)
{
	ssize_t n;
	int r;

	if (o->pid == 0) {
		r = start(o);
		if (r < 0)
			return r;
	}
	n = io_send_fds(o->sock, q, sizeof(*q), NULL, 0);
	return n < 0 ? -EPIPE : receive(o->sock, ret_fd);
}

int opener_open(struct opener *o, const struct request *q, int *ret_fd)
{
	bool fresh = o->pid == 0;
	int r = ask(o, q, ret_fd);

	/* It was killed from outside, and has not been reaped yet. */
	if (r == -EPIPE && !fresh) {
		opener_end(o);
		r = ask(o, q, ret_fd);
	}
	if (r == -EPIPE || r == -ETIMEDOUT)
		opener_end(o);
	if (r == -ETIMEDOUT)
		log_warning("process %d: its file system does not answer; a file of it stays "
			    "unread",
			q->head.pid);
	return r == -EPIPE ? -EIO : r;
}
