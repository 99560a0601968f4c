#include "daemon/broker/inprocess.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/broker/broker.h"

#define TEST_READER_MEMORY ((uint64_t)512 << 20)
#define TEST_READER_CPU_S  10

_Noreturn static void serve(
	int sock, pid_t parent, const char *reader_path, const char *config_path)
{
	struct broker_setup setup = {
		.sock = sock,
		.config_path = config_path,
		.reader_path = reader_path,
		.reader_fd = -1,
		.reader_memory_bytes = TEST_READER_MEMORY,
		.reader_cpu_seconds = TEST_READER_CPU_S,
		.child_uid = (uid_t)-1,
		.child_gid = (gid_t)-1,
		.signal_fd = -1,
	};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	_exit(broker_serve(&setup));
}

int broker_inprocess(const char *reader_path, const char *config_path, struct broker **ret_broker,
	pid_t *ret_pid)
{
	pid_t self = getpid(), child;
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	child = fork();
	if (child == 0) {
		close(pair[0]);
		serve(pair[1], self, reader_path, config_path);
	}
	r = child < 0 ? -errno : 0;
	close(pair[1]);
	if (r < 0) {
		close(pair[0]);
		return r;
	}
	r = broker_new(pair[0], ret_broker);
	if (r < 0)
		return r;
	if (ret_pid)
		*ret_pid = child;
	return 0;
}

int broker_inprocess_end(struct broker *b, pid_t pid)
{
	int status;

	broker_free(b);
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EIO;
}
