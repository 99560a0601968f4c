#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "daemon/config.h"

#define MIB ((uint64_t)1 << 20)
#define S   UINT64_C(1000000000)

static int parse(struct config *c, const char *text, struct buf *message)
{
	config_defaults(c, true);
	buf_clear(message);
	return config_parse(c, text, strlen(text), message);
}

static void defaults_are_within_their_own_limits(void **state)
{
	AUTO(buf_done) struct buf message = BUF_INIT;
	struct config c;

	config_defaults(&c, true);
	assert_int_equal(config_check(&c, &message), 0);
	assert_string_equal(c.listen, "127.0.0.1:9611");
	assert_string_equal(c.user, "profiled");
	assert_int_equal(c.max_sessions, 16);
	assert_int_equal(c.default_freq_hz, 99);
	assert_int_equal(c.max_freq_hz, 10000);
	assert_int_equal(c.stack_bytes, 16384);
	assert_int_equal(c.max_frames, 512);
	assert_true(c.cpu_percent == 1);
	assert_int_equal(c.memory_mib, 128);
	assert_int_equal(c.save_interval_ns, 30 * S);
	assert_int_equal(c.reader_memory_bytes, 512 * MIB);
}

static void every_key_is_read(void **state)
{
	static const char text[] = "# a comment\n"
				   "[daemon]\n"
				   "runtime_dir = /run/x\n"
				   "state_dir=/var/x ; and another\n"
				   "user = 1000\n"
				   "group = wheel\n"
				   "log_level = debug\n"
				   "\n"
				   "[http]\r\n"
				   "listen = [::1]:0\r\n"
				   "allow_remote = yes\n"
				   "allowed_hosts = a.example b\n"
				   "max_connections = 64\n"
				   "source_text = no\n"
				   "[sessions]\n"
				   "  max_sessions = 2\n"
				   "\tdefault_freq_hz = 49\n"
				   "max_freq_hz = 997\n"
				   "max_duration = 1h\n"
				   "stack_bytes = 32k\n"
				   "max_frames = 1000\n"
				   "unwinder = libdw\n"
				   "ring_bytes = 1M\n"
				   "log_entries = 5000\n"
				   "max_nodes = 6000\n"
				   "cpu_percent = 2.5\n"
				   "memory_mib = 64\n"
				   "[store]\n"
				   "max_bytes = 2G\n"
				   "max_age = 2d\n"
				   "free_floor = 0\n"
				   "save_interval = 1.5s\n"
				   "[symbols]\n"
				   "reader_memory = 256M\n"
				   "reader_cpu_seconds = 7\n"
				   "names_cache = 64M";
	AUTO(buf_done) struct buf message = BUF_INIT;
	struct config c;

	assert_int_equal(parse(&c, text, &message), 0);
	assert_int_equal(message.len, 0);
	assert_int_equal(config_check(&c, &message), 0);
	assert_string_equal(c.runtime_dir, "/run/x");
	assert_string_equal(c.state_dir, "/var/x");
	assert_string_equal(c.user, "1000");
	assert_string_equal(c.group, "wheel");
	assert_int_equal(c.log_level, LOG_LEVEL_DEBUG);
	assert_string_equal(c.listen, "[::1]:0");
	assert_true(c.allow_remote);
	assert_string_equal(c.allowed_hosts, "a.example b");
	assert_int_equal(c.max_connections, 64);
	assert_false(c.source_text);
	assert_int_equal(c.max_sessions, 2);
	assert_int_equal(c.default_freq_hz, 49);
	assert_int_equal(c.max_freq_hz, 997);
	assert_int_equal(c.max_duration_ns, 3600 * S);
	assert_int_equal(c.stack_bytes, 32768);
	assert_int_equal(c.max_frames, 1000);
	assert_string_equal(c.unwinder, "libdw");
	assert_int_equal(c.ring_bytes, MIB);
	assert_int_equal(c.log_entries, 5000);
	assert_int_equal(c.max_nodes, 6000);
	assert_true(c.cpu_percent == 2.5);
	assert_int_equal(c.memory_mib, 64);
	assert_int_equal(c.store_max_bytes, 2048 * MIB);
	assert_int_equal(c.store_max_age_ns, 48 * 3600 * S);
	assert_int_equal(c.store_free_floor_bytes, 0);
	assert_int_equal(c.save_interval_ns, 3 * S / 2);
	assert_int_equal(c.reader_memory_bytes, 256 * MIB);
	assert_int_equal(c.reader_cpu_seconds, 7);
	assert_int_equal(c.names_cache_bytes, 64 * MIB);
}

