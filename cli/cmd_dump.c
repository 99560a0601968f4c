/* dump: a profile in one of the daemon's formats. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

const struct option view_options[VIEW_OPTIONS] = {
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

void add_query(struct cli *cli, struct buf *query, const char *key, const char *value)
{
	AUTO(free_auto) char *escaped = client_escape(cli->client, value);

	buf_printf(query, "&%s=%s", key, escaped ? escaped : "");
}

bool view_option(struct cli *cli, struct view_request *v, int option, const char *value)
{
	if (option == 'f')
		v->format = value;
	else if (option == 'o')
		v->file = value;
	else if (query_key(option))
		add_query(cli, &v->query, query_key(option), value ? value : "1");
	else
		return false;
	return true;
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
	/* Profiles of pprof are named x.pb.gz. */
	if (dot && strcmp(dot, ".gz") == 0 && dot - file > 3 && memcmp(dot - 3, ".pb", 3) == 0)
		return "pprof";
	if (dot && (strcmp(dot, ".txt") == 0 || strcmp(dot, ".text") == 0))
		return "text";
	return "svg";
}

/* A device, a pipe or a link, as /dev/stdout: renaming over it would put a file in its place. */
static bool is_written_in_place(const char *file)
{
	struct stat st;

	return lstat(file, &st) == 0 && !S_ISREG(st.st_mode);
}

bool output_open(struct output *o, const char *file)
{
	*o = (struct output){.out = stdout};
	if (!file || strcmp(file, "-") == 0)
		return true;
	o->file = file;
	o->in_place = is_written_in_place(file);
	buf_printf(&o->part, "%s%s", file, o->in_place ? "" : ".part");
	o->out = o->part.error ? NULL : fopen(o->part.data, "we");
	if (!o->out)
		fprintf(stderr, "profilectl: cannot write %s: %s\n", o->part.data, strerror(errno));
	return o->out != NULL;
}

/* A file of that name is whole, always. */
int output_close(struct output *o, int e)
{
	if (!o->file)
		return e;
	if (o->out && fclose(o->out) != 0 && e == EXIT_OK) {
		fprintf(stderr, "profilectl: cannot write %s: %s\n", o->part.data, strerror(errno));
		e = EXIT_FAILED;
	}
	if (e == EXIT_OK && !o->in_place && rename(o->part.data, o->file) != 0) {
		fprintf(stderr, "profilectl: cannot write %s: %s\n", o->file, strerror(errno));
		e = EXIT_FAILED;
	}
	if (o->out && e != EXIT_OK && !o->in_place)
		unlink(o->part.data);
	buf_done(&o->part);
	return e;
}

int save_profile(
	struct cli *cli, uint64_t id, const char *format, const char *query, const char *file)
{
	AUTO(buf_done) struct buf path = BUF_INIT;
	struct output o;
	int e = EXIT_FAILED;

	buf_printf(&path, "/v1/sessions/%llu/profile?format=%s%s", (unsigned long long)id, format,
		query);
	if (output_open(&o, file) && !path.error)
		e = client_download(cli->client, path.data, o.out);
	return output_close(&o, e);
}

int cmd_dump(struct cli *cli, int argc, char **argv)
{
	AUTO(view_request_done) struct view_request v = {0};
	uint64_t id;
	int option;

	while ((option = getopt_long(argc, argv, VIEW_SHORT, view_options, NULL)) != -1)
		if (!view_option(cli, &v, option, optarg))
			return EXIT_USAGE;
	if (optind != argc - 1)
		return usage_error("dump takes one session id");
	id = parse_id(argv[optind]);
	if (!id || v.query.error)
		return EXIT_USAGE;
	if (!v.format)
		v.format = cli->json ? "json" : v.file ? format_of_file(v.file) : "text";
	return save_profile(cli, id, v.format, v.query.data ? v.query.data : "", v.file);
}
