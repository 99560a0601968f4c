/* record: starts, waits with a progress bar, stops, saves. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/hotspot.h"
#include "base/io.h"
#include "cli/cli.h"

#define BAR_CELLS       30
#define STEP_MS         200
#define DEFAULT_SECONDS 10
#define PERFMAP_MS      5000
#define PERFMAP_EARLY   0.7 /* seconds before the end: later, and the session may be over */

enum { OPT_PERFMAP = 512 };

static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
	interrupted = 1;
}

struct recording {
	cJSON *request;
	const char *file;
	double seconds;
	uint64_t id;
	bool over; /* the session has ended by itself */
	bool bar;
	bool perfmap; /* Java processes are still to be asked for it */
	double samples;
	char name[64]; /* of a file that nobody has named */
};

static int parse_options(struct recording *r, int argc, char **argv)
{
	struct option list[REQUEST_OPTIONS + 3];
	bool bad = false;
	int option;

	memcpy(list, request_options, sizeof(request_options));
	list[REQUEST_OPTIONS] = (struct option){"output", required_argument, NULL, 'o'};
	list[REQUEST_OPTIONS + 1] = (struct option){"perfmap", no_argument, NULL, OPT_PERFMAP};
	memset(&list[REQUEST_OPTIONS + 2], 0, sizeof(struct option));
	while ((option = getopt_long(argc, argv, REQUEST_SHORT "o:", list, NULL)) != -1) {
		if (option == 'o')
			r->file = optarg;
		else if (option == OPT_PERFMAP)
			r->perfmap = true;
		else if (!request_option(r->request, option, optarg, &bad) || bad)
			return EXIT_USAGE;
	}
	if (optind != argc)
		return usage_error("\"%s\" belongs to no option", argv[optind]);
	if (!request_complete(r->request))
		return EXIT_USAGE;
	if (r->perfmap && !cJSON_HasObjectItem(r->request, "pid"))
		return usage_error("--perfmap goes with one --pid");
	r->seconds = get_number(r->request, "duration_s");
	if (r->seconds <= 0) {
		r->seconds = DEFAULT_SECONDS;
		cJSON_AddNumberToObject(r->request, "duration_s", DEFAULT_SECONDS);
	}
	return EXIT_OK;
}

static int start(struct cli *cli, struct recording *r)
{
	AUTO(buf_done) struct buf body = BUF_INIT;
	AUTO(free_auto) char *json = cJSON_PrintUnformatted(r->request);
	cJSON *session;
	int e = client_call(cli->client, "POST", "/v1/sessions", json, &body);

	if (e != EXIT_OK)
		return e;
	session = parse_answer(&body);
	if (!session)
		return EXIT_FAILED;
	r->id = (uint64_t)get_number(session, "id");
	cJSON_Delete(session);
	return EXIT_OK;
}

static void draw_bar(const struct recording *r, double elapsed)
{
	double part = fmin(1, elapsed / r->seconds);
	int full = (int)(part * BAR_CELLS);

	if (!r->bar)
		return;
	fputs("\r[", stderr);
	for (int i = 0; i < BAR_CELLS; i++)
		fputc(i < full ? '#' : '.', stderr);
	fprintf(stderr, "] %.1f of %.1f s, %.0f samples ", fmin(elapsed, r->seconds), r->seconds,
		r->samples);
	fflush(stderr);
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

static int wait_for_end(struct cli *cli, struct recording *r, struct buf *body)
{
	uint64_t from = time_mono_ns();
	struct sigaction act = {.sa_handler = on_interrupt};
	double elapsed;
	char path[64];
	int e;

	/* Ctrl-C ends the recording, not the saving of it; a second one ends us. */
	act.sa_flags = SA_RESETHAND;
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	while (!r->over && !interrupted) {
		e = look(cli, r, body);
		if (e != EXIT_OK)
			return e;
		elapsed = (double)(time_mono_ns() - from) / 1e9;
		draw_bar(r, elapsed);
		if (r->perfmap && !r->over && elapsed > r->seconds - PERFMAP_EARLY)
			ask_for_perfmap(r);
		nanosleep(&(struct timespec){0, STEP_MS * 1000000}, NULL);
	}
	if (r->bar)
		fputc('\n', stderr);
	if (r->perfmap && !r->over)
		ask_for_perfmap(r);
	snprintf(path, sizeof(path), "/v1/sessions/%llu/stop", (unsigned long long)r->id);
	buf_clear(body);
	return client_call(cli->client, "POST", path, NULL, body);
}

static int report(struct cli *cli, const struct recording *r, const struct buf *body)
{
	cJSON *session;

	if (cli->json) {
		print_body(body);
		return EXIT_OK;
	}
	session = parse_answer(body);
	if (!session)
		return EXIT_FAILED;
	fprintf(stderr, "session %llu: ", (unsigned long long)r->id);
	print_ledger(session, stderr);
	if (strcmp(r->file, "-") != 0)
		printf("%s\n", r->file);
	cJSON_Delete(session);
	return EXIT_OK;
}

static int record(struct cli *cli, struct recording *r)
{
	AUTO(buf_done) struct buf body = BUF_INIT;
	int e = start(cli, r);

	if (e != EXIT_OK)
		return e;
	r->bar = isatty(STDERR_FILENO) && !cli->json;
	e = wait_for_end(cli, r, &body);
	if (e != EXIT_OK)
		return e;
	if (!r->file) {
		snprintf(r->name, sizeof(r->name), "profile-%llu.svg", (unsigned long long)r->id);
		r->file = r->name;
	}
	e = save_profile(cli, r->id, format_of_file(r->file), "", r->file);
	return e == EXIT_OK ? report(cli, r, &body) : e;
}

int cmd_record(struct cli *cli, int argc, char **argv)
{
	struct recording r = {.request = cJSON_CreateObject()};
	int e = parse_options(&r, argc, argv);

	if (e == EXIT_OK)
		e = record(cli, &r);
	cJSON_Delete(r.request);
	return e;
}
