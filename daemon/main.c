/* profiled: reads its settings, makes folders and sockets, starts the engine, and is the broker
 * then. */
#include <config.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/log.h"
#include "daemon/broker/broker.h"
#include "daemon/broker/caps.h"
#include "daemon/broker/spawn.h"
#include "daemon/config.h"
#include "daemon/engine.h"
#include "daemon/notify.h"
#include "daemon/sandbox.h"
#include "daemon/start/dirs.h"
#include "daemon/start/identity.h"
#include "daemon/start/listen.h"
#include "daemon/start/options.h"

#define EXIT_FAILED 1
#define EXIT_USAGE  2
#define NICE        -5
#define TOKEN_BYTES ((ENGINE_TOKEN_BYTES - 1) / 2)
#define REPORT_FD   3
#define KERNEL_FD   4

/* Of one start. The descriptors up to notify_fd go to the engine and are closed here then. */
struct start {
	struct options options;
	struct config builtin, config;
	struct identity who;
	bool as_root;
	uid_t self_uid; /* before any change */
	int runtime_lock, state_lock, state_dir;
	int unix_fd, tcp_fd, notify_fd, attacher_fd;
	bool own_socket;
	char token[ENGINE_TOKEN_BYTES];
	char engine_path[PATH_MAX], reader_path[PATH_MAX];
	int engine_fd, reader_fd;
};

static int fail(struct buf *message, const char *what, int error)
{
	if (message->len > 0)
		log_error("%s", message->data);
	else
		log_error("%s: %s", what, strerror(-error));
	return EXIT_FAILED;
}

/* One line of the log for each of a message's. */
static void log_lines(struct buf *message)
{
	char *next = NULL;

	for (char *line = message->data ? strtok_r(message->data, "\n", &next) : NULL; line;
		line = strtok_r(NULL, "\n", &next))
		log_error("%s", line);
}

