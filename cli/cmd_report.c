/* report: a perf.data file, or folded stacks, as a session of the daemon, and that as a picture or
 * text. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"

static const struct option options[] = {
	{"format", required_argument, NULL, 'f'},
	{"output", required_argument, NULL, 'o'},
	{NULL, 0, NULL, 0},
};

static int64_t size_of(FILE *file)
{
	struct stat st;

	if (fstat(fileno(file), &st) != 0 || !S_ISREG(st.st_mode))
		return -1;
	return (int64_t)st.st_size;
}

/* The file's own name, without folders. */
static const char *last_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int upload(struct cli *cli, const char *file, struct buf *body)
{
	bool is_stdin = strcmp(file, "-") == 0;
	FILE *from = is_stdin ? stdin : fopen(file, "re");
	AUTO(free_auto) char *name = client_escape(cli->client, is_stdin ? "stdin" : last_of(file));
	AUTO(buf_done) struct buf path = BUF_INIT;
	int e = EXIT_FAILED;

	if (!from) {
		fprintf(stderr, "profilectl: cannot read %s: %s\n", file, strerror(errno));
		return EXIT_FAILED;
	}
	if (name && buf_printf(&path, "/v1/import?name=%s", name) == 0)
		e = client_upload(cli->client, path.data, from, size_of(from), body);
	if (!is_stdin)
		fclose(from);
	return e;
}

static int show(struct cli *cli, const char *format, const char *file, const struct buf *body)
{
	cJSON *session = parse_answer(body);
	uint64_t id;
	int e;

	if (!session)
		return EXIT_FAILED;
	id = (uint64_t)get_number(session, "id");
	fprintf(stderr, "session %llu: ", (unsigned long long)id);
	print_ledger(session, stderr);
	cJSON_Delete(session);
	e = save_profile(cli, id, format, "", file);
	if (e == EXIT_OK && file && strcmp(file, "-") != 0)
		printf("%s\n", file);
	return e;
}

int cmd_report(struct cli *cli, int argc, char **argv)
{
	AUTO(buf_done) struct buf body = BUF_INIT;
	const char *format = NULL, *file = NULL;
	int option, e;

	while ((option = getopt_long(argc, argv, "f:o:", options, NULL)) != -1) {
		if (option == 'f')
			format = optarg;
		else if (option == 'o')
			file = optarg;
		else
			return EXIT_USAGE;
	}
	if (optind != argc - 1)
		return usage_error(
			"report takes one file, perf.data or folded stacks, or - for stdin");
	e = upload(cli, argv[optind], &body);
	if (e != EXIT_OK)
		return e;
	if (cli->json && !file) {
		print_body(&body);
		return EXIT_OK;
	}
	if (!format)
		format = file ? format_of_file(file) : "text";
	return show(cli, format, file, &body);
}
