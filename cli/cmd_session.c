/* start, stop, delete, rename, list, show. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/screen.h"
#include "cli/table.h"

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

int cmd_rename(struct cli *cli, int argc, char **argv)
{
	AUTO(buf_done) struct buf body = BUF_INIT;
	AUTO(free_auto) char *json = NULL;
	cJSON *change;
	char path[64], name[256];
	uint64_t id;
	int e;

	if (argc != 3)
		return usage_error(
			"rename takes a session id and its new name, as one word or quoted");
	id = parse_id(argv[1]);
	if (!id)
		return EXIT_USAGE;
	change = cJSON_CreateObject();
	cJSON_AddStringToObject(change, "name", argv[2]);
	json = cJSON_PrintUnformatted(change);
	cJSON_Delete(change);
	snprintf(path, sizeof(path), "/v1/sessions/%llu", (unsigned long long)id);
	e = client_call(cli->client, "PATCH", path, json, &body);
	if (e == EXIT_OK && cli->json)
		print_body(&body);
	else if (e == EXIT_OK)
		printf("session %llu is called %s\n", (unsigned long long)id,
			for_terminal(argv[2], name, sizeof(name)));
	return e;
}

static void list_sessions(const cJSON *answer, struct table *t)
{
	const cJSON *s;

	table_column(t, "ID", ALIGN_RIGHT, 4);
	table_column(t, "State", ALIGN_LEFT, 7);
	table_column(t, "Time", ALIGN_RIGHT, 8);
	table_column(t, "Samples", ALIGN_RIGHT, 8);
	table_column(t, "Lost", ALIGN_RIGHT, 0);
	table_column_of_names(t, "Target", 0);
	table_column_of_names(t, "Name", 0);
	cJSON_ArrayForEach (s, cJSON_GetObjectItemCaseSensitive(answer, "sessions")) {
		const cJSON *ledger = cJSON_GetObjectItemCaseSensitive(s, "ledger");
		bool running = strcmp(get_text(s, "state"), "running") == 0;
		double lost = get_number(ledger, "lost");

		table_cell(t, STYLE_PLAIN, "%.0f", get_number(s, "id"));
		table_cell(t, running ? STYLE_GREEN : STYLE_PLAIN, "%s", get_text(s, "state"));
		table_cell(t, STYLE_PLAIN, "%.1f s", get_number(s, "elapsed_s"));
		table_cell(t, STYLE_PLAIN, "%.0f", get_number(ledger, "samples"));
		table_cell(t, lost > 0 ? STYLE_YELLOW : STYLE_PLAIN, "%.0f", lost);
		table_cell(t, STYLE_PLAIN, "%s", get_text(s, "target_text"));
		table_cell(t, STYLE_PLAIN, "%s", get_text(s, "name"));
	}
}

int cmd_list(struct cli *cli, int argc, char **argv)
{
	AUTO(buf_done) struct buf body = BUF_INIT, out = BUF_INIT;
	AUTO(table_done) struct table table = {0};
	unsigned width = 0, height;
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
	list_sessions(answer, &table);
	if (cli->terminal)
		screen_size(&width, &height);
	table_write(&table, width, cli->color, &out);
	print_body(&out);
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
		return usage_error("show takes one session id: profilectl list shows them");
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
