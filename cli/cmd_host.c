/* targets, status, open: about the machine and the daemon. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "cli/cli.h"

#define TARGET_LINES 40

int cmd_targets(struct cli *cli, int argc, char **argv)
{
	AUTO(buf_done) struct buf body = BUF_INIT;
	AUTO(buf_done) struct buf path = BUF_INIT;
	AUTO(free_auto) char *q = argc == 2 ? client_escape(argv[1]) : NULL;
	const cJSON *target;
	cJSON *answer;
	char name[128];
	unsigned lines = 0;
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
	printf("%7s  %8s  %-10s %-8s %s\n", "cpu", "memory", "kind", "pid", "name");
	cJSON_ArrayForEach (target, cJSON_GetObjectItemCaseSensitive(answer, "targets")) {
		char pid[16] = "";

		if (lines++ == TARGET_LINES && cli->terminal)
			break;
		if (get_number(target, "pid") > 0)
			snprintf(pid, sizeof(pid), "%.0f", get_number(target, "pid"));
		printf("%6.1f%%  %6.0f M  %-10s %-8s %s\n", get_number(target, "cpu_percent"),
			get_number(target, "rss_bytes") / 1048576, get_text(target, "kind"), pid,
			for_terminal(get_text(target, "name"), name, sizeof(name)));
	}
	cJSON_Delete(answer);
	return EXIT_OK;
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
	cJSON_ArrayForEach (item, cJSON_GetObjectItemCaseSensitive(status, "abilities")) {
		bool there = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(item, "there"));

		printf("  %-3s %-18s %s\n", there ? "yes" : "no", get_text(item, "name"),
			get_text(item, "reason"));
		if (!there)
			printf("      %-18s -> %s\n", "", get_text(item, "remedy"));
	}
	printf("events here:");
	cJSON_ArrayForEach (item, cJSON_GetObjectItemCaseSensitive(status, "events"))
		if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(item, "there")))
			printf(" %s", get_text(item, "name"));
	putchar('\n');
	cJSON_Delete(status);
	return EXIT_OK;
}

/* A one-line file in the daemon's runtime folder. */
static bool read_line(struct cli *cli, const char *name, struct buf *line)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", client_runtime_dir(cli->client), name);
	if (io_read_file(path, 4096, line) < 0)
		return false;
	while (line->len && line->data[line->len - 1] == '\n')
		line->data[--line->len] = 0;
	return line->len > 0;
}

static void show_in_browser(const char *url)
{
	pid_t pid;

	if (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY"))
		return;
	pid = fork();
	if (pid == 0) {
		execlp("xdg-open", "xdg-open", url, (char *)NULL);
		_exit(127);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

int cmd_open(struct cli *cli, int argc, char **argv)
{
	AUTO(buf_done) struct buf base = BUF_INIT;
	AUTO(buf_done) struct buf token = BUF_INIT;
	AUTO(buf_done) struct buf url = BUF_INIT;
	uint64_t id = 0;

	if (argc > 2)
		return usage_error("open takes one session id, or none");
	if (argc == 2 && !(id = parse_id(argv[1])))
		return EXIT_USAGE;
	if (!read_line(cli, "http", &base)) {
		fprintf(stderr,
			"profilectl: the daemon at %s serves no page: is it running, with listen "
			"not \"off\"?\n",
			client_place(cli->client));
		return EXIT_NO_DAEMON;
	}
	if (!read_line(cli, "token", &token)) {
		fprintf(stderr,
			"profilectl: the token in %s is not for this user: run it as the one who "
			"runs the daemon\n",
			client_runtime_dir(cli->client));
		return EXIT_REFUSED;
	}
	buf_printf(&url, "%s/?token=%s", base.data, token.data);
	if (id)
		buf_printf(&url, "#session=%llu", (unsigned long long)id);
	if (url.error)
		return EXIT_FAILED;
	if (cli->json)
		printf("{\"url\":\"%s\"}\n", url.data);
	else
		puts(url.data);
	show_in_browser(url.data);
	return EXIT_OK;
}
