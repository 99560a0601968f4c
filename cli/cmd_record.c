/* record: starts, waits with a progress bar, stops, saves. Of what runs, or of a command that it
 * runs. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hotspot.h"
#include "base/io.h"
#include "cli/cli.h"
#include "cli/launch.h"
#include "cli/profiler.h"

#define STEP_MS         200
#define DEFAULT_SECONDS 10
#define PERFMAP_MS      5000
#define PERFMAP_EARLY   0.7 /* seconds before the end: later, and the session may be over */

enum { OPT_PERFMAP = OPT_OWN };

const struct opt record_options[] = {
	{"output", 'o', "FILE", "where to; - is standard output", WORDS_FILE},
	{"format", 'f', "FORMAT", "how it is written; else the end of the file's name says",
		WORDS_FORMAT},
	{"perfmap", OPT_PERFMAP, NULL, "ask a Java process for the names of its code", WORDS_NONE},
	{"private", OPT_PRIVATE, NULL, "by a profiler of our own, even if a daemon is there",
		WORDS_NONE},
	{NULL, 0, NULL, NULL, WORDS_NONE},
};

/* Ctrl-C ends the recording, not the saving of it. A command gets it too and may go on, so that
 * here the second one ends the recording. One more ends us. */
static volatile sig_atomic_t interrupts, interrupts_taken = 1, terminated;

static void on_interrupt(int sig)
{
	if (sig == SIGTERM)
		terminated = 1;
	if (++interrupts >= interrupts_taken)
		signal(sig, SIG_DFL);
}

struct recording {
	cJSON *request;
	const char *file, *format;
	char **command; /* NULL: none */
	struct launch launch;
	double seconds; /* 0: for as long as the command runs */
	uint64_t id;
	bool alone; /* by a profiler of our own */
	bool over;  /* the session has ended by itself */
	bool bar;
	bool perfmap; /* Java processes are still to be asked for it */
	double samples;
	char name[64]; /* of a file that nobody has named */
};

static int take_options(struct cli *cli, struct recording *r, int argc, char **argv)
{
	bool bad = false;
	int option;

	while ((option = next_option(cli, argc, argv)) != -1) {
		switch (option) {
		case 'o': r->file = optarg; break;
		case 'f': r->format = optarg; break;
		case OPT_PERFMAP: r->perfmap = true; break;
		case OPT_PRIVATE: r->alone = true; break;
		default:
			if (!request_option(r->request, option, optarg, &bad) || bad)
				return EXIT_USAGE;
		}
	}
	if (optind != argc)
		return usage_error("\"%s\" belongs to no option: a command to run stands behind --",
			argv[optind]);
	return EXIT_OK;
}

static int check_options(struct recording *r)
{
	if (r->command && request_targets(r->request))
		return usage_error("give a target or a command, not both");
	if (!r->command && !request_complete(r->request))
		return EXIT_USAGE;
	if (r->perfmap && !cJSON_HasObjectItem(r->request, "pid"))
		return usage_error("--perfmap goes with one --pid");
	if (r->format && !format_named(r->format))
		return unknown_format(r->format);
	r->seconds = get_number(r->request, "duration_s");
	if (r->seconds <= 0 && !r->command) {
		r->seconds = DEFAULT_SECONDS;
		cJSON_AddNumberToObject(r->request, "duration_s", DEFAULT_SECONDS);
	}
	return EXIT_OK;
}

/* What stands behind "--" is the command. */
static int parse_options(struct cli *cli, struct recording *r, int argc, char **argv)
{
	int own = 0, e;

	while (own < argc && strcmp(argv[own], "--") != 0)
		own++;
	if (own < argc) {
		argv[own] = NULL;
		r->command = argv + own + 1;
		if (!*r->command)
			return usage_error("which command? it stands behind --");
	}
	e = take_options(cli, r, own, argv);
	return e == EXIT_OK ? check_options(r) : e;
}

static void draw_bar(const struct recording *r, double elapsed)
{
	char text[96];

	if (!r->bar)
		return;
	snprintf(text, sizeof(text), "%.1f of %.1f s, %.0f samples", fmin(elapsed, r->seconds),
		r->seconds, r->samples);
	progress_draw(elapsed / r->seconds, text);
}

/* One look at the session; its JSON in body. */
static int look(struct cli *cli, struct recording *r, struct buf *body)
{
	char path[64];
	cJSON *session;
	int e;

	snprintf(path, sizeof(path), "/v1/sessions/%llu", (unsigned long long)r->id);
	buf_clear(body);
	e = client_call(cli->client, "GET", path, NULL, body);
	if (e != EXIT_OK)
		return e;
	session = parse_answer(body);
	if (!session)
		return EXIT_FAILED;
	r->over = strcmp(get_text(session, "state"), "running") != 0;
	r->samples = get_number(cJSON_GetObjectItemCaseSensitive(session, "ledger"), "samples");
	cJSON_Delete(session);
	return EXIT_OK;
}