/* Standard descriptors that are closed would be taken by sockets, and then written to as a log. */
static void open_standard_fds(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

static int raise_limit(int resource)
{
	struct rlimit l;

	if (getrlimit(resource, &l) < 0)
		return -errno;
	l.rlim_cur = l.rlim_max;
	return setrlimit(resource, &l) < 0 ? -errno : 0;
}

/* Beside this program, as in a build folder, or where they are installed. They are opened here, as
 * the user that runs them may not be able to reach them by path. */
static int find_program(const char *name, char path[PATH_MAX], int *ret_fd)
{
	char self[PATH_MAX] = "";
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash = n > 0 ? strrchr(self, '/') : NULL;
	int fd = -1;

	if (slash) {
		*slash = 0;
		if (snprintf(path, PATH_MAX, "%s/%s", self, name) < PATH_MAX)
			fd = open(path, O_PATH | O_CLOEXEC);
	}
	if (fd < 0) {
		snprintf(path, PATH_MAX, "%s/%s", PFL_LIBEXECDIR, name);
		fd = open(path, O_PATH | O_CLOEXEC);
	}
	if (fd < 0) {
		int r = -errno;

		log_error("%s: %s; profiled is not installed whole", path, strerror(-r));
		return r;
	}
	*ret_fd = fd;
	return 0;
}

static const char *engine_name(const struct start *s)
{
	return s->options.todo == OPTIONS_REPORT ? "profiled-report" : "profiled-engine";
}

static int find_programs(struct start *s)
{
	int r = find_program(engine_name(s), s->engine_path, &s->engine_fd);

	return r < 0 ? r : find_program("profiled-reader", s->reader_path, &s->reader_fd);
}

static int runtime_path(const struct start *s, const char *name, char path[PATH_MAX])
{
	int n = snprintf(path, PATH_MAX, "%s/%s", s->config.runtime_dir, name);

	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

static int open_sockets(struct start *s, struct buf *message)
{
	struct activation given = {-1, -1};
	char path[PATH_MAX];
	int bad = -1, r;

	r = notify_sockets(&given, &bad);
	if (r < 0) {
		buf_printf(message,
			"descriptor %d was handed to us, but is no listening Unix or TCP socket, "
			"or "
			"the second of its kind",
			bad);
		return r;
	}
	s->unix_fd = given.unix_fd;
	s->tcp_fd = given.tcp_fd;
	if (s->tcp_fd >= 0) {
		r = listen_check_tcp(s->tcp_fd, s->config.allow_remote, message);
		if (r < 0)
			return r;
	} else if (strcmp(s->config.listen, "off") != 0) {
		r = listen_tcp(s->config.listen, s->config.allow_remote, &s->tcp_fd, message);
		if (r < 0)
			return r;
	}
	if (s->unix_fd >= 0)
		return 0;
	s->own_socket = true;
	r = runtime_path(s, "profiled.sock", path);
	return r < 0 ? r : listen_unix(path, &s->unix_fd, message);
}

static int make_token(char token[ENGINE_TOKEN_BYTES])
{
	unsigned char random[TOKEN_BYTES];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return -EIO;
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(token + 2 * i, 3, "%02x", random[i]);
	return 0;
}

static int write_line(const struct start *s, const char *name, const char *line, mode_t mode)
{
	char path[PATH_MAX], text[256];
	int r = runtime_path(s, name, path);

	if (r < 0)
		return r;
	snprintf(text, sizeof(text), "%s\n", line);
	r = io_write_atomic(path, text, strlen(text), mode);
	if (r < 0)
		log_error("%s: %s", path, strerror(-r));
	return r;
}

/* For whoever runs the daemon, and for the group that sees all over the Unix socket: Prometheus,
 * say, is its own user and reads it for each scrape. */
static int publish_token(const struct start *s)
{
	char path[PATH_MAX];
	int r = write_line(s, "token", s->token, 0600);

	if (r < 0 || s->who.group == (gid_t)-1)
		return r;
	r = runtime_path(s, "token", path);
	/* Who is no member of it has no file of that group, and keeps the token to himself. */
	if (r == 0 && chown(path, (uid_t)-1, s->who.group) == 0 && chmod(path, 0640) < 0)
		r = -errno;
	return r;
}

/* What a client on this host needs to know for TCP; what an earlier daemon left is no longer true.
 */
static int publish_address(struct start *s)
{
	char path[PATH_MAX], url[128];
	int r = make_token(s->token);

	if (r < 0)
		return r;
	if (s->tcp_fd < 0) {
		if (runtime_path(s, "http", path) == 0)
			(void)unlink(path);
		if (runtime_path(s, "token", path) == 0)
			(void)unlink(path);
		return 0;
	}
	r = listen_url(s->tcp_fd, url, sizeof(url));
	if (r < 0)
		return r;
	r = publish_token(s);
	if (r < 0)
		return r;
	log_info("listening on %s", url);
	return write_line(s, "http", url, 0644);
}

static int prepare(struct start *s, struct buf *message)
{
	int r = identity_find(&s->config, s->as_root, &s->who, message);

	if (r < 0)
		return r;
	if (s->who.unnamed)
		log_warning(
			"there is no user '%s': running as user %u; create it (useradd --system "
			"--no-create-home %s), or name another by daemon.user or --user",
			s->config.user, s->who.uid, s->config.user);
	r = dirs_runtime(s->config.runtime_dir, &s->runtime_lock, message);
	if (r < 0)
		return r;
	r = dirs_state(s->config.state_dir, s->who.uid, s->who.gid, &s->state_dir, &s->state_lock,
		message);
	if (r < 0)
		return r;
	r = open_sockets(s, message);
	if (r < 0)
		return r;
	r = publish_address(s);
	if (r < 0)
		return r;
	r = notify_open(&s->notify_fd);
	if (r < 0 && r != -ENOENT)
		log_warning("NOTIFY_SOCKET: %s", strerror(-r));
	return 0;
}

/* The recording is on stdin, the profile goes to stdout, and what is to be said of it to the third
 * descriptor. The fourth is of a file that keeps the kernel's symbols, or of /dev/null. There is no
 * folder. */
static int prepare_report(struct start *s, struct buf *message)
{
	int r = identity_find(&s->config, s->as_root, &s->who, message);

	if (r < 0)
		return r;
	s->unix_fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, KERNEL_FD + 1);
	s->tcp_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, KERNEL_FD + 1);
	s->notify_fd = fcntl(REPORT_FD, F_DUPFD_CLOEXEC, KERNEL_FD + 1);
	s->state_dir = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (s->notify_fd < 0 || s->state_dir < 0)
		return -errno;
	s->state_lock = fcntl(KERNEL_FD, F_DUPFD_CLOEXEC, KERNEL_FD + 1);
	close(REPORT_FD);
	close(KERNEL_FD);
	return 0;
}

