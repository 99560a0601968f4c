/* Files that profiles are written to, and what their names say. */
#include "cli/file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/client.h"

const struct format formats[] = {
	{"svg", ".svg", "a flame graph for the browser"},
	{"json", ".json", "the call tree in columns"},
	{"folded", ".folded", "folded stacks, a line each"},
	{"text", ".txt", "tables for people"},
	{"perfdata", ".data", "the single samples, for perf"},
	{"pprof", ".pb.gz", "for go tool pprof"},
	{"speedscope", ".speedscope.json", "for speedscope"},
	{"firefox", ".firefox.json", "for the Firefox Profiler, and Perfetto"},
	{"chrome", ".trace.json", "trace events, for Perfetto and chrome://tracing"},
	{"html", ".html", "the viewer and the profile in one file"},
	{NULL, NULL, NULL},
};

const struct format *format_named(const char *name)
{
	for (const struct format *f = formats; f->name; f++)
		if (strcmp(f->name, name) == 0)
			return f;
	return NULL;
}

static bool ends_in(const char *file, const char *ending)
{
	size_t len = strlen(file), end = strlen(ending);

	return len > end && strcmp(file + len - end, ending) == 0;
}

const char *format_of_file(const char *file)
{
	const struct format *best = NULL;

	for (const struct format *f = formats; file && f->name; f++)
		if (ends_in(file, f->ending) && (!best || strlen(f->ending) > strlen(best->ending)))
			best = f;
	if (best)
		return best->name;
	if (file && ends_in(file, ".collapsed"))
		return "folded";
	return file && ends_in(file, ".text") ? "text" : "svg";
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