/* In a process of its own, which may have to become the target's user for it. */
static void ask_for_perfmap(struct recording *r)
{
	pid_t target = (pid_t)get_number(r->request, "pid"), child;

	r->perfmap = false;
	child = fork();
	if (child == 0) {
		AUTO(buf_done) struct buf why = BUF_INIT;
		struct hotspot_map map;

		if (hotspot_write_perfmap(target, PERFMAP_MS, &map, &why) < 0)
			fprintf(stderr, "%sprofilectl: %s\n", r->bar ? "\n" : "",
				why.data ? why.data : "no memory");
		_exit(0);
	}
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

/* 200 ms, or until the command has ended. */
static void wait_a_step(const struct recording *r)
{
	struct pollfd f = {r->launch.pid ? r->launch.pidfd : -1, POLLIN, 0};

	(void)poll(&f, 1, STEP_MS);
}

static bool command_has_ended(const struct recording *r)
{
	struct pollfd f = {r->launch.pidfd, POLLIN, 0};

	return r->launch.pid && poll(&f, 1, 0) > 0;
}

static void take_interrupts(const struct recording *r)
{
	struct sigaction act = {.sa_handler = on_interrupt};

	interrupts_taken = r->command ? 2 : 1;
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
}

static int follow(struct cli *cli, struct recording *r, struct buf *body)
{
	uint64_t from = time_mono_ns();

	while (!r->over && interrupts < interrupts_taken && !command_has_ended(r)) {
		double elapsed;
		int e = look(cli, r, body);

		if (e != EXIT_OK)
			return e;
		elapsed = (double)(time_mono_ns() - from) / 1e9;
		draw_bar(r, elapsed);
		if (r->perfmap && !r->over && elapsed > r->seconds - PERFMAP_EARLY)
			ask_for_perfmap(r);
		if (terminated && r->launch.pid)
			kill(r->launch.pid, SIGTERM);
		terminated = 0;
		wait_a_step(r);
	}
	return EXIT_OK;
}

static int wait_for_end(struct cli *cli, struct recording *r, struct buf *body)
{
	char path[64];
	int e = follow(cli, r, body);

	if (r->bar)
		progress_end();
	if (e != EXIT_OK)
		return e;
	if (r->perfmap && !r->over)
		ask_for_perfmap(r);
	snprintf(path, sizeof(path), "/v1/sessions/%llu/stop", (unsigned long long)r->id);
	buf_clear(body);
	return client_call(cli->client, "POST", path, NULL, body);
}

static int report(struct cli *cli, const struct recording *r, const struct buf *body)
{
	const cJSON *ledger;
	cJSON *session;

	if (cli->json) {
		print_body(body);
		return EXIT_OK;
	}
	session = parse_answer(body);
	if (!session)
		return EXIT_FAILED;
	if (r->alone)
		fprintf(stderr, "profile of %.1f s: ", get_number(session, "elapsed_s"));
	else
		fprintf(stderr, "session %llu: ", (unsigned long long)r->id);
	print_ledger(session, stderr);
	ledger = cJSON_GetObjectItemCaseSensitive(session, "ledger");
	if (get_number(ledger, "samples") == 0)
		fprintf(stderr,
			"profilectl: nothing of it used the CPU meanwhile: profilectl targets "
			"shows what does\n");
	/* Standard output is the command's. */
	if (strcmp(r->file, "-") != 0)
		fprintf(r->command ? stderr : stdout, "%s\n", r->file);
	cJSON_Delete(session);
	return EXIT_OK;
}

static int save(struct cli *cli, struct recording *r, const struct buf *body)
{
	const char *format = r->format ? r->format : format_of_file(r->file);
	int e;

	if (!r->file) {
		const char *ending = format_named(format)->ending;

		if (r->alone)
			snprintf(r->name, sizeof(r->name), "profile%s", ending);
		else
			snprintf(r->name, sizeof(r->name), "profile-%llu%s",
				(unsigned long long)r->id, ending);
		r->file = r->name;
	}
	e = save_profile(cli, r->id, format, "", r->file);
	return e == EXIT_OK ? report(cli, r, body) : e;
}

static int record(struct cli *cli, struct recording *r)
{
	AUTO(buf_done) struct buf body = BUF_INIT;
	int e = request_start(cli, r->request, &body, &r->id);

	if (e != EXIT_OK)
		return e;
	r->bar = r->seconds > 0 && !r->command && isatty(STDERR_FILENO) && !cli->json;
	if (r->command && (e = launch_begin(&r->launch)) < 0) {
		fprintf(stderr, "profilectl: cannot run %s: %s\n", r->command[0], strerror(-e));
		forget_session(cli, r->id);
		return e == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUNNABLE;
	}
	e = wait_for_end(cli, r, &body);
	return e == EXIT_OK ? save(cli, r, &body) : e;
}

/* The command's own status, unless the recording of it failed. */
static int record_command(struct cli *cli, struct recording *r)
{
	int e = launch_prepare(r->command, &r->launch), status;

	if (e < 0) {
		fprintf(stderr, "profilectl: no process for %s: %s\n", r->command[0], strerror(-e));
		return EXIT_FAILED;
	}
	cJSON_AddNumberToObject(r->request, "pid", r->launch.pid);
	e = record(cli, r);
	if (r->launch.go_fd >= 0) /* nothing was recorded, so that nothing is run */
		launch_done(&r->launch);
	status = launch_status(&r->launch);
	launch_done(&r->launch);
	return e != EXIT_OK ? e : status;
}

int cmd_record(struct cli *cli, int argc, char **argv)
{
	struct recording r = {.request = cJSON_CreateObject(), .launch = {.pidfd = -1}};
	AUTO(profiler_free_auto) struct profiler *profiler = NULL;
	int e = parse_options(cli, &r, argc, argv);

	if (e == EXIT_OK)
		e = profiler_for_job(cli, r.alone, &profiler);
	r.alone = profiler != NULL;
	if (e == EXIT_OK) {
		take_interrupts(&r);
		e = r.command ? record_command(cli, &r) : record(cli, &r);
	}
	cJSON_Delete(r.request);
	return e;
}
