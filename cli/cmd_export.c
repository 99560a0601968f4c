/* export: a profile in all formats, or in some, to files of a folder. */
#include <errno.h>
#include <getopt.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

const struct opt export_options[] = {
	{"output", 'o', "FOLDER", "where to; it is made if it is not there", WORDS_FOLDER},
	{NULL, 0, NULL, NULL, WORDS_NONE},
};

struct export
{
	struct view_request request;
	uint64_t id;
	const char *folder;
	char **wanted;         /* names of formats */
	unsigned wanted_count; /* 0: all */
	unsigned done, all;
	bool bar;
	cJSON *list; /* for --json */
};

static bool is_wanted(const struct export *x, const struct format *f)
{
	for (unsigned i = 0; i < x->wanted_count; i++)
		if (strcmp(x->wanted[i], f->name) == 0)
			return true;
	return x->wanted_count == 0;
}

static int check_wanted(struct export *x)
{
	for (unsigned i = 0; i < x->wanted_count; i++)
		if (!format_named(x->wanted[i]))
			return unknown_format(x->wanted[i]);
	for (const struct format *f = formats; f->name; f++)
		x->all += is_wanted(x, f);
	return EXIT_OK;
}

static void tell(struct cli *cli, struct export *x, const struct format *f, const char *path)
{
	struct stat st = {0};
	cJSON *o;

	if (!cli->json) {
		puts(path);
		return;
	}
	(void)stat(path, &st);
	o = cJSON_CreateObject();
	cJSON_AddStringToObject(o, "format", f->name);
	cJSON_AddStringToObject(o, "file", path);
	cJSON_AddNumberToObject(o, "bytes", (double)st.st_size);
	cJSON_AddItemToArray(x->list, o);
}

static int export_one(struct cli *cli, struct export *x, const struct format *f)
{
	AUTO(buf_done) struct buf path = BUF_INIT;
	const char *query = x->request.query.data ? x->request.query.data : "";
	int e;

	if (x->bar)
		progress_draw((double)x->done / x->all, f->name);
	buf_printf(&path, "%s/profile-%llu%s", x->folder, (unsigned long long)x->id, f->ending);
	if (path.error)
		return EXIT_FAILED;
	e = save_profile(cli, x->id, f->name, query, path.data);
	x->done++;
	if (x->bar)
		progress_clear();
	if (e == EXIT_OK)
		tell(cli, x, f, path.data);
	else
		fprintf(stderr, "profilectl: there is no %s\n", path.data);
	return e;
}

/* One that cannot be made does not keep the others from being made. */
static int export_all(struct cli *cli, struct export *x)
{
	int worst = EXIT_OK;

	if (mkdir(x->folder, 0777) < 0 && errno != EEXIST) {
		fprintf(stderr, "profilectl: cannot make %s: %s\n", x->folder, strerror(errno));
		return EXIT_FAILED;
	}
	x->bar = isatty(STDERR_FILENO) && !cli->json;
	for (const struct format *f = formats; f->name && worst != EXIT_NO_DAEMON; f++) {
		int e = is_wanted(x, f) ? export_one(cli, x, f) : EXIT_OK;

		worst = e > worst ? e : worst;
	}
	return worst;
}

static int take_options(struct cli *cli, struct export *x, int argc, char **argv)
{
	int option;

	while ((option = next_option(cli, argc, argv)) != -1) {
		if (option == 'o')
			x->folder = optarg;
		else if (!view_option(&x->request, option, optarg))
			return EXIT_USAGE;
	}
	if (optind >= argc)
		return usage_error("export takes a session id, and formats if not all are wanted");
	x->id = parse_id(argv[optind]);
	x->wanted = argv + optind + 1;
	x->wanted_count = (unsigned)(argc - optind - 1);
	return x->id ? check_wanted(x) : EXIT_USAGE;
}

int cmd_export(struct cli *cli, int argc, char **argv)
{
	struct export x = {.folder = "."};
	int e = take_options(cli, &x, argc, argv);

	if (e == EXIT_OK) {
		x.list = cJSON_CreateArray();
		e = export_all(cli, &x);
		if (cli->json) {
			AUTO(free_auto) char *text = cJSON_PrintUnformatted(x.list);

			puts(text ? text : "[]");
		}
		cJSON_Delete(x.list);
	}
	view_request_done(&x.request);
	return e;
}
