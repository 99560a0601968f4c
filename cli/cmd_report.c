/* report: a perf.data file, or folded stacks, as a picture or text. By a profiler of its own, which
 * ends with it and opens the file with the rights of whoever asks; or as a session of a daemon,
 * which stays there.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "cli/cli.h"
#include "cli/profiler.h"

#define SESSION_FD 3 /* of profiled --report */
#define KERNEL_FD  4

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

static int say_session(const struct buf *body, bool with_id)
{
	cJSON *session = parse_answer(body);

	if (!session)
		return EXIT_FAILED;
	if (with_id)
		fprintf(stderr, "session %.0f: ", get_number(session, "id"));
	print_ledger(session, stderr);
	cJSON_Delete(session);
	return EXIT_OK;
}

static const char *query_of(const struct view_request *v)
{
	return v->query.data ? v->query.data : "";
}

/* ---- by a daemon ---- */

static uint64_t id_of(const struct buf *body)
{
	cJSON *session = parse_answer(body);
	uint64_t id = (uint64_t)get_number(session, "id");

	cJSON_Delete(session);
	return id;
}

static int report_by_daemon(
	struct cli *cli, const struct view_request *v, const char *name, FILE *from)
{
	AUTO(buf_done) struct buf path = BUF_INIT;
	AUTO(buf_done) struct buf body = BUF_INIT;
	int e = EXIT_FAILED;

	buf_append_str(&path, "/v1/import?");
	add_query(&path, "name", name);
	if (!path.error)
		e = client_upload(cli->client, path.data, from, size_of(from), &body);
	if (e != EXIT_OK)
		return e;
	if (cli->json && !v->file) {
		print_body(&body);
		return EXIT_OK;
	}
	e = say_session(&body, true);
	return e == EXIT_OK ? save_profile(cli, id_of(&body), v->format, query_of(v), v->file) : e;
}

/* ---- by itself ---- */

/* A recording can be read anywhere: a pipe goes into a file first. */
static FILE *as_file(FILE *from)
{
	static char piece[1 << 16];
	FILE *file;
	size_t n;

	if (size_of(from) >= 0)
		return from;
	file = tmpfile();
	while (file && (n = fread(piece, 1, sizeof(piece), from)) > 0)
		if (fwrite(piece, 1, n, file) != n)
			break;
	if (!file || ferror(from) || ferror(file) || fflush(file) != 0) {
		fprintf(stderr, "profilectl: cannot keep the recording: %s\n", strerror(errno));
		if (file)
			fclose(file);
		return NULL;
	}
	return file;
}

/* Somebody else's, as sudo may leave it to us, is let alone. */
static int open_own_folder(int at, const char *path)
{
	struct stat st;
	int fd;

	(void)mkdirat(at, path, 0700);
	fd = openat(at, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, &st) != 0 || st.st_uid != geteuid())) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Where the kernel's symbols are kept from one report to the next; -1: nowhere. */