static int write_setup(const struct start *s, int *ret_fd)
{
	static struct engine_setup setup; /* some 25 KiB */
	AUTO(close_auto) int fd = memfd_create("setup", MFD_CLOEXEC);
	int r;

	if (fd < 0)
		return -errno;
	if (s->options.overrides.len > sizeof(setup.overrides))
		return -E2BIG;
	setup.bytes = sizeof(setup);
	setup.config = s->config;
	setup.builtin = s->builtin;
	setup.overrides_bytes = (uint32_t)s->options.overrides.len;
	if (setup.overrides_bytes > 0)
		memcpy(setup.overrides, s->options.overrides.data, setup.overrides_bytes);
	strcpy(setup.config_path, s->options.config_path);
	setup.config_named = s->options.config_named;
	strcpy(setup.token, s->token);
	setup.has_unix = s->unix_fd >= 0;
	setup.has_tcp = s->tcp_fd >= 0;
	setup.has_notify = s->notify_fd >= 0;
	setup.has_attacher = s->attacher_fd >= 0;
	setup.own_socket = s->own_socket;
	setup.self_uid = s->self_uid;
	setup.group = s->who.group;
	setup.watchdog_ns = notify_watchdog_ns();
	if (s->options.todo == OPTIONS_REPORT &&
		snprintf(setup.query, sizeof(setup.query), "%s", s->options.report) >=
			(int)sizeof(setup.query))
		return -E2BIG;
	r = io_write_all(fd, &setup, sizeof(setup));
	explicit_bzero(setup.token, sizeof(setup.token));
	if (r < 0)
		return r;
	*ret_fd = MOVE_FD(fd);
	return 0;
}

static int start_engine(struct start *s, int sock, pid_t *ret_pid)
{
	const char *const argv[] = {engine_name(s), NULL};
	AUTO(close_auto) int setup = -1;
	struct spawn engine;
	int r = write_setup(s, &setup);

	if (r < 0)
		return r;
	engine = (struct spawn){
		.path = s->engine_path,
		.program_fd = s->engine_fd,
		.dir_fd = s->state_dir,
		.argv = argv,
		.fds = {setup, sock, s->unix_fd, s->tcp_fd, s->notify_fd, s->attacher_fd,
			s->state_lock},
		.fd_count = ENGINE_FDS,
		.uid = s->who.uid,
		.gid = s->who.gid,
		.caps = CAPS_ENGINE,
		.death_signal = s->options.todo == OPTIONS_REPORT ? SIGKILL : 0,
	};
	r = spawn(&engine, ret_pid);
	close(MOVE_FD(s->engine_fd));
	close(MOVE_FD(s->state_dir));
	close_auto(&s->unix_fd);
	close_auto(&s->tcp_fd);
	close_auto(&s->notify_fd);
	close_auto(&s->attacher_fd);
	return r;
}

/* Of an own daemon alone: no more than what its user may do anyway, and to nobody else's processes.
 * A daemon of the system would need rights for it that are worth more than all else it has. */
static int start_attacher(struct start *s)
{
	static const char *const argv[] = {"profiled-attacher", NULL};
	AUTO(close_auto) int program = -1, other = -1;
	char path[PATH_MAX];
	struct spawn attacher;
	int pair[2], r;
	pid_t pid;

	if (s->as_root || caps_permitted() != 0)
		return 0;
	r = find_program("profiled-attacher", path, &program);
	if (r < 0)
		return r;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	s->attacher_fd = pair[0];
	other = pair[1];
	attacher = (struct spawn){
		.path = path,
		.program_fd = program,
		.dir_fd = -1,
		.argv = argv,
		.fds = {other},
		.fd_count = 1,
		.uid = (uid_t)-1,
		.gid = (gid_t)-1,
		.death_signal = SIGKILL,
	};
	return spawn(&attacher, &pid);
}

static int open_signals(int *ret_fd)
{
	static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD};
	sigset_t set;
	int fd;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaddset(&set, signals[i]);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

/* Which capabilities would bring more; the engine says what they would bring. */
static void say_capabilities(uint64_t has)
{
	AUTO(buf_done) struct buf missing = BUF_INIT;

	for (unsigned cap = 0; cap < 64; cap++) {
		if ((CAPS_BROKER & CAP_BIT(cap)) && !(has & CAP_BIT(cap)))
			buf_printf(&missing, "%s%s", missing.len > 0 ? ", " : "", caps_name(cap));
	}
	if (missing.len > 0)
		log_info("running as user %u without %s", geteuid(), missing.data);
	else
		log_debug("running as user %u with all capabilities that are of use", geteuid());
}

static int become_broker(const struct start *s)
{
	int r = caps_become(s->who.uid, s->who.gid, CAPS_BROKER, 0);

	if (r < 0) {
		log_error("cannot become user %u: %s; that needs CAP_SETUID and CAP_SETGID, or "
			  "daemon.user = root",
			s->who.uid, strerror(-r));
		return r;
	}
	log_init("broker", s->config.log_level);
	(void)!chdir("/");
	r = sandbox_broker(s->config.log_level == LOG_LEVEL_DEBUG);
	if (r < 0)
		log_error("cannot filter system calls: %s", strerror(-r));
	return r;
}

