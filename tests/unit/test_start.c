#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "daemon/start/dirs.h"
#include "daemon/start/identity.h"
#include "daemon/start/listen.h"
#include "daemon/start/options.h"

#define STRANGER 12345

static char folder[64];

static int set_up(void **state)
{
	strcpy(folder, "/tmp/test-start-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static const char *in_folder(const char *name)
{
	static char path[32][256];
	static unsigned next;
	char *out = path[next++ % 32];

	snprintf(out, sizeof(path[0]), "%s/%s", folder, name);
	return out;
}

static void write_file(const char *path, const char *text)
{
	assert_int_equal(io_write_atomic(path, text, strlen(text), 0644), 0);
}

/* ---- command line ---- */

static int parse(
	struct options *o, struct buf *message, const char *a, const char *b, const char *c)
{
	char *argv[] = {(char *)"profiled", (char *)a, (char *)b, (char *)c, NULL};
	int argc = 1;

	while (argv[argc])
		argc++;
	buf_clear(message);
	return options_parse(argc, argv, o, message);
}

static void options_are_settings(void **state)
{
	AUTO(buf_done) struct buf message = BUF_INIT;
	struct config builtin, config;
	struct options o;

	config_defaults(&builtin, true);
	assert_int_equal(
		parse(&o, &message, "--listen=off", "--set", "sessions.max_sessions=4"), 0);
	assert_int_equal(o.todo, OPTIONS_RUN);
	assert_int_equal(options_config(&o, &builtin, &config, &message), 0);
	assert_string_equal(config.listen, "off");
	assert_int_equal(config.max_sessions, 4);
	options_done(&o);

	/* The later one holds; a folder may be relative here. */
	assert_int_equal(
		parse(&o, &message, "--log-level=debug", "--log-level=error", "--state-dir=here"),
		0);
	assert_int_equal(options_config(&o, &builtin, &config, &message), 0);
	assert_int_equal(config.log_level, LOG_LEVEL_ERROR);
	assert_int_equal(config.state_dir[0], '/');
	assert_non_null(strstr(config.state_dir, "/here"));
	options_done(&o);

	assert_int_equal(parse(&o, &message, "--user", "7", "--runtime-dir=/run/x"), 0);
	assert_int_equal(options_config(&o, &builtin, &config, &message), 0);
	assert_string_equal(config.user, "7");
	assert_string_equal(config.runtime_dir, "/run/x");
	options_done(&o);
}

static void other_things_to_do(void **state)
{
	AUTO(buf_done) struct buf message = BUF_INIT;
	struct options o;

	assert_int_equal(parse(&o, &message, "--help", NULL, NULL), 0);
	assert_int_equal(o.todo, OPTIONS_HELP);
	assert_non_null(strstr(options_usage(), "--check-config"));
	options_done(&o);
	assert_int_equal(parse(&o, &message, "--version", NULL, NULL), 0);
	assert_int_equal(o.todo, OPTIONS_VERSION);
	options_done(&o);
	assert_int_equal(parse(&o, &message, "--check-config", "--config", "x.conf"), 0);
	assert_int_equal(o.todo, OPTIONS_CHECK);
	assert_true(o.config_named && o.config_path[0] == '/');
	options_done(&o);
}

static void bad_command_lines_are_told(void **state)
{
	static const struct {
		const char *a, *b, *says;
	} cases[] = {
		{"--nonsense", NULL, "there is no option --nonsense"},
		{"-x", NULL, "there is no option -x"},
		{"--listen", NULL, "--listen wants a value"},
		{"--help=1", NULL, "--help=1: this option has no value"},
		{"word", NULL, "'word' is no option"},
		{"--", "word", "'word' is no option"},
	};
	AUTO(buf_done) struct buf message = BUF_INIT;
	AUTO(free_auto) char *huge = malloc(20000);
	struct options o;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(parse(&o, &message, cases[i].a, cases[i].b, NULL), -EINVAL);
		assert_string_equal(message.data, cases[i].says);
	}
	memset(huge, 'a', 19999);
	huge[19999] = 0;
	assert_int_equal(parse(&o, &message, "--user", huge, NULL), -EINVAL);
	assert_int_equal(parse(&o, &message, "--config", huge, NULL), -EINVAL);
}

static void file_and_command_line_are_told_together(void **state)
{
	AUTO(buf_done) struct buf message = BUF_INIT;
	const char *path = in_folder("bad.conf");
	struct config builtin, config;
	struct options o;

	config_defaults(&builtin, true);
	write_file(path, "[http]\nfoo = 1\n");
	assert_int_equal(parse(&o, &message, "--config", path, "--set=a.b=c"), 0);
	assert_true(options_config(&o, &builtin, &config, &message) < 0);
	assert_non_null(strstr(message.data, "bad.conf: line 2: there is no setting 'foo'"));
	assert_non_null(strstr(message.data, "\nthere is no section 'a'"));
	options_done(&o);

	assert_int_equal(parse(&o, &message, "--config", "/no/such", NULL), 0);
	assert_int_equal(options_config(&o, &builtin, &config, &message), -ENOENT);
	assert_non_null(strstr(message.data, "/no/such: No such file"));
	options_done(&o);

	/* The command line goes before the file, and what does not fit together is told too. */
	write_file(path, "[sessions]\nmax_freq_hz = 50\n");
	buf_clear(&message);
	assert_int_equal(parse(&o, &message, "--config", path, NULL), 0);
	assert_int_equal(options_config(&o, &builtin, &config, &message), -EINVAL);
	assert_non_null(strstr(message.data, "default_freq_hz is 99"));
	options_done(&o);
	assert_int_equal(
		parse(&o, &message, "--config", path, "--set=sessions.max_freq_hz=500"), 0);
	assert_int_equal(options_config(&o, &builtin, &config, &message), 0);
	assert_int_equal(config.max_freq_hz, 500);
	options_done(&o);
}

/* ---- sockets ---- */

static void unix_socket_is_for_all_and_one(void **state)
{
	AUTO(buf_done) struct buf message = BUF_INIT;
	const char *path = in_folder("sock");
	struct stat st;
	int fd = -1, again = -1;

	assert_int_equal(listen_unix(path, &fd, &message), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0666);
	assert_int_equal(listen_unix(path, &again, &message), -EADDRINUSE);
	assert_non_null(strstr(message.data, "a daemon listens on"));
	/* Left behind by one that is gone: replaced. */
	close(fd);
	assert_int_equal(listen_unix(path, &fd, &message), 0);
	close(fd);
}

static void unix_socket_does_not_replace_files(void **state)
{
	AUTO(buf_done) struct buf message = BUF_INIT;
	const char *path = in_folder("file");
	char name[200];
	int fd = -1;

	write_file(path, "precious");
	assert_int_equal(listen_unix(path, &fd, &message), -EEXIST);
	assert_int_equal(access(path, F_OK), 0);
	memset(name, 'a', sizeof(name) - 1);
	name[0] = '/';
	name[sizeof(name) - 1] = 0;
	assert_int_equal(listen_unix(name, &fd, &message), -ENAMETOOLONG);
	assert_int_equal(listen_unix("/no/such/sock", &fd, &message), -ENOENT);
}

static void tcp_takes_loopback_in_all_its_forms(void **state)
{
	static const char *const good[] = {"127.0.0.1:0", "127.1.2.3:0", "localhost:0"};
	AUTO(buf_done) struct buf message = BUF_INIT;
	char url[64];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		AUTO(close_auto) int fd = -1;

		assert_int_equal(listen_tcp(good[i], false, &fd, &message), 0);
		assert_int_equal(listen_url(fd, url, sizeof(url)), 0);
		assert_int_equal(strncmp(url, "http://127.", 11), 0);
		assert_int_equal(listen_check_tcp(fd, false, &message), 0);
	}
}

