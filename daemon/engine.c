/* profiled-engine: samples, unwinds, names, answers HTTP. Started by profiled, of no use by itself.
 */
#include "daemon/engine.h"

#include <config.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/heap.h"
#include "base/io.h"
#include "base/log.h"
#include "daemon/attach/client.h"
#include "daemon/broker/client.h"
#include "daemon/http/server.h"
#include "daemon/notify.h"
#include "daemon/proc/cgroup.h"
#include "daemon/run/run.h"
#include "daemon/run/targets.h"
#include "daemon/sandbox.h"
#include "daemon/start/options.h"
#include "daemon/store/store.h"
#include "daemon/symbol/names.h"
#include "daemon/symbol/sigbus.h"

#define NS_PER_MS    UINT64_C(1000000)
#define NS_PER_S     UINT64_C(1000000000)
#define STUCK_NS     (10 * NS_PER_S) /* the sampler ends a round each second when it is idle */
#define SHUTDOWN_S   15              /* the broker waits 20 s */
#define WATCHDOG_MAX (NS_PER_S * 5)  /* between two looks at the sampler */

/* All that lives while the engine does; torn down in reverse. */
struct engine {
	struct engine_setup *setup;
	struct config config; /* in force */
	int broker_hangup;    /* a duplicate of the broker's socket, to see its end */
	int signal_fd, notify_fd;
	struct broker *broker;
	struct attacher *attacher; /* NULL: none was started */
	struct names *names;
	struct store *store;
	struct run *run;
	struct targets *targets;
	struct http *http;
	uint64_t next_sign_ns;
	bool stuck_told;
	bool orphaned; /* the broker is gone */
};

