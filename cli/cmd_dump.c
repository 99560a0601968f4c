/* dump: a profile in one of the daemon's formats. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

enum {
	OPT_EVENT = 256,
	OPT_FROM,
	OPT_TO,
	OPT_LAST,
	OPT_THREAD,
	OPT_PID,
	OPT_BY,
	OPT_LINES,
	OPT_INLINE,
	OPT_FOLD_TEMPLATES,
	OPT_MIN,
	OPT_ICICLE,
	OPT_COLOR
};

static const struct option options[] = {
	{"format", required_argument, NULL, 'f'},
	{"output", required_argument, NULL, 'o'},
	{"event", required_argument, NULL, OPT_EVENT},
	{"from", required_argument, NULL, OPT_FROM},
	{"to", required_argument, NULL, OPT_TO},
	{"last", required_argument, NULL, OPT_LAST},
	{"thread", required_argument, NULL, OPT_THREAD},
	{"pid", required_argument, NULL, OPT_PID},
	{"by", required_argument, NULL, OPT_BY},
	{"lines", no_argument, NULL, OPT_LINES},
	{"inline", no_argument, NULL, OPT_INLINE},
	{"fold-templates", no_argument, NULL, OPT_FOLD_TEMPLATES},
	{"min", required_argument, NULL, OPT_MIN},
	{"icicle", no_argument, NULL, OPT_ICICLE},
	{"color", required_argument, NULL, OPT_COLOR},
	{NULL, 0, NULL, 0},
};

static const char *query_key(int option)
{
	switch (option) {
	case OPT_EVENT: return "event";
	case OPT_FROM: return "from";
	case OPT_TO: return "to";
	case OPT_LAST: return "last";
	case OPT_THREAD: return "thread";
	case OPT_PID: return "pid";
	case OPT_BY: return "by";
	case OPT_LINES: return "lines";
	case OPT_INLINE: return "inline";
	case OPT_FOLD_TEMPLATES: return "fold_templates";
	case OPT_MIN: return "min";
	case OPT_ICICLE: return "icicle";
	case OPT_COLOR: return "color";
	default: return NULL;
	}
}

static void add_query(struct cli *cli, struct buf *query, const char *key, const char *value)
{
	AUTO(free_auto) char *escaped = client_escape(cli->client, value ? value : "1");

	buf_printf(query, "&%s=%s", key, escaped ? escaped : "");
}

const char *format_of_file(const char *file)
{
	const char *dot = file ? strrchr(file, '.') : NULL;

	if (dot && strcmp(dot, ".json") == 0)
		return "json";
	if (dot && (strcmp(dot, ".folded") == 0 || strcmp(dot, ".collapsed") == 0))
		return "folded";
	if (dot && strcmp(dot, ".data") == 0)
		return "perfdata";
	if (dot && (strcmp(dot, ".txt") == 0 || strcmp(dot, ".text") == 0))
		return "text";
	return "svg";
}

int save_profile(
	struct cli *cli, uint64_t id, const char *format, const char *query, const char *file)
{
	AUTO(buf_done) struct buf path = BUF_INIT;
	AUTO(buf_done) struct buf part = BUF_INIT;
	bool to_stdout = !file || strcmp(file, "-") == 0;
	FILE *out = stdout;
	int e;

	buf_printf(&path, "/v1/sessions/%llu/profile?format=%s%s", (unsigned long long)id, format,
		query);
	buf_printf(&part, "%s.part", file ? file : "");
	if (path.error || part.error)
		return EXIT_FAILED;
	if (!to_stdout)
		out = fopen(part.data, "we");
	if (!out) {
		fprintf(stderr, "profilectl: cannot write %s: %s\n", part.data, strerror(errno));
		return EXIT_FAILED;
	}
	e = client_download(cli->client, path.data, out);
	if (to_stdout)
		return e;
	if (fclose(out) != 0 && e == EXIT_OK) {
		fprintf(stderr, "profilectl: cannot write %s: %s\n", part.data, strerror(errno));
		e = EXIT_FAILED;
	}
	/* A file of that name is whole, always. */
	if (e == EXIT_OK && rename(part.data, file) != 0) {
		fprintf(stderr, "profilectl: cannot write %s: %s\n", file, strerror(errno));
		e = EXIT_FAILED;
	}
	if (e != EXIT_OK)
		unlink(part.data);
	return e;
}

int cmd_dump(struct cli *cli, int argc, char **argv)
{
	AUTO(buf_done) struct buf query = BUF_INIT;
	const char *format = NULL, *file = NULL;
	uint64_t id;
	int option;

	while ((option = getopt_long(argc, argv, "f:o:", options, NULL)) != -1) {
		if (option == 'f')
			format = optarg;
		else if (option == 'o')
			file = optarg;
		else if (query_key(option))
			add_query(cli, &query, query_key(option), optarg);
		else
			return EXIT_USAGE;
	}
	if (optind != argc - 1)
		return usage_error("dump takes one session id");
	id = parse_id(argv[optind]);
	if (!id || query.error)
		return EXIT_USAGE;
	if (!format)
		format = cli->json ? "json" : file ? format_of_file(file) : "text";
	return save_profile(cli, id, format, query.data ? query.data : "", file);
}