static int open_kernel_file(void)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	AUTO(buf_done) struct buf path = BUF_INIT;
	AUTO(close_auto) int base = -1, own = -1;

	if (cache && cache[0] == '/')
		buf_append_str(&path, cache);
	else if (home && home[0] == '/')
		buf_printf(&path, "%s/.cache", home);
	if (path.error || !path.len)
		return -1;
	base = open_own_folder(AT_FDCWD, path.data);
	own = base < 0 ? -1 : open_own_folder(base, "profiled");
	if (own < 0)
		return -1;
	return openat(own, "kernel", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* None of them may be one that is still to be put elsewhere. */
static int put_fds(posix_spawn_file_actions_t *actions, int in, int out, int session, int kernel)
{
	int r = posix_spawn_file_actions_adddup2(actions, in, STDIN_FILENO);

	if (r == 0)
		r = posix_spawn_file_actions_adddup2(actions, out, STDOUT_FILENO);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(actions, session, SESSION_FD);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(actions, kernel, KERNEL_FD);
	return r;
}

static int spawn_profiler(const char *query, int in, int out, int session, pid_t *ret_pid)
{
	char path[PATH_MAX], name[] = "profiled", option[] = "--report";
	char *argv[] = {name, option, (char *)(uintptr_t)query, NULL};
	AUTO(close_auto) int kernel = open_kernel_file(), high = -1;
	posix_spawn_file_actions_t actions;
	int r = posix_spawn_file_actions_init(&actions);

	if (r != 0)
		return r;
	profiler_path(path);
	if (kernel < 0)
		kernel = open("/dev/null", O_RDWR | O_CLOEXEC);
	high = fcntl(kernel, F_DUPFD_CLOEXEC, KERNEL_FD + 1);
	r = put_fds(&actions, in, out, session, high);
	if (r == 0)
		r = posix_spawn(ret_pid, path, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (r != 0)
		fprintf(stderr, "profilectl: cannot start %s: %s\n", path, strerror(r));
	return r;
}

static bool ended_well(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	if (WIFSIGNALED(status))
		fprintf(stderr, "profilectl: profiled was ended by signal %d\n", WTERMSIG(status));
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* What it has to say of the recording comes by a pipe, the profile goes straight to out. */
static int run_profiler(const char *query, int in, int out, bool as_json)
{
	AUTO(buf_done) struct buf body = {.max_bytes = 16 << 20};
	int ends[2], session, r = -EINVAL;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0) {
		fprintf(stderr, "profilectl: no pipe: %s\n", strerror(errno));
		return EXIT_FAILED;
	}
	/* posix_spawn() would leave it closed if it had the number already. */
	session = fcntl(ends[1], F_DUPFD_CLOEXEC, KERNEL_FD + 1);
	close(ends[1]);
	r = spawn_profiler(query, in, out, session, &pid);
	close(session);
	if (r == 0)
		(void)io_read_fd(ends[0], body.max_bytes, &body);
	close(ends[0]);
	if (r != 0)
		return EXIT_FAILED;
	if (!ended_well(pid)) {
		if (body.len)
			client_say_problem(&body);
		return EXIT_FAILED;
	}
	if (!as_json)
		return say_session(&body, false);
	print_body(&body);
	return EXIT_OK;
}

/* What it has to say is all that was asked for. */
static int describe(const char *query, FILE *file)
{
	int none = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int e = run_profiler(query, fileno(file), none, true);

	close(none);
	return e;
}

static int draw(const char *query, FILE *file, const char *into)
{
	struct output o;
	int e = EXIT_FAILED;

	if (output_open(&o, into))
		e = run_profiler(query, fileno(file), fileno(o.out), false);
	return output_close(&o, e);
}

static int report_alone(struct cli *cli, const struct view_request *v, const char *name, FILE *from)
{
	AUTO(buf_done) struct buf query = BUF_INIT;
	FILE *file = as_file(from);
	int e;

	buf_printf(&query, "format=%s%s", v->format, query_of(v));
	add_query(&query, "name", name);
	if (!file || query.error)
		return EXIT_FAILED;
	e = cli->json && !v->file ? describe(query.data, file) : draw(query.data, file, v->file);
	if (file != from)
		fclose(file);
	return e;
}

/* ---- the command ---- */

const struct opt report_options[] = {
	{"keep", 'k', NULL, "as a session of the daemon, which stays there", WORDS_NONE},
	{NULL, 0, NULL, NULL, WORDS_NONE},
};

static int take_options(
	struct cli *cli, struct view_request *v, int argc, char **argv, bool *ret_keep)
{
	int option;

	while ((option = next_option(cli, argc, argv)) != -1) {
		if (option == 'k')
			*ret_keep = true;
		else if (!dump_option(v, option, optarg))
			return EXIT_USAGE;
	}
	if (optind != argc - 1)
		return usage_error(
			"report takes one file, perf.data or folded stacks, or - for stdin");
	return EXIT_OK;
}

int cmd_report(struct cli *cli, int argc, char **argv)
{
	AUTO(view_request_done) struct view_request v = {0};
	bool keep = client_was_named(cli->client), is_stdin;
	int e = take_options(cli, &v, argc, argv, &keep);
	const char *file, *name;
	FILE *from;

	if (e != EXIT_OK)
		return e;
	file = argv[optind];
	is_stdin = strcmp(file, "-") == 0;
	name = is_stdin ? "stdin" : last_of(file);
	if (v.query.error)
		return EXIT_FAILED;
	if (!v.format)
		v.format = v.file ? format_of_file(v.file) : "text";
	from = is_stdin ? stdin : fopen(file, "re");
	if (!from) {
		fprintf(stderr, "profilectl: cannot read %s: %s\n", file, strerror(errno));
		return EXIT_FAILED;
	}
	e = keep ? report_by_daemon(cli, &v, name, from) : report_alone(cli, &v, name, from);
	if (!is_stdin)
		fclose(from);
	if (e == EXIT_OK && v.file && strcmp(v.file, "-") != 0)
		printf("%s\n", v.file);
	return e;
}
