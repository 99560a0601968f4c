#include "daemon/broker/broker.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/io.h"
#include "base/log.h"
#include "daemon/broker/caps.h"
#include "daemon/broker/host.h"
#include "daemon/broker/request.h"
#include "daemon/broker/spawn.h"

#define READER_EVERY_NS UINT64_C(1000000000)
#define ENGINE_GRACE_NS UINT64_C(20000000000) /* to save all that runs */
#define NS_PER_MS       UINT64_C(1000000)

static void end_reader(struct broker_state *state)
{
	if (state->reader_pid == 0)
		return;
	kill(state->reader_pid, SIGKILL);
	while (waitpid(state->reader_pid, NULL, 0) < 0 && errno == EINTR)
		;
	state->reader_pid = 0;
}

static int start_reader(struct broker_state *state, int sock)
{
	const struct broker_setup *setup = state->setup;
	char memory[24], cpu[16];
	const char *const argv[] = {
		"profiled-reader", "--memory", memory, "--cpu-seconds", cpu, NULL};
	struct spawn s = {
		.path = setup->reader_path,
		.program_fd = setup->reader_fd,
		.dir_fd = -1,
		.argv = argv,
		.fds = {sock},
		.fd_count = 1,
		.uid = setup->child_uid,
		.gid = setup->child_gid,
		.death_signal = SIGKILL,
	};

	snprintf(memory, sizeof(memory), "%" PRIu64, setup->reader_memory_bytes);
	snprintf(cpu, sizeof(cpu), "%u", setup->reader_cpu_seconds);
	return spawn(&s, &state->reader_pid);
}

static int new_reader(struct broker_state *state, int *ret_fd)
{
	uint64_t now_ns = time_mono_ns();
	int pair[2], r;

	if (!state->setup->reader_path)
		return -ENOENT;
	if (state->reader_started_ns && now_ns - state->reader_started_ns < READER_EVERY_NS)
		return -EAGAIN;
	end_reader(state);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	state->reader_started_ns = now_ns;
	r = start_reader(state, pair[1]);
	close(pair[1]);
	if (r < 0) {
		close(pair[0]);
		return r;
	}
	*ret_fd = pair[0];
	return 0;
}

static uint64_t limit_of(int resource)
{
	struct rlimit limit;

	/* The engine was started by us and has our limits. */
	if (getrlimit(resource, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return limit.rlim_cur;
}

static void fill_info(const struct broker_state *state, struct broker_info *info)
{
	const struct broker_setup *setup = state->setup;

	info->caps = caps_effective();
	info->uid = geteuid();
	info->ipc_lock = setup->engine_ipc_lock;
	info->memlock = info->ipc_lock ? UINT64_MAX : limit_of(RLIMIT_MEMLOCK);
	info->nofile = limit_of(RLIMIT_NOFILE);
	info->cgroup2 = host_has_cgroup2();
	info->tracefs = host_has_tracefs();
	info->broker_pid = getpid();
	info->engine_pid = setup->engine_pid;
	info->reader_pid = state->reader_pid;
	info->opener_pid = state->opener.pid;
}

/* What strangers have in memory is nothing that profiling needs. */
static int open_proc(const struct broker_state *state, const struct request *q, int *ret_fd)
{
	pid_t pid = q->head.pid;

	if (q->head.what == BROKER_PROC_MEMORY && pid != getpid() &&
		pid != state->setup->engine_pid && pid != state->reader_pid &&
		pid != state->opener.pid)
		return -EPERM;
	return host_open_proc(q, ret_fd);
}

static int serve_request(struct broker_state *state, const struct request *q,
	struct broker_answer *answer, int *ret_fd)
{
	int r;

	switch ((enum broker_op)q->head.op) {
	case BROKER_OP_PERF: return host_open_perf(q, ret_fd);
	case BROKER_OP_PROC: return open_proc(state, q, ret_fd);
	case BROKER_OP_LIST: return host_list(q, ret_fd);
	case BROKER_OP_MAPPED:
	case BROKER_OP_ELF:
	case BROKER_OP_JITDUMP:
	case BROKER_OP_PERFMAP: return opener_open(&state->opener, q, ret_fd);
	case BROKER_OP_HOST: return host_open(q, state->setup->config_path, ret_fd);
	case BROKER_OP_TRACEPOINT: return host_open_tracepoint(q, ret_fd);
	case BROKER_OP_CGROUP: return host_open_cgroup(q, ret_fd);
	case BROKER_OP_READER:
		r = new_reader(state, ret_fd);
		answer->pid = r == 0 ? state->reader_pid : 0;
		return r;
	case BROKER_OP_INFO: fill_info(state, &answer->info); return 0;
	}
	return -EPERM;
}

void broker_answer(struct broker_state *state, const void *message, size_t len,
	struct broker_answer *ret_answer, int *ret_fd)
{
	static struct request q; /* some kilobytes, and one at a time */

	memset(ret_answer, 0, sizeof(*ret_answer));
	ret_answer->version = BROKER_VERSION;
	*ret_fd = -1;
	ret_answer->status = request_read(message, len, &q);
	if (ret_answer->status == 0)
		ret_answer->status = serve_request(state, &q, ret_answer, ret_fd);
	if (ret_answer->status == -EPROTO || ret_answer->status == -EPERM)
		log_debug("refused request %u: %s", q.head.op, strerror(-ret_answer->status));
}

/* One request. False: the engine has closed its end. */
static bool serve_one(struct broker_state *state, int sock)
{
	static _Alignas(8) char message[BROKER_MESSAGE_MAX];
	struct broker_answer answer;
	ssize_t n = io_recv_fds(sock, message, sizeof(message), NULL, NULL);
	int fd;

	if (n == 0 || n == -ECONNRESET)
		return false;
	/* Too long, or with descriptors, is answered as what it is: no request. */
	broker_answer(state, message, n < 0 ? 0 : (size_t)n, &answer, &fd);
	n = io_send_fds(sock, &answer, sizeof(answer), &fd, fd >= 0 ? 1 : 0);
	if (fd >= 0)
		close(fd);
	return n >= 0 || (n != -EPIPE && n != -ECONNRESET);
}

/* Broker and engine from the first signal to end until the engine has gone. */
struct serving {
	struct broker_state state;
	bool stopping, ended;
	uint64_t kill_at_ns;
	int exit_status;
};

static void say_how(const char *who, pid_t pid, int status)
{
	if (WIFSIGNALED(status))
		log_warning("%s (process %d) was ended by signal %d (%s)", who, pid,
			WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		log_warning("%s (process %d) ended with status %d", who, pid, WEXITSTATUS(status));
}

static void on_child(struct serving *s)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == s->state.reader_pid) {
			s->state.reader_pid = 0;
			/* It ends by itself when the engine lets go of it. */
			if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
				say_how("reader", pid, status);
		}
		opener_ended(&s->state.opener, pid);
		if (pid != s->state.setup->engine_pid)
			continue;
		s->ended = true;
		s->exit_status = 1;
		if ((s->stopping || s->state.setup->engine_ends) && WIFEXITED(status))
			s->exit_status = WEXITSTATUS(status);
		if (s->exit_status != 0 && !(s->state.setup->engine_ends && WIFEXITED(status)))
			say_how("engine", pid, status);
	}
}

