/* open: the page, its address with the token, and the browser of a graphical session. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "cli/cli.h"

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

static bool is_graphical(void)
{
	return getenv("DISPLAY") || getenv("WAYLAND_DISPLAY");
}

bool page_can_be_shown(struct cli *cli)
{
	AUTO(buf_done) struct buf base = BUF_INIT, token = BUF_INIT;

	return is_graphical() && read_line(cli, "http", &base) && read_line(cli, "token", &token);
}

static void show_in_browser(const char *url)
{
	pid_t pid;

	if (!is_graphical())
		return;
	pid = fork();
	if (pid == 0) {
		execlp("xdg-open", "xdg-open", url, (char *)NULL);
		_exit(127);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static int page_address(struct cli *cli, uint64_t id, struct buf *url)
{
	AUTO(buf_done) struct buf base = BUF_INIT, token = BUF_INIT;

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
	buf_printf(url, "%s/?token=%s", base.data, token.data);
	if (id)
		buf_printf(url, "#/session/%llu/profile", (unsigned long long)id);
	return url->error ? EXIT_FAILED : EXIT_OK;
}

int page_show(struct cli *cli, uint64_t id)
{
	AUTO(buf_done) struct buf url = BUF_INIT;
	int e = page_address(cli, id, &url);

	if (e != EXIT_OK)
		return e;
	if (cli->json)
		printf("{\"url\":\"%s\"}\n", url.data);
	else
		puts(url.data);
	fflush(stdout);
	show_in_browser(url.data);
	return EXIT_OK;
}

int cmd_open(struct cli *cli, int argc, char **argv)
{
	uint64_t id = 0;

	if (argc > 2)
		return usage_error("open takes one session id, or none");
	if (argc == 2 && !(id = parse_id(argv[1])))
		return EXIT_USAGE;
	return page_show(cli, id);
}
