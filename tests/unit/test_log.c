#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/log.h"

static time_t fake_seconds = 1000000;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_time);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	(void)clock;
	*ret_time = (struct timespec){.tv_sec = fake_seconds, .tv_nsec = 123000000};
	return 0;
}

/* Standard error goes into a memory file between these two; the second returns what was written. */
static int saved_stderr, capture_fd;
static char captured[65536];

static void capture_begin(void)
{
	fake_seconds += 10; /* no call site is throttled by an earlier test */
	fflush(stderr);
	saved_stderr = dup(STDERR_FILENO);
	capture_fd = memfd_create("log", MFD_CLOEXEC);
	dup2(capture_fd, STDERR_FILENO);
}

static const char *capture_end(void)
{
	ssize_t n = pread(capture_fd, captured, sizeof(captured) - 1, 0);

	captured[n > 0 ? n : 0] = 0;
	dup2(saved_stderr, STDERR_FILENO);
	close(saved_stderr);
	close(capture_fd);
	return captured;
}

static void line_has_time_name_and_level(void **state)
{
	(void)state;
	setenv("TZ", "UTC0", 1);
	unsetenv("JOURNAL_STREAM");
	fake_seconds = 1000000 - 10;
	log_init("engine", LOG_LEVEL_INFO);
	capture_begin();
	errno = EBUSY;
	log_warning("pid %d (%s) is gone", 42, "demo");
	assert_int_equal(errno, EBUSY);
	assert_string_equal(
		capture_end(), "1970-01-12 13:46:40.123 engine: warning: pid 42 (demo) is gone\n");
}

static void journal_lines_carry_a_priority(void **state)
{
	(void)state;
	setenv("JOURNAL_STREAM", "8:123", 1);
	log_init("broker", LOG_LEVEL_DEBUG);
	capture_begin();
	log_error("a");
	log_warning("b");
	log_info("c");
	log_debug("d");
	assert_string_equal(
		capture_end(), "<3>broker: a\n<4>broker: b\n<6>broker: c\n<7>broker: d\n");
}

static void level_decides_what_is_written(void **state)
{
	(void)state;
	log_set_level(LOG_LEVEL_WARNING);
	capture_begin();
	log_info("no");
	log_warning("yes");
	log_set_level(LOG_LEVEL_INFO);
	log_info("now");
	log_debug("no");
	assert_string_equal(capture_end(), "<4>broker: yes\n<6>broker: now\n");
}

static void foreign_bytes_cannot_forge_lines(void **state)
{
	(void)state;
	capture_begin();
	log_info("%s", "a\n<3>broker: forged\r\x1b[2J\xff\xc2\x9b \xc3\xa9");
	assert_string_equal(capture_end(),
		"<6>broker: a\\n<3>broker: forged\\x0d\\x1b[2J\\xff\\xc2\\x9b \xc3\xa9\n");
}

static void long_message_is_cut_and_marked(void **state)
{
	char text[5000];
	const char *line;

	(void)state;
	memset(text, '\x01', sizeof(text)); /* each byte grows to four */
	text[sizeof(text) - 1] = 0;
	capture_begin();
	log_info("%s", text);
	line = capture_end();
	assert_string_equal(line + strlen(line) - 8, "\\x01...\n");
	assert_int_equal(strlen(line), strlen("<6>broker: ") + 1020 * 4 + 4);
}

static void say(int i)
{
	log_info("line %d", i);
}

static void flood_of_a_site_is_cut_and_counted(void **state)
{
	const char *text;
	int lines = 0;

	(void)state;
	capture_begin();
	for (int i = 0; i < 100; i++)
		say(i);
	log_info("another site");
	fake_seconds++;
	say(100);
	say(101);
	text = capture_end();
	for (const char *at = text; *at; at++)
		lines += *at == '\n';
	assert_int_equal(lines, 20 + 1 + 2);
	assert_non_null(strstr(text, "line 19\n<6>broker: another site\n"));
	assert_non_null(strstr(text,
		"line 100 (80 more like this were left out)\n"
		"<6>broker: line 101\n"));
}

static void many_sites_share_the_table(void **state)
{
	static char files[3000];
	const char *text;
	int lines = 0;

	(void)state;
	capture_begin();
	for (int i = 0; i < 3000; i++)
		log_line(LOG_LEVEL_INFO, &files[i], i, "x");
	text = capture_end();
	for (const char *at = text; *at; at++)
		lines += *at == '\n';
	assert_int_equal(lines, 3000);
}

static void level_names_are_parsed(void **state)
{
	enum log_level level = LOG_LEVEL_DEBUG;

	(void)state;
	assert_int_equal(log_level_parse("error", &level), 0);
	assert_int_equal(level, LOG_LEVEL_ERROR);
	assert_int_equal(log_level_parse("warning", &level), 0);
	assert_int_equal(level, LOG_LEVEL_WARNING);
	assert_int_equal(log_level_parse("info", &level), 0);
	assert_int_equal(level, LOG_LEVEL_INFO);
	assert_int_equal(log_level_parse("debug", &level), 0);
	assert_int_equal(level, LOG_LEVEL_DEBUG);
	assert_int_equal(log_level_parse("", &level), -EINVAL);
	assert_int_equal(log_level_parse("Info", &level), -EINVAL);
	assert_int_equal(level, LOG_LEVEL_DEBUG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(line_has_time_name_and_level),
		cmocka_unit_test(journal_lines_carry_a_priority),
		cmocka_unit_test(level_decides_what_is_written),
		cmocka_unit_test(foreign_bytes_cannot_forge_lines),
		cmocka_unit_test(long_message_is_cut_and_marked),
		cmocka_unit_test(flood_of_a_site_is_cut_and_counted),
		cmocka_unit_test(many_sites_share_the_table),
		cmocka_unit_test(level_names_are_parsed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