static void tcp_takes_loopback_of_ipv6(void **state)
{
	AUTO(buf_done) struct buf message = BUF_INIT;
	AUTO(close_auto) int fd = -1;
	char url[64];
	int r = listen_tcp("[::1]:0", false, &fd, &message);

	if (r == -EAFNOSUPPORT || r == -EADDRNOTAVAIL)
		skip(); /* a host without IPv6 */
	assert_int_equal(r, 0);
	assert_int_equal(listen_url(fd, url, sizeof(url)), 0);
	assert_int_equal(strncmp(url, "http://[::1]:", 13), 0);
}

static void tcp_beyond_this_host_wants_leave(void **state)
{
	static const char *const remote[] = {
		"0.0.0.0:0", "10.1.2.3:80", "[::]:0", "[::ffff:8.8.8.8]:1", "[fe80::1]:0"};
	AUTO(buf_done) struct buf message = BUF_INIT;
	AUTO(close_auto) int any = -1;
	char url[64];
	int fd = -1;

	for (size_t i = 0; i < sizeof(remote) / sizeof(remote[0]); i++) {
		buf_clear(&message);
		assert_int_equal(listen_tcp(remote[i], false, &fd, &message), -EPERM);
		assert_non_null(strstr(message.data, "http.allow_remote"));
	}
	assert_int_equal(listen_tcp("0.0.0.0:0", true, &any, &message), 0);
	assert_int_equal(listen_check_tcp(any, false, &message), -EPERM);
	assert_int_equal(listen_check_tcp(any, true, &message), 0);
	/* To connect to from here. */
	assert_int_equal(listen_url(any, url, sizeof(url)), 0);
	assert_int_equal(strncmp(url, "http://127.0.0.1:", 17), 0);
}