static void what_is_wrong_is_told_with_its_line(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"[nonsense]\n",
			"line 1: there is no section 'nonsense'; there are daemon, http, "
			"sessions, store, symbols"},
		{"\n\n[nonsense]\nx = 1\n", "line 3: there is no section 'nonsense'"},
		{"[http]\nport = 1\n", "line 2: there is no setting 'port' in section 'http'"},
		{"listen = off\n", "line 1: listen stands before the first [section]"},
		{"[http]\nlisten\n", "line 2: neither [section] nor key = value"},
		{"[http\n", "line 1: neither"},
		{"[http]\nlisten = off\nlisten = off\n",
			"line 3: listen was set in line 2 already"},
		{"[daemon]\nstate_dir = x\n", "line 2: state_dir is no absolute path: 'x'"},
		{"[daemon]\nuser =\n", "line 2: user is neither an account's name nor a number"},
		{"[daemon]\nuser = -x\n", "line 2: user is neither"},
		{"[daemon]\nuser = a/b\n", "line 2: user is neither"},
		{"[daemon]\nlog_level = loud\n", "not one of error, warning, info, debug: 'loud'"},
		{"[http]\nlisten = 9611\n",
			"line 2: listen is neither ADDRESS:PORT nor off: '9611'"},
		{"[http]\nlisten = a:70000\n", "line 2: listen is neither"},
		{"[http]\nlisten = :80\n", "line 2: listen is neither"},
		{"[http]\nallow_remote = maybe\n", "allow_remote is neither yes nor no: 'maybe'"},
		{"[http]\nallowed_hosts = a,b\n",
			"allowed_hosts are host names with blanks between"},
		{"[http]\nmax_connections = 7\n",
			"line 2: max_connections is '7', but has to be 8 to 4096"},
		{"[sessions]\nmax_sessions = 0\n", "max_sessions is '0', but has to be 1 to 256"},
		{"[sessions]\nmax_sessions = 99999999999999999999999\n", "but has to be 1 to 256"},
		{"[sessions]\nmax_sessions = 1.5\n", "is not a whole number: '1.5'"},
		{"[sessions]\nmax_sessions = -1\n", "is not a whole number: '-1'"},
		{"[sessions]\nstack_bytes = 64k\n",
			"stack_bytes is '64k', but has to be 512 to 65528"},
		{"[sessions]\nring_bytes = 1k\n", "has to be 0 or 64k to 64M"},
		{"[sessions]\nring_bytes = many\n", "is not a number of bytes such as 64k"},
		{"[sessions]\nmax_duration = 10ms\n", "has to be 0 or 1s to 3650d"},
		{"[sessions]\nunwinder = mine\n",
			"unwinder is none of table, libunwind and libdw: 'mine'"},
		{"[sessions]\ncpu_percent = 0\n",
			"cpu_percent is '0', but has to be a number from 0.01 to 100"},
		{"[sessions]\ncpu_percent = 101\n", "has to be a number from 0.01 to 100"},
		{"[sessions]\ncpu_percent = 1e1\n", "has to be a number from 0.01 to 100"},
		{"[sessions]\ncpu_percent = 1.2.3\n", "has to be a number from 0.01 to 100"},
		{"[sessions]\ncpu_percent = nan\n", "has to be a number from 0.01 to 100"},
		{"[sessions]\nmemory_mib = 7\n", "has to be 8 to 1048576"},
		{"[store]\nsave_interval = 61s\n",
			"save_interval is '61s', but has to be 1s to 60s"},
		{"[store]\nsave_interval = soon\n", "is not a time such as 30s"},
		{"[store]\nmax_bytes = 1025G\n", "has to be 1M to 1024G"},
		{"[symbols]\nreader_cpu_seconds = 601\n", "has to be 1 to 600"},
	};
	AUTO(buf_done) struct buf message = BUF_INIT;
	struct config c;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(parse(&c, cases[i].text, &message), -EINVAL);
		if (!message.data || !strstr(message.data, cases[i].says))
			fail_msg("'%s' lacks '%s'", message.data, cases[i].says);
		/* One thing is wrong, one thing is told. */
		assert_null(strchr(message.data, '\n'));
	}
}