static void on_signal(struct serving *s)
{
	struct signalfd_siginfo info;
	pid_t engine = s->state.setup->engine_pid;

	if (read(s->state.setup->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	switch (info.ssi_signo) {
	case SIGCHLD: on_child(s); break;
	case SIGHUP: kill(engine, SIGHUP); break;
	default:
		log_info("%s: ending", strsignal((int)info.ssi_signo));
		kill(engine, SIGTERM);
		if (!s->stopping)
			s->kill_at_ns = time_mono_ns() + ENGINE_GRACE_NS;
		s->stopping = true;
		break;
	}
}

static int wait_ms(const struct serving *s)
{
	uint64_t now_ns = time_mono_ns();

	if (!s->stopping)
		return -1;
	return s->kill_at_ns > now_ns ? (int)((s->kill_at_ns - now_ns) / NS_PER_MS) + 1 : 0;
}

/* The socket is left out when it was closed: then only the engine's end is waited for. */
static void serve_round(struct serving *s, int *sock)
{
	struct pollfd p[] = {
		{.fd = *sock, .events = POLLIN},
		{.fd = s->state.setup->signal_fd, .events = POLLIN},
	};
	int n = poll(p, 2, wait_ms(s));

	if (n < 0 && errno != EINTR) {
		log_error("poll: %s", strerror(errno));
		s->ended = true;
		s->exit_status = 1;
		return;
	}
	if (n == 0 && s->stopping) {
		log_error("the engine does not end; killing it");
		kill(s->state.setup->engine_pid, SIGKILL);
		s->kill_at_ns = time_mono_ns() + ENGINE_GRACE_NS;
	}
	if (n <= 0)
		return;
	if (p[1].revents)
		on_signal(s);
	if (p[0].revents && !serve_one(&s->state, *sock)) {
		close(*sock);
		*sock = -1;
		s->ended |= s->state.setup->engine_pid == 0;
	}
}

int broker_serve(const struct broker_setup *setup)
{
	struct serving s = {.state = {.setup = setup}};
	int sock = setup->sock;

	while (!s.ended)
		serve_round(&s, &sock);
	if (sock >= 0)
		close(sock);
	end_reader(&s.state);
	opener_end(&s.state.opener);
	return s.exit_status;
}