static void tcp_address_has_to_be_one(void **state)
{
	static const char *const bad[] = {"", "127.0.0.1", ":80", "127.0.0.1:", "127.0.0.1:65536",
		"example.com:80", "127.0.0.1:80x", "[::1:80", "[]:80", "1:2:3:4"};
	AUTO(buf_done) struct buf message = BUF_INIT;
	int fd = -1;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		buf_clear(&message);
		assert_int_equal(listen_tcp(bad[i], true, &fd, &message), -EINVAL);
		assert_non_null(strstr(message.data, "http.listen is '"));
	}
}

static void taken_port_names_the_setting(void **state)
{
	AUTO(buf_done) struct buf message = BUF_INIT;
	AUTO(close_auto) int fd = -1;
	char url[64], again[64];
	int other = -1;

	assert_int_equal(listen_tcp("127.0.0.1:0", false, &fd, &message), 0);
	assert_int_equal(listen_url(fd, url, sizeof(url)), 0);
	snprintf(again, sizeof(again), "%s", url + strlen("http://"));
	assert_int_equal(listen_tcp(again, false, &other, &message), -EADDRINUSE);
	assert_non_null(strstr(message.data, again));
	assert_non_null(strstr(message.data, "http.listen"));
}

/* ---- folders ---- */

static mode_t mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st.st_mode & 07777;
}

static void runtime_folder_is_made_and_locked(void **state)
{
	AUTO(buf_done) struct buf message = BUF_INIT;
	const char *path = in_folder("a/b/run/");
	int lock = -1, other = -1;

	assert_int_equal(dirs_runtime(path, &lock, &message), 0);
	assert_int_equal(mode_of(path), 0755);
	assert_int_equal(dirs_runtime(path, &other, &message), -EWOULDBLOCK);
	assert_non_null(strstr(message.data, "another profiled is running"));
	close(lock);
	assert_int_equal(dirs_runtime(path, &lock, &message), 0);
	close(lock);
}

static void runtime_folder_that_others_write_is_refused(void **state)
{
	AUTO(buf_done) struct buf message = BUF_INIT;
	const char *open_one = in_folder("open");
	const char *link_to = in_folder("link");
	int lock = -1;

	assert_int_equal(mkdir(open_one, 0755), 0);
	assert_int_equal(symlink("open", link_to), 0);
	assert_int_equal(dirs_runtime(link_to, &lock, &message), -ENOTDIR);
	assert_int_equal(chmod(open_one, 0777), 0);
	assert_int_equal(dirs_runtime(open_one, &lock, &message), -EPERM);
	/* Nor one below a folder where anybody could swap it. */
	assert_int_equal(dirs_runtime(in_folder("open/run"), &lock, &message), -EPERM);
	assert_int_equal(chmod(open_one, 01777), 0);
	assert_int_equal(dirs_runtime(in_folder("open/run"), &lock, &message), 0);
	close(lock);
	write_file(in_folder("plain"), "");
	assert_int_equal(dirs_runtime(in_folder("plain"), &lock, &message), -ENOTDIR);
	assert_int_equal(dirs_runtime(in_folder("plain/run"), &lock, &message), -EPERM);
}

