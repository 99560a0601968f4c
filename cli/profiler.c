#include "cli/profiler.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"

#define STEP_MS     20
#define PATIENCE_MS 60000 /* until it answers: a machine may be busy */
#define END_MS      20000 /* until what was told to end is killed: an engine ends itself after 15 s */
#define LOG_BYTES   4096

/* Between the daemon and us there is a keeper: a process that waits for the end of either, ends the
 * daemon and removes its folder. It notices our end by the socket between us, so that no signal can
 * leave a daemon behind. */
struct profiler {
	struct cli *cli;
	char folder[PATH_MAX - 64];
	pid_t keeper;
	int life; /* ours; the keeper says by it that the daemon has ended */
};

void profiler_path(char path[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - sizeof("profiled"));
	char *slash = NULL;

	if (n > 0) {
		path[n] = 0;
		slash = strrchr(path, '/');
	}
	if (slash) {
		strcpy(slash + 1, "profiled");
		if (access(path, X_OK) == 0)
			return;
	}
	snprintf(path, PATH_MAX, "%s/profiled", PFL_SBINDIR);
}

/* ---- the keeper ---- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)remove(path);
	return 0;
}

/* What both have open is the folder's log alone: nothing of ours that somebody may wait for the end
 * of, as a pipe. */
static void leave_ours(const struct profiler *p, int keep)
{
	char path[PATH_MAX];
	int none = open("/dev/null", O_RDWR | O_CLOEXEC), log;

	snprintf(path, sizeof(path), "%s/log", p->folder);
	log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	(void)dup2(none, STDIN_FILENO);
	(void)dup2(none, STDOUT_FILENO);
	(void)dup2(log < 0 ? none : log, STDERR_FILENO);
	(void)io_close_others(keep);
	(void)setsid(); /* Ctrl-C is not for us */
	for (int sig = 1; sig < SIGRTMIN; sig++)
		signal(sig, sig == SIGHUP || sig == SIGPIPE ? SIG_IGN : SIG_DFL);
}

static pid_t start_daemon(const struct profiler *p)
{
	char path[PATH_MAX], run[PATH_MAX], state[PATH_MAX];
	pid_t keeper = getpid(), pid = fork();

	if (pid != 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != keeper)
		_exit(0);
	snprintf(run, sizeof(run), "%s/run", p->folder);
	snprintf(state, sizeof(state), "%s/state", p->folder);
	profiler_path(path);
	execl(path, "profiled", "--runtime-dir", run, "--state-dir", state, "--listen", "off",
		(char *)NULL);
	dprintf(STDERR_FILENO, "cannot start %s: %s\n", path, strerror(errno));
	_exit(127);
}

static bool ended_within(int pidfd, int ms)
{
	struct pollfd f = {pidfd, POLLIN, 0};
	int n;

	do
		n = poll(&f, 1, ms);
	while (n < 0 && errno == EINTR);
	return n > 0;
}

static void end_daemon(pid_t pid, int pidfd)
{
	kill(pid, SIGTERM);
	if (!ended_within(pidfd, END_MS))
		kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static void keep(const struct profiler *p, int life)
{
	struct pollfd f[2] = {{life, POLLIN, 0}, {-1, POLLIN, 0}};
	pid_t pid;

	leave_ours(p, life);
	(void)prctl(PR_SET_NAME, "profilectl-keep");
	pid = start_daemon(p);
	f[1].fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	if (f[1].fd >= 0) {
		while (poll(f, 2, -1) < 0 && errno == EINTR)
			;
		if (!f[0].revents && write(life, "", 1) == 1)
			while (poll(f, 1, -1) < 0 && errno == EINTR)
				;
		end_daemon(pid, f[1].fd);
	}
	(void)nftw(p->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	_exit(0);
}

/* ---- our side ---- */

static int make_folder(struct profiler *p)
{
	const char *tmp = getenv("TMPDIR");

	if (!tmp || tmp[0] != '/')
		tmp = "/tmp";
	if (snprintf(p->folder, sizeof(p->folder), "%s/profilectl-XXXXXX", tmp) >=
		(int)sizeof(p->folder))
		return -ENAMETOOLONG;
	if (!mkdtemp(p->folder))
		return -errno;
	/* As root it runs as another user, who has to reach its own folders in it. */
	if (geteuid() == 0 && chmod(p->folder, 0711) < 0)
		return -errno;
	return 0;
}

static int start_keeper(struct profiler *p)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	p->keeper = fork();
	if (p->keeper == 0) {
		close(ends[0]);
		/* Kept by its number: the standard ones are others by then. */
		keep(p, fcntl(ends[1], F_DUPFD_CLOEXEC, 3));
	}
	close(ends[1]);
	p->life = ends[0];
	return p->keeper < 0 ? -errno : 0;
}

static int connect_to(struct profiler *p)
{
	char socket[PATH_MAX];
	struct client_where where = {.socket = socket};

	snprintf(socket, sizeof(socket), "%s/run/profiled.sock", p->folder);
	client_free(p->cli->client);
	p->cli->client = NULL;
	return client_new(&where, &p->cli->client);
}

static void say_log(const struct profiler *p)
{
	AUTO(buf_done) struct buf log = BUF_INIT;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/log", p->folder);
	fprintf(stderr, "profilectl: the profiler for this job does not start:\n");
	if (io_read_file(path, 1 << 20, &log) == 0 && log.len) {
		const char *text = log.len > LOG_BYTES ? log.data + log.len - LOG_BYTES : log.data;

		fputs(text, stderr);
	}
}

/* An exit code. */
static int wait_until_ready(struct profiler *p)
{
	struct pollfd f = {p->life, POLLIN, 0};

	for (int waited = 0; waited < PATIENCE_MS; waited += STEP_MS) {
		if (client_probe(p->cli->client) == 0)
			return EXIT_OK;
		if (poll(&f, 1, STEP_MS) > 0)
			break;
	}
	say_log(p);
	return EXIT_FAILED;
}

int profiler_start(struct cli *cli, struct profiler **ret_profiler)
{
	AUTO(profiler_free_auto) struct profiler *p = calloc(1, sizeof(*p));
	int r = p ? 0 : -ENOMEM, e;

	if (r == 0) {
		p->cli = cli;
		p->life = -1;
		r = make_folder(p);
	}
	if (r == 0)
		r = start_keeper(p);
	if (r == 0)
		r = connect_to(p);
	if (r < 0) {
		fprintf(stderr, "profilectl: cannot start a profiler for this job: %s\n",
			strerror(-r));
		return EXIT_FAILED;
	}
	e = wait_until_ready(p);
	if (e == EXIT_OK) {
		cli->alone = true;
		*ret_profiler = MOVE(p);
	}
	return e;
}

void profiler_free(struct profiler *p)
{
	if (!p)
		return;
	client_free(p->cli->client);
	p->cli->client = NULL;
	if (p->life >= 0)
		close(p->life);
	if (p->keeper > 0)
		while (waitpid(p->keeper, NULL, 0) < 0 && errno == EINTR)
			;
	else if (p->folder[0])
		(void)rmdir(p->folder);
	free(p);
}

int profiler_for_job(struct cli *cli, bool alone, struct profiler **ret_profiler)
{
	*ret_profiler = NULL;
	if (!alone && (client_was_named(cli->client) || client_probe(cli->client) == 0))
		return EXIT_OK;
	if (!alone)
		fprintf(stderr,
			"profilectl: no daemon answers at %s: starting a profiler for this job "
			"alone\n",
			client_place(cli->client));
	return profiler_start(cli, ret_profiler);
}