/* Before the first thread, so that all of them leave these signals to us. */
static int open_signals(int *ret_fd)
{
	sigset_t set;
	int fd;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

static int step(int r, const char *what)
{
	if (r < 0)
		log_error("%s: %s", what, strerror(-r));
	return r;
}

static int open_store(struct engine *e)
{
	struct store_options options = {
		.max_bytes = e->config.store_max_bytes,
		.max_age_s = e->config.store_max_age_ns / NS_PER_S,
		.free_floor_bytes = e->config.store_free_floor_bytes,
	};

	/* The working directory, which we may not be able to reach by its path. */
	return store_new(".", &options, &e->store);
}

static int open_http(struct engine *e)
{
	struct http_setup setup = {
		.config = &e->config,
		.run = e->run,
		.targets = e->targets,
		.names = e->names,
		.store = e->store,
		.broker = e->broker,
		.attacher = e->attacher,
		.unix_fd = e->setup->has_unix ? ENGINE_FD_UNIX : -1,
		.tcp_fd = e->setup->has_tcp ? ENGINE_FD_TCP : -1,
		.token = e->setup->token,
		.self_uid = e->setup->self_uid,
		.group = e->setup->group,
	};

	return http_new(&setup, &e->http);
}

/* Without the broker we are about to end, and should not answer in the place of who comes next. */
static int check_broker(const struct engine *e)
{
	struct pollfd p = {.fd = e->broker_hangup};

	return poll(&p, 1, 0) > 0 ? -EPIPE : 0;
}

static int build(struct engine *e)
{
	int r = step(sigbus_install(), "SIGBUS handler");

	if (r == 0)
		r = step(broker_new(ENGINE_FD_BROKER, &e->broker), "broker");
	if (r == 0 && cgroup_find_root(e->broker) < 0)
		log_warning("paths of cgroups are those that this container sees");
	if (r == 0 && e->setup->has_attacher)
		r = step(attacher_new(ENGINE_FD_ATTACHER, &e->attacher), "attacher");
	if (r == 0)
		r = step(names_new(e->broker, e->config.names_cache_bytes, &e->names), "names");
	if (r == 0)
		r = step(open_store(e), e->config.state_dir);
	if (r == 0)
		r = step(run_new(&e->config, e->broker, e->names, e->store, &e->run), "sampler");
	if (r == 0)
		r = step(targets_new(e->broker, &e->targets), "targets");
	if (r == 0)
		r = step(check_broker(e), "broker");
	return r == 0 ? step(open_http(e), "HTTP") : r;
}

static void tear_down(struct engine *e)
{
	http_free(e->http);
	targets_free(e->targets);
	run_free(e->run);
	store_free(e->store);
	names_free(e->names);
	attacher_free(e->attacher);
	broker_free(e->broker);
}

static void say_abilities(struct run *run)
{
	struct ability all[RUN_ABILITIES_MAX];
	unsigned count = run_abilities(run, all);

	for (unsigned i = 0; i < count; i++) {
		if (!all[i].there)
			log_info("without %s: %s%s%s", all[i].name, all[i].reason,
				all[i].remedy[0] ? "; " : "", all[i].remedy);
	}
}

/* The file's new settings on top of the built-in ones, below those of the command line. */
static int read_config(struct engine *e, struct config *ret_config, struct buf *message)
{
	AUTO(buf_done) struct buf text = BUF_INIT;
	AUTO(close_auto) int fd = -1;
	struct config config = e->setup->builtin;
	int r = broker_open_host(e->broker, BROKER_HOST_CONFIG, &fd);

	if (r == 0)
		r = io_read_fd(fd, CONFIG_FILE_MAX, &text);
	if (r < 0 && (r != -ENOENT || e->setup->config_named)) {
		buf_append_str(message, strerror(-r));
		return r;
	}
	r = config_parse(&config, text.data ? text.data : "", text.len, message);
	if (r == 0)
		r = options_override(
			e->setup->overrides, e->setup->overrides_bytes, &config, message);
	if (r == 0)
		r = config_check(&config, message);
	if (r == 0)
		*ret_config = config;
	return r;
}

static void reload(struct engine *e)
{
	AUTO(buf_done) struct buf message = BUF_INIT;
	AUTO(buf_done) struct buf fixed = BUF_INIT;
	struct config config = e->config;
	char *next = NULL;

	notify_send(e->notify_fd, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, time_mono_ns() / 1000);
	if (read_config(e, &config, &message) < 0) {
		for (char *line = strtok_r(message.data, "\n", &next); line;
			line = strtok_r(NULL, "\n", &next))
			log_error("%s: %s", e->setup->config_path, line);
		log_error("the settings are left as they were");
	} else {
		config_changed_fixed(&e->config, &config, &fixed);
		if (fixed.len > 0)
			log_warning("changed at the next start only: %s", fixed.data);
		e->config = config;
		log_set_level(config.log_level);
		run_reload(e->run, &e->config);
		http_reload(e->http, &e->config);
		log_info("settings read again");
	}
	notify_send(e->notify_fd, "READY=1");
}

/* Tells the service manager that we live, but only if the sampler does. */
static void give_sign(struct engine *e, uint64_t now_ns)
{
	struct run_stats stats;

	run_get_stats(e->run, &stats);
	if (now_ns > stats.last_round_ns && now_ns - stats.last_round_ns > STUCK_NS) {
		if (!e->stuck_told)
			log_error("the sampler has not finished a round for %" PRIu64 " s",
				(now_ns - stats.last_round_ns) / NS_PER_S);
		e->stuck_told = true;
		return;
	}
	e->stuck_told = false;
	notify_send(e->notify_fd, "WATCHDOG=1");
}

/* Half of what is asked for, so that one late sign does no harm. */
static uint64_t sign_every_ns(const struct engine *e)
{
	uint64_t half_ns = e->setup->watchdog_ns / 2;

	return half_ns < WATCHDOG_MAX ? half_ns : WATCHDOG_MAX;
}

static int wait_ms(struct engine *e)
{
	uint64_t now_ns = time_mono_ns();

	if (e->setup->watchdog_ns == 0)
		return -1;
	if (now_ns >= e->next_sign_ns) {
		give_sign(e, now_ns);
		e->next_sign_ns = now_ns + sign_every_ns(e);
	}
	return (int)((e->next_sign_ns - now_ns) / NS_PER_MS) + 1;
}

/* The first signal may have come to all processes of the daemon, and once more from the broker,
 * which passes it on: only one that comes again from the same sender means it. */
static volatile pid_t senders[2];

/* The signal that came; 0: none. */
static int next_signal(struct engine *e)
{
	struct signalfd_siginfo info;

	if (read(e->signal_fd, &info, sizeof(info)) != sizeof(info))
		return 0;
	senders[0] = (pid_t)info.ssi_pid;
	return (int)info.ssi_signo;
}

/* Until there is a reason to end. */
static void serve(struct engine *e)
{
	for (;;) {
		struct pollfd p[] = {
			{.fd = e->signal_fd, .events = POLLIN},
			{.fd = e->broker_hangup}, /* its end is reported without being asked for */
		};
		int n = poll(p, 2, wait_ms(e));

		if (n < 0 && errno != EINTR) {
			log_error("poll: %s", strerror(errno));
			return;
		}
		if (n <= 0)
			continue;
		if (p[1].revents) {
			log_error("the broker is gone; saving and ending");
			e->orphaned = true;
			return;
		}
		switch (next_signal(e)) {
		case SIGHUP: reload(e); break;
		case SIGTERM:
		case SIGINT: return;
		default: break;
		}
	}
}

static void at_once(int signal, siginfo_t *info, void *context)
{
	static const char text[] = "profiled-engine: ending at once, without saving\n";

	if (info->si_pid != senders[0] && senders[1] == 0) {
		senders[1] = info->si_pid;
		return;
	}
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	_exit(1);
}

/* A second signal ends at once; a shutdown that hangs is ended by SIGALRM. */
static void arm_shutdown(void)
{
	struct sigaction action = {.sa_sigaction = at_once, .sa_flags = SA_SIGINFO | SA_RESTART};
	sigset_t set;

	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	alarm(SHUTDOWN_S);
}

/* Where we may write there: as root's it is left, and replaced at the next start. Without a broker
 * that next start may have been already. */
static void remove_runtime_files(const struct engine *e)
{
	static const char *const names[] = {"profiled.sock", "token", "http"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[sizeof(e->config.runtime_dir) + 32];

		snprintf(path, sizeof(path), "%s/%s", e->setup->config.runtime_dir, names[i]);
		if (i > 0 || e->setup->own_socket)
			(void)unlink(path);
	}
}

static int run_engine(struct engine *e)
{
	int r;

	e->broker_hangup = fcntl(ENGINE_FD_BROKER, F_DUPFD_CLOEXEC, 0);
	if (e->broker_hangup < 0)
		return step(-errno, "broker");
	r = build(e);
	if (r == 0) {
		say_abilities(e->run);
		notify_send(e->notify_fd, "READY=1\nSTATUS=Serving profiles");
		log_info("ready");
		serve(e);
		notify_send(e->notify_fd, "STOPPING=1\nSTATUS=Saving profiles");
	}
	arm_shutdown();
	tear_down(e);
	if (r == 0 && !e->orphaned)
		remove_runtime_files(e);
	return r;
}

int main(int argc, char **argv)
{
	static struct engine_setup setup;
	static struct engine e = {.setup = &setup, .notify_fd = -1};
	int r;

	if (argc != 1 || engine_read_setup(&setup) < 0) {
		fputs("profiled-engine is started by profiled(8)\n", stderr);
		return 2;
	}
	prctl(PR_SET_NAME, "profiled-engine");
	heap_setup();
	umask(077);
	e.config = setup.config;
	if (setup.has_notify)
		e.notify_fd = ENGINE_FD_NOTIFY;
	log_init("engine", e.config.log_level);
	r = step(open_signals(&e.signal_fd), "signals");
	if (r == 0)
		r = step(sandbox_engine(e.config.log_level == LOG_LEVEL_DEBUG), "sandbox");
	if (r == 0)
		r = run_engine(&e);
	return r < 0 ? 1 : 0;
}