static void lock_that_is_a_link_is_not_followed(void **state)
{
	AUTO(buf_done) struct buf message = BUF_INIT;
	const char *path = in_folder("trap");
	int lock = -1;

	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(symlink("/tmp/elsewhere", in_folder("trap/lock")), 0);
	assert_int_equal(dirs_runtime(path, &lock, &message), -ELOOP);
}

static void state_folder_is_private(void **state)
{
	AUTO(buf_done) struct buf message = BUF_INIT;
	const char *path = in_folder("state");
	int dir = -1, lock = -1;

	assert_int_equal(dirs_state(path, (uid_t)-1, (gid_t)-1, &dir, &lock, &message), 0);
	assert_int_equal(mode_of(path), 0700);
	close(dir);
	close(lock);
	assert_int_equal(chmod(path, 0777), 0);
	assert_int_equal(dirs_state(path, (uid_t)-1, (gid_t)-1, &dir, &lock, &message), -EPERM);
}

static uid_t owner_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st.st_uid;
}

static int take_state(const char *path, uid_t uid, struct buf *message)
{
	int dir = -1, lock = -1;
	int r = dirs_state(path, uid, uid, &dir, &lock, message);

	close_auto(&dir);
	close_auto(&lock);
	return r;
}

static void state_folder_is_handed_over(void **state)
{
	AUTO(buf_done) struct buf message = BUF_INIT;
	const char *path = in_folder("given");

	if (geteuid() != 0)
		skip();
	assert_int_equal(take_state(path, IDENTITY_UID_MIN, &message), 0);
	assert_int_equal(owner_of(path), IDENTITY_UID_MIN);
	write_file(in_folder("given/1.profile"), "x");
	assert_int_equal(chown(in_folder("given/1.profile"), IDENTITY_UID_MIN, 0), 0);
	assert_int_equal(link(in_folder("given/1.profile"), in_folder("given/twice")), 0);
	write_file(in_folder("given/2.profile"), "x");
	assert_int_equal(chown(in_folder("given/2.profile"), IDENTITY_UID_MIN, 0), 0);
	assert_int_equal(symlink("/etc/passwd", in_folder("given/link")), 0);
	assert_int_equal(mkdir(in_folder("given/tables"), 0700), 0);
	assert_int_equal(chown(in_folder("given/tables"), IDENTITY_UID_MIN, 0), 0);
	write_file(in_folder("given/foreign"), "x");

	/* From a picked user to a real one: its own files, and nothing that others could have put
	 * there. */
	assert_int_equal(take_state(path, STRANGER, &message), 0);
	assert_int_equal(owner_of(path), STRANGER);
	assert_int_equal(owner_of(in_folder("given/2.profile")), STRANGER);
	assert_int_equal(owner_of(in_folder("given/tables")), STRANGER);
	assert_int_equal(owner_of(in_folder("given/1.profile")), IDENTITY_UID_MIN);
	assert_int_equal(owner_of(in_folder("given/foreign")), 0);
	assert_int_equal(owner_of("/etc/passwd"), 0);

	/* A service manager gave it to root again; the mark tells that it is ours. */
	assert_int_equal(chown(path, 0, 0), 0);
	assert_int_equal(take_state(path, STRANGER, &message), 0);
	assert_int_equal(owner_of(path), STRANGER);
}