static void all_errors_are_told(void **state)
{
	AUTO(buf_done) struct buf message = BUF_INIT;
	AUTO(buf_done) struct buf many = BUF_INIT;
	struct config c;

	assert_int_equal(
		parse(&c, "[http]\nlisten = 1\n[x]\na = 1\n[store]\nmax_age = 1s\nfoo = 2\n",
			&message),
		-EINVAL);
	assert_non_null(strstr(message.data, "line 2: listen"));
	assert_non_null(strstr(message.data, "\nline 3: there is no section 'x'"));
	assert_non_null(strstr(message.data, "\nline 6: max_age"));
	assert_non_null(strstr(message.data, "\nline 7: there is no setting 'foo'"));
	assert_null(strstr(message.data, "line 4"));

	buf_append_str(&many, "[http]\n");
	for (int i = 0; i < 100; i++)
		buf_append_str(&many, "foo = 1\n");
	assert_int_equal(parse(&c, many.data, &message), -EINVAL);
	assert_non_null(strstr(message.data, "\nand 68 more"));
}

static void bytes_that_are_no_text_are_told(void **state)
{
	AUTO(buf_done) struct buf message = BUF_INIT;
	AUTO(buf_done) struct buf text = BUF_INIT;
	struct config c;

	config_defaults(&c, true);
	buf_append(&text, "[http]\nlisten = \0off\n", 21);
	assert_int_equal(config_parse(&c, text.data, text.len, &message), -EINVAL);
	assert_string_equal(message.data, "line 2: a zero byte is in it");

	buf_clear(&text);
	buf_append_str(&text, "[http]\nallowed_hosts = ");
	for (int i = 0; i < 500; i++)
		buf_append_char(&text, 'a');
	assert_int_equal(parse(&c, text.data, &message), -EINVAL);
	assert_non_null(strstr(message.data, "line 2: longer than"));

	buf_clear(&text);
	while (text.len <= CONFIG_FILE_MAX)
		buf_append_str(&text, "# a comment\n");
	assert_int_equal(parse(&c, text.data, &message), -EINVAL);
	assert_non_null(strstr(message.data, "the file is larger than"));
}

static void indented_key_is_not_the_value_before_it(void **state)
{
	AUTO(buf_done) struct buf message = BUF_INIT;
	struct config c;

	assert_int_equal(parse(&c, "[daemon]\nstate_dir = /x\n  user = me\n", &message), 0);
	assert_string_equal(c.state_dir, "/x");
	assert_string_equal(c.user, "me");
}

static void empty_file_changes_nothing(void **state)
{
	AUTO(buf_done) struct buf message = BUF_INIT;
	struct config c, d;

	config_defaults(&d, true);
	assert_int_equal(parse(&c, "", &message), 0);
	assert_memory_equal(&c, &d, sizeof(c));
	assert_int_equal(parse(&c, "\xef\xbb\xbf# mark at the front\n[store]\n", &message), 0);
	assert_memory_equal(&c, &d, sizeof(c));
}

static void settings_come_from_the_command_line_too(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{"listen=off", "not SECTION.KEY=VALUE: 'listen=off'"},
		{"http.listen", "not SECTION.KEY=VALUE"},
		{"http=a.b", "not SECTION.KEY=VALUE"},
		{"", "not SECTION.KEY=VALUE"},
		{"http.x=1", "there is no setting 'x' in section 'http'"},
		{"web.x=1", "there is no section 'web'"},
		{"sessions.max_sessions=x", "sessions.max_sessions is not a whole number: 'x'"},
	};
	AUTO(buf_done) struct buf message = BUF_INIT;
	struct config c;

	config_defaults(&c, true);
	assert_int_equal(config_set_text(&c, "http.listen=127.0.0.1:80", &message), 0);
	assert_string_equal(c.listen, "127.0.0.1:80");
	assert_int_equal(config_set(&c, "sessions", "max_sessions", "3", &message), 0);
	assert_int_equal(c.max_sessions, 3);
	assert_int_equal(message.len, 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		buf_clear(&message);
		assert_int_equal(config_set_text(&c, bad[i].text, &message), -EINVAL);
		if (!strstr(message.data, bad[i].says))
			fail_msg("'%s' lacks '%s'", message.data, bad[i].says);
	}
	assert_int_equal(c.max_sessions, 3);
}

static void settings_have_to_fit_together(void **state)
{
	static const char *const bad[] = {
		"[sessions]\ndefault_freq_hz = 200\nmax_freq_hz = 100\n",
		"[sessions]\nstack_bytes = 1001\n",
		"[sessions]\nring_bytes = 100000\n",
		"[daemon]\nstate_dir = /a\nruntime_dir = /a\n",
	};
	AUTO(buf_done) struct buf message = BUF_INIT;
	struct config c;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(parse(&c, bad[i], &message), 0);
		assert_int_equal(config_check(&c, &message), -EINVAL);
		assert_true(message.len > 20);
	}
}

