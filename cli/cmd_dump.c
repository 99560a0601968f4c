/* dump: a profile in one of the daemon's formats. */
#include <getopt.h>
#include <stdio.h>

#include "cli/cli.h"

const struct opt dump_options[] = {
	{"format", 'f', "FORMAT", "how it is written; else the end of the file's name says",
		WORDS_FORMAT},
	{"output", 'o', "FILE", "where to; - is standard output", WORDS_FILE},
	{NULL, 0, NULL, NULL, WORDS_NONE},
};

const struct opt view_options[] = {
	{"event", 'e', "NAME", "one event of several", WORDS_EVENT},
	{"from", OPT_FROM, "TIME", "seconds since the start, or a time of RFC 3339", WORDS_NONE},
	{"to", OPT_TO, "TIME", "the same; this moment itself is left out", WORDS_NONE},
	{"last", OPT_LAST, "SECONDS", "the last ones", WORDS_NONE},
	{"thread", OPT_THREAD, "TID", "one thread", WORDS_NONE},
	{"pid", OPT_VIEW_PID, "PID", "one process", WORDS_PID},
	{"by", OPT_BY, "process|thread", "a level per process, per thread", WORDS_NONE},
	{"lines", OPT_LINES, NULL, "frames split by source line", WORDS_NONE},
	{"inline", OPT_INLINE, NULL, "inlined functions as frames of their own", WORDS_NONE},
	{"fold-templates", OPT_FOLD_TEMPLATES, NULL, "template arguments read <...>", WORDS_NONE},
	{"min", OPT_MIN, "PERCENT", "leaves out what is smaller", WORDS_NONE},
	{"icicle", OPT_ICICLE, NULL, "the root of the picture at the top", WORDS_NONE},
	{"color", OPT_COLOR, "kind|module|name", "what the colours stand for", WORDS_NONE},
	{NULL, 0, NULL, NULL, WORDS_NONE},
};

static const char *query_key(int option)
{
	switch (option) {
	case 'e': return "event";
	case OPT_FROM: return "from";
	case OPT_TO: return "to";
	case OPT_LAST: return "last";
	case OPT_THREAD: return "thread";
	case OPT_VIEW_PID: return "pid";
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

void add_query(struct buf *query, const char *key, const char *value)
{
	AUTO(free_auto) char *escaped = client_escape(value);

	buf_printf(query, "&%s=%s", key, escaped ? escaped : "");
}

bool view_option(struct view_request *v, int option, const char *value)
{
	if (!query_key(option))
		return false;
	add_query(&v->query, query_key(option), value ? value : "1");
	return true;
}

int unknown_format(const char *name)
{
	AUTO(buf_done) struct buf names = BUF_INIT;

	for (const struct format *f = formats; f->name; f++)
		buf_printf(&names, "%s%s", f == formats ? "" : ", ", f->name);
	return usage_error("there is no format \"%s\": it is one of %s", name, names.data);
}

bool dump_option(struct view_request *v, int option, const char *value)
{
	if (option == 'f')
		v->format = value;
	else if (option == 'o')
		v->file = value;
	else
		return view_option(v, option, value);
	return true;
}

int fetch_profile(struct cli *cli, uint64_t id, const char *query, struct buf *body)
{
	AUTO(buf_done) struct buf path = BUF_INIT;

	buf_printf(&path, "/v1/sessions/%llu/profile?format=json%s", (unsigned long long)id, query);
	return path.error ? EXIT_FAILED : client_call(cli->client, "GET", path.data, NULL, body);
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

	while ((option = next_option(cli, argc, argv)) != -1)
		if (!dump_option(&v, option, optarg))
			return EXIT_USAGE;
	if (optind != argc - 1)
		return usage_error("dump takes one session id: profilectl list shows them");
	id = parse_id(argv[optind]);
	if (!id || v.query.error)
		return EXIT_USAGE;
	if (!v.format)
		v.format = cli->json ? "json" : v.file ? format_of_file(v.file) : "text";
	return save_profile(cli, id, v.format, v.query.data ? v.query.data : "", v.file);
}