static void folder_with_other_things_is_not_taken(void **state)
{
	AUTO(buf_done) struct buf message = BUF_INIT;
	const char *path = in_folder("full");

	if (geteuid() != 0)
		skip();
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(take_state(path, STRANGER, &message), 0); /* empty */
	assert_int_equal(chown(path, 4321, 0), 0);
	assert_int_equal(take_state(path, STRANGER, &message), -EPERM);
	assert_non_null(strstr(message.data, "chown -R"));
	assert_int_equal(owner_of(path), 4321);
	assert_int_equal(mkdir(in_folder("full2"), 0755), 0);
	write_file(in_folder("full2/passwd"), "x");
	assert_int_equal(take_state(in_folder("full2"), STRANGER, &message), -EPERM);
	assert_int_equal(owner_of(in_folder("full2")), 0);
}

/* ---- users ---- */

static void users_are_found_by_name_and_number(void **state)
{
	AUTO(buf_done) struct buf message = BUF_INIT;
	struct identity who;
	struct config c;

	config_defaults(&c, true);
	strcpy(c.user, "root");
	strcpy(c.group, "root");
	assert_int_equal(identity_find(&c, true, &who, &message), 0);
	assert_int_equal(who.uid, 0);
	assert_int_equal(who.group, 0);
	assert_false(who.unnamed);
	strcpy(c.user, "54321");
	strcpy(c.group, "54322");
	assert_int_equal(identity_find(&c, true, &who, &message), 0);
	assert_int_equal(who.uid, 54321);
	assert_int_equal(who.gid, 54321);
	assert_int_equal(who.group, 54322);
	strcpy(c.group, "no-such-group");
	assert_int_equal(identity_find(&c, false, &who, &message), 0);
	assert_int_equal(who.uid, (uid_t)-1);
	assert_int_equal(who.group, (gid_t)-1);
}

static void user_that_is_not_there_gets_a_number_that_stays(void **state)
{
	AUTO(buf_done) struct buf message = BUF_INIT;
	struct identity who, again;
	struct config c;

	config_defaults(&c, true);
	strcpy(c.user, "no-such-user");
	snprintf(c.state_dir, sizeof(c.state_dir), "%s", in_folder("not-there"));
	assert_int_equal(identity_find(&c, true, &who, &message), 0);
	assert_true(who.unnamed);
	assert_in_range(who.uid, IDENTITY_UID_MIN, IDENTITY_UID_MAX);
	assert_int_equal(who.gid, who.uid);
	assert_int_equal(identity_find(&c, true, &again, &message), 0);
	assert_int_equal(again.uid, who.uid);
	if (geteuid() != 0)
		return;
	/* Whoever has the profiles already goes on with them. */
	assert_int_equal(mkdir(in_folder("not-there"), 0700), 0);
	assert_int_equal(chown(in_folder("not-there"), IDENTITY_UID_MIN + 7, 0), 0);
	assert_int_equal(identity_find(&c, true, &again, &message), 0);
	assert_int_equal(again.uid, IDENTITY_UID_MIN + 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_are_settings),
		cmocka_unit_test(other_things_to_do),
		cmocka_unit_test(bad_command_lines_are_told),
		cmocka_unit_test(file_and_command_line_are_told_together),
		cmocka_unit_test(unix_socket_is_for_all_and_one),
		cmocka_unit_test(unix_socket_does_not_replace_files),
		cmocka_unit_test(tcp_takes_loopback_in_all_its_forms),
		cmocka_unit_test(tcp_takes_loopback_of_ipv6),
		cmocka_unit_test(tcp_beyond_this_host_wants_leave),
		cmocka_unit_test(tcp_address_has_to_be_one),
		cmocka_unit_test(taken_port_names_the_setting),
		cmocka_unit_test(runtime_folder_is_made_and_locked),
		cmocka_unit_test(runtime_folder_that_others_write_is_refused),
		cmocka_unit_test(lock_that_is_a_link_is_not_followed),
		cmocka_unit_test(state_folder_is_private),
		cmocka_unit_test(state_folder_is_handed_over),
		cmocka_unit_test(folder_with_other_things_is_not_taken),
		cmocka_unit_test(users_are_found_by_name_and_number),
		cmocka_unit_test(user_that_is_not_there_gets_a_number_that_stays),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down) != 0;
}