static int serve(struct start *s, int sock, pid_t engine_pid, int signal_fd, bool ipc_lock)
{
	struct broker_setup setup = {
		.sock = sock,
		.engine_pid = engine_pid,
		.config_path = s->options.config_path,
		.reader_path = s->reader_path,
		.reader_fd = s->reader_fd,
		.reader_memory_bytes = s->config.reader_memory_bytes,
		.reader_cpu_seconds = s->config.reader_cpu_seconds,
		.child_uid = (uid_t)-1, /* that which we have become */
		.child_gid = (gid_t)-1,
		.engine_ipc_lock = ipc_lock,
		.engine_ends = s->options.todo == OPTIONS_REPORT,
		.signal_fd = signal_fd,
	};

	if (become_broker(s) < 0) {
		kill(engine_pid, SIGKILL);
		return EXIT_FAILED;
	}
	say_capabilities(caps_effective());
	return broker_serve(&setup);
}

static int run(struct start *s)
{
	bool ipc_lock = caps_permitted() & CAPS_ENGINE;
	AUTO(buf_done) struct buf message = BUF_INIT;
	int pair[2], signal_fd = -1, r;
	pid_t engine_pid;

	r = find_programs(s);
	if (r < 0)
		return EXIT_FAILED;
	r = open_signals(&signal_fd);
	if (r < 0)
		return fail(&message, "signals", r);
	(void)raise_limit(RLIMIT_NOFILE);
	(void)raise_limit(RLIMIT_MEMLOCK);
	r = s->options.todo == OPTIONS_REPORT ? prepare_report(s, &message) : prepare(s, &message);
	if (r < 0)
		return fail(&message, "cannot start", r);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return fail(&message, "socketpair", -errno);
	r = start_attacher(s);
	if (r < 0)
		return fail(&message, "profiled-attacher", r);
	r = start_engine(s, pair[1], &engine_pid);
	close(pair[1]);
	if (r < 0)
		return fail(&message, s->engine_path, r);
	return serve(s, pair[0], engine_pid, signal_fd, ipc_lock);
}

static int check_config(struct buf *message, int r)
{
	if (r < 0) {
		fprintf(stderr, "%s\n", message->data);
		return EXIT_USAGE;
	}
	return puts("ok") < 0 || fflush(stdout) != 0 ? EXIT_FAILED : 0;
}

int main(int argc, char **argv)
{
	AUTO(buf_done) struct buf message = BUF_INIT;
	static struct start s = {
		.runtime_lock = -1,
		.state_lock = -1,
		.state_dir = -1,
		.unix_fd = -1,
		.tcp_fd = -1,
		.notify_fd = -1,
		.attacher_fd = -1,
		.engine_fd = -1,
		.reader_fd = -1,
	};
	int r;

	open_standard_fds();
	log_init("profiled", LOG_LEVEL_INFO);
	if (options_parse(argc, argv, &s.options, &message) < 0) {
		fprintf(stderr, "profiled: %s\n\n%s", message.data, options_usage());
		return EXIT_USAGE;
	}
	if (s.options.todo == OPTIONS_HELP)
		return fputs(options_usage(), stdout) < 0 ? EXIT_FAILED : 0;
	if (s.options.todo == OPTIONS_VERSION)
		return puts(PACKAGE_STRING) < 0 ? EXIT_FAILED : 0;

	s.self_uid = geteuid();
	s.as_root = s.self_uid == 0;
	config_defaults(&s.builtin, s.as_root);
	if (s.options.todo == OPTIONS_REPORT) {
		/* Whoever looks at a file need not be able to read the daemon's settings. */
		s.config = s.builtin;
		s.config.log_level = LOG_LEVEL_WARNING;
		log_set_level(s.config.log_level);
		return run(&s);
	}
	r = options_config(&s.options, &s.builtin, &s.config, &message);
	if (s.options.todo == OPTIONS_CHECK)
		return check_config(&message, r);
	if (r < 0) {
		log_lines(&message);
		return EXIT_USAGE;
	}
	log_set_level(s.config.log_level);
	/* On a busy machine, which is when people look, the sampler has to get its turn before the
	 * rings are full. Its own use is small; the reader lowers itself again. Refused without
	 * CAP_SYS_NICE. */
	(void)setpriority(PRIO_PROCESS, 0, NICE);
	return run(&s);
}
