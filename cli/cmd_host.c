/* targets, status: about the machine and the daemon. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/screen.h"
#include "cli/table.h"

/* lines: at most so many, on a terminal; UINT_MAX otherwise. */
static void list_targets(const cJSON *answer, unsigned lines, struct table *t)
{
	const cJSON *target;

	table_column(t, "CPU", ALIGN_RIGHT, 7);
	table_column(t, "Memory", ALIGN_RIGHT, 8);
	table_column(t, "Kind", ALIGN_LEFT, 9);
	table_column(t, "PID", ALIGN_RIGHT, 0);
	table_column_of_names(t, "Name", 0);
	cJSON_ArrayForEach (target, cJSON_GetObjectItemCaseSensitive(answer, "targets")) {
		double cpu = get_number(target, "cpu_percent"), pid = get_number(target, "pid");

		if (lines-- == 0)
			break;
		table_cell(t,
			cpu >= 50          ? STYLE_RED
				: cpu >= 1 ? STYLE_GREEN
					   : STYLE_PLAIN,
			"%.1f%%", cpu);
		table_cell(t, STYLE_PLAIN, "%.0f M", get_number(target, "rss_bytes") / 1048576);
		table_cell(t, STYLE_DIM, "%s", get_text(target, "kind"));
		if (pid > 0)
			table_cell(t, STYLE_PLAIN, "%.0f", pid);
		else
			table_cell(t, STYLE_PLAIN, "%s", "");
		table_cell(t, STYLE_PLAIN, "%s", get_text(target, "name"));
	}
}

int cmd_targets(struct cli *cli, int argc, char **argv)
{
	AUTO(buf_done) struct buf body = BUF_INIT;
	AUTO(buf_done) struct buf path = BUF_INIT;
	AUTO(free_auto) char *q = argc == 2 ? client_escape(argv[1]) : NULL;
	AUTO(buf_done) struct buf out = BUF_INIT;
	AUTO(table_done) struct table table = {0};
	unsigned width = 0, height = 0;
	cJSON *answer;
	int e;

	if (argc > 2)
		return usage_error("targets takes one text to look for, or none");
	buf_printf(&path, "/v1/targets%s%s", q ? "?q=" : "", q ? q : "");
	e = client_call(cli->client, "GET", path.data, NULL, &body);
	if (e != EXIT_OK)
		return e;
	if (cli->json) {
		print_body(&body);
		return EXIT_OK;
	}
	answer = parse_answer(&body);
	if (!answer)
		return EXIT_FAILED;
	if (cli->terminal)
		screen_size(&width, &height);
	list_targets(answer, height > 2 ? height - 2 : UINT_MAX, &table);
	table_write(&table, width, cli->color, &out);
	print_body(&out);
	cJSON_Delete(answer);
	return EXIT_OK;
}

static void print_abilities(struct cli *cli, const cJSON *status)
{
	AUTO(buf_done) struct buf out = BUF_INIT;
	const cJSON *item;

	cJSON_ArrayForEach (item, cJSON_GetObjectItemCaseSensitive(status, "abilities")) {
		bool there = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(item, "there"));
		enum style style = there ? STYLE_GREEN : STYLE_YELLOW;

		buf_append_str(&out, "  ");
		style_begin(&out, style, cli->color);
		cells_put(&out, there ? "yes" : "no", 3, ALIGN_LEFT);
		style_end(&out, style, cli->color);
		buf_printf(&out, " %-18s %s\n", get_text(item, "name"), get_text(item, "reason"));
		if (!there)
			buf_printf(&out, "      %-18s -> %s\n", "", get_text(item, "remedy"));
	}
	print_body(&out);
}

int cmd_status(struct cli *cli, int argc, char **argv)
{
	AUTO(buf_done) struct buf body = BUF_INIT;
	const cJSON *item;
	cJSON *status;
	int e;

	if (argc != 1)
		return usage_error("status takes no arguments");
	e = client_call(cli->client, "GET", "/v1/status", NULL, &body);
	if (e != EXIT_OK)
		return e;
	if (cli->json) {
		print_body(&body);
		return EXIT_OK;
	}
	status = parse_answer(&body);
	if (!status)
		return EXIT_FAILED;
	printf("profiled %s, up %.0f s, at %s\n", get_text(status, "version"),
		get_number(status, "uptime_s"), client_place(cli->client));
	print_abilities(cli, status);
	printf("events here:");
	cJSON_ArrayForEach (item, cJSON_GetObjectItemCaseSensitive(status, "events"))
		if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(item, "there")))
			printf(" %s", get_text(item, "name"));
	putchar('\n');
	cJSON_Delete(status);
	return EXIT_OK;
}