static void folders_of_a_user_come_from_the_environment(void **state)
{
	char expected[64];
	struct config c;

	unsetenv("RUNTIME_DIRECTORY");
	unsetenv("STATE_DIRECTORY");
	setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
	setenv("XDG_STATE_HOME", "/home/x/state", 1);
	config_defaults(&c, false);
	assert_string_equal(c.runtime_dir, "/run/user/7/profiled");
	assert_string_equal(c.state_dir, "/home/x/state/profiled");

	/* What is no absolute path does not count. */
	setenv("XDG_RUNTIME_DIR", "run", 1);
	unsetenv("XDG_STATE_HOME");
	setenv("HOME", "/home/x", 1);
	config_defaults(&c, false);
	snprintf(expected, sizeof(expected), "/tmp/profiled-%u", (unsigned)getuid());
	assert_string_equal(c.runtime_dir, expected);
	assert_string_equal(c.state_dir, "/home/x/.local/state/profiled");

	unsetenv("HOME");
	config_defaults(&c, false);
	snprintf(expected, sizeof(expected), "/tmp/profiled-%u/state", (unsigned)getuid());
	assert_string_equal(c.state_dir, expected);

	config_defaults(&c, true);
	assert_string_equal(c.state_dir, PFL_LOCALSTATEDIR "/lib/profiled");

	setenv("RUNTIME_DIRECTORY", "/run/a:/run/b", 1);
	setenv("STATE_DIRECTORY", "/var/a", 1);
	config_defaults(&c, false);
	assert_string_equal(c.runtime_dir, "/run/a");
	assert_string_equal(c.state_dir, "/var/a");
}

static void changes_that_wait_for_a_start_are_named(void **state)
{
	AUTO(buf_done) struct buf names = BUF_INIT;
	struct config a, b;

	config_defaults(&a, true);
	b = a;
	/* Bytes behind the end of a text are no change. */
	b.listen[sizeof(b.listen) - 1] = 'x';
	b.max_sessions = 5;
	b.log_level = LOG_LEVEL_DEBUG;
	config_changed_fixed(&a, &b, &names);
	assert_int_equal(names.len, 0);
	strcpy(b.listen, "off");
	b.names_cache_bytes = MIB;
	config_changed_fixed(&a, &b, &names);
	assert_string_equal(names.data, "http.listen, symbols.names_cache");
}

/* "#key = value" of the sample, without the "#". */
static void uncomment(struct buf *text)
{
	for (char *at = text->data; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (at[0] == '#' && at[1] >= 'a' && at[1] <= 'z')
			at[0] = ' ';
	}
}

static bool mentions(const char *text, const char *section, const char *key)
{
	char head[64], line[64];
	const char *from, *to;

	snprintf(head, sizeof(head), "\n[%s]\n", section);
	snprintf(line, sizeof(line), "\n %s =", key);
	from = strstr(text, head);
	if (!from)
		return false;
	from = strstr(from, line);
	to = from ? strchr(from, '[') : NULL;
	return from && (!to || from < to);
}

static void sample_file_tells_all_settings_and_their_values(void **state)
{
	AUTO(buf_done) struct buf text = BUF_INIT;
	AUTO(buf_done) struct buf message = BUF_INIT;
	const char *section, *key;
	struct config c, d;

	assert_int_equal(io_read_file(PFL_SOURCE_DIR "/systemd/profiled.conf", SIZE_MAX, &text), 0);
	uncomment(&text);
	if (parse(&c, text.data, &message) < 0)
		fail_msg("%s", message.data);
	for (unsigned i = 0; config_setting(i, &section, &key); i++) {
		/* For comparisons of our own. */
		if (strcmp(key, "unwinder") != 0 && !mentions(text.data, section, key))
			fail_msg("%s.%s is not there", section, key);
	}
	/* The folders depend on how this was configured. */
	config_defaults(&d, true);
	memcpy(c.runtime_dir, d.runtime_dir, sizeof(c.runtime_dir));
	memcpy(c.state_dir, d.state_dir, sizeof(c.state_dir));
	assert_memory_equal(&c, &d, sizeof(c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_within_their_own_limits),
		cmocka_unit_test(every_key_is_read),
		cmocka_unit_test(what_is_wrong_is_told_with_its_line),
		cmocka_unit_test(all_errors_are_told),
		cmocka_unit_test(bytes_that_are_no_text_are_told),
		cmocka_unit_test(indented_key_is_not_the_value_before_it),
		cmocka_unit_test(empty_file_changes_nothing),
		cmocka_unit_test(settings_come_from_the_command_line_too),
		cmocka_unit_test(settings_have_to_fit_together),
		cmocka_unit_test(folders_of_a_user_come_from_the_environment),
		cmocka_unit_test(sample_file_tells_all_settings_and_their_values),
		cmocka_unit_test(changes_that_wait_for_a_start_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
