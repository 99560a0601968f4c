/* start, stop, delete, list, show. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static int take_request(struct cli *cli, cJSON *request, int argc, char **argv)
{
	bool bad = false;
	int option;

	while ((option = next_option(cli, argc, argv)) != -1)
		if (!request_option(request, option, optarg, &bad) || bad)
			return EXIT_USAGE;
	if (optind != argc)
		return usage_error("\"%s\" belongs to no option; profilectl help start shows them",
			argv[optind]);
	return request_complete(request) ? EXIT_OK : EXIT_USAGE;
}

int cmd_start(struct cli *cli, int argc, char **argv)
{
	cJSON *request = cJSON_CreateObject(), *session;
	AUTO(buf_done) struct buf body = BUF_INIT;
	int e = take_request(cli, request, argc, argv);
	char text[256];
	uint64_t id;

	if (e == EXIT_OK)
		e = request_start(cli, request, &body, &id);
	cJSON_Delete(request);
	if (e != EXIT_OK)
		return e;
	if (cli->json) {
		print_body(&body);
		return EXIT_OK;
	}
	session = parse_answer(&body);
	if (!session)
		return EXIT_FAILED;
	printf("session %llu: %s\n", (unsigned long long)id,
		for_terminal(get_text(session, "target_text"), text, sizeof(text)));
	cJSON_Delete(session);
	return EXIT_OK;
}

/* For each id on the command line; the worst exit code is the answer. */
static int for_each_id(struct cli *cli, int argc, char **argv, const char *method,
	const char *suffix, const char *done)
{
	int worst = EXIT_OK;

	if (argc < 2)
		return usage_error("which session? profilectl list shows their ids");
	for (int i = 1; i < argc; i++) {
		uint64_t id = parse_id(argv[i]);
		AUTO(buf_done) struct buf body = BUF_INIT;
		char path[64];
		int e;

		if (!id)
			return EXIT_USAGE;
		snprintf(path, sizeof(path), "/v1/sessions/%llu%s", (unsigned long long)id, suffix);
		e = client_call(cli->client, method, path, NULL, &body);
		if (e > worst)
			worst = e;
		if (e == EXIT_OK && cli->json)
			print_body(&body);
		else if (e == EXIT_OK)
			printf("session %llu %s\n", (unsigned long long)id, done);
	}
	return worst;
}

int cmd_stop(struct cli *cli, int argc, char **argv)
{
	return for_each_id(cli, argc, argv, "POST", "/stop", "stopped");
}

int cmd_delete(struct cli *cli, int argc, char **argv)
{
	return for_each_id(cli, argc, argv, "DELETE", "", "deleted");
}

int cmd_list(struct cli *cli, int argc, char **argv)
{
	AUTO(buf_done) struct buf body = BUF_INIT;
	const cJSON *session;
	cJSON *answer;
	int e;

	if (argc != 1)
		return usage_error("list takes no arguments");
	e = client_call(cli->client, "GET", "/v1/sessions", NULL, &body);
	if (e != EXIT_OK)
		return e;
	if (cli->json) {
		print_body(&body);
		return EXIT_OK;
	}
	answer = parse_answer(&body);
	if (!answer)
		return EXIT_FAILED;
	printf("%6s  %-8s %10s  %10s  %6s  %-36s %s\n", "id", "state", "time", "samples", "lost",
		"target", "name");
	cJSON_ArrayForEach (session, cJSON_GetObjectItemCaseSensitive(answer, "sessions"))
		print_session_line(session);
	cJSON_Delete(answer);
	return EXIT_OK;
}

static void print_session(const cJSON *s)
{
	const cJSON *event, *cost = cJSON_GetObjectItemCaseSensitive(s, "cost");
	char text[256];

	printf("session %.0f  %s%s%s\n", get_number(s, "id"), get_text(s, "state"),
		get_text(s, "ended_by")[0] ? ", ended by " : "", get_text(s, "ended_by"));
	printf("target   %s\n", for_terminal(get_text(s, "target_text"), text, sizeof(text)));
	printf("events  ");
	cJSON_ArrayForEach (event, cJSON_GetObjectItemCaseSensitive(s, "events"))
		printf(" %s", cJSON_IsString(event) ? event->valuestring : "?");
	if (get_number(s, "frequency_hz") > 0)
		printf(" at %.0f Hz\n", get_number(s, "frequency_hz"));
	else
		printf(" every %.0f\n", get_number(s, "period"));
	printf("time     %s, %.1f s\n", get_text(s, "started_at"), get_number(s, "elapsed_s"));
	printf("cost     %.3f s of CPU, %.1f MiB\n", get_number(cost, "cpu_seconds"),
		get_number(cost, "memory_bytes") / 1048576);
	printf("ledger   ");
	print_ledger(s, stdout);
}

int cmd_show(struct cli *cli, int argc, char **argv)
{
	AUTO(buf_done) struct buf body = BUF_INIT;
	char path[64];
	uint64_t id;
	cJSON *session;
	int e;

	if (argc != 2)
		return usage_error("show takes one session id");
	id = parse_id(argv[1]);
	if (!id)
		return EXIT_USAGE;
	snprintf(path, sizeof(path), "/v1/sessions/%llu", (unsigned long long)id);
	e = client_call(cli->client, "GET", path, NULL, &body);
	if (e != EXIT_OK)
		return e;
	if (cli->json) {
		print_body(&body);
		return EXIT_OK;
	}
	session = parse_answer(&body);
	if (!session)
		return EXIT_FAILED;
	print_session(session);
	cJSON_Delete(session);
	return EXIT_OK;
}
