#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/map.h"
#include "base/parse.h"

#define LINES_PER_S  20
#define WINDOW_NS    1000000000u
#define SITES        256 /* a power of two; call sites in use at a time, not all there are */
#define SITE_PROBES  8
#define MESSAGE_MAX  1024
#define ESCAPED_MAX  (MESSAGE_MAX * 4) /* each byte may become \xNN */
#define LINE_MAX_LEN (ESCAPED_MAX + 256)

/* One call site's second. left_out only goes back to 0 when a line has told of it. */
struct site {
	const char *file; /* NULL: never used */
	int line;
	unsigned lines;
	unsigned left_out;
	uint64_t since_ns;
};

static const char *const level_names[] = {"error", "warning", "info", "debug"};
static const int level_priorities[] = {3, 4, 6, 7}; /* of syslog */

static const char *process_name = "profiled";
static atomic_int max_level = LOG_LEVEL_INFO;
static bool to_journal;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of sites and of the order of lines */
static struct site sites[SITES];

void log_init(const char *name, enum log_level level)
{
	process_name = name;
	to_journal = getenv("JOURNAL_STREAM") != NULL;
	atomic_store(&max_level, level);
	/* Reads the zone's file now: a sandbox that is entered later may forbid to open it. */
	tzset();
}

void log_set_level(enum log_level level)
{
	atomic_store(&max_level, level);
}

int log_level_parse(const char *text, enum log_level *ret_level)
{
	for (int i = 0; i <= LOG_LEVEL_DEBUG; i++) {
		if (strcmp(text, level_names[i]) == 0) {
			*ret_level = (enum log_level)i;
			return 0;
		}
	}
	return -EINVAL;
}

/* The site's entry; when all its places are taken, the one whose second began first makes way. */
static struct site *site_get(const char *file, int line, uint64_t now_ns)
{
	uint64_t hash = hash_u64((uintptr_t)file ^ ((uint64_t)line << 48));
	struct site *oldest = NULL;

	for (unsigned i = 0; i < SITE_PROBES; i++) {
		struct site *s = &sites[(hash + i) & (SITES - 1)];

		if (s->file == file && s->line == line)
			return s;
		if (!oldest || (oldest->file && (!s->file || s->since_ns < oldest->since_ns)))
			oldest = s;
	}
	*oldest = (struct site){.file = file, .line = line, .since_ns = now_ns};
	return oldest;
}

/* False: this line is one too many. Else *ret_left_out says how many were before it. */
static bool site_admits(const char *file, int line, unsigned *ret_left_out)
{
	uint64_t now_ns = time_mono_ns();
	struct site *s = site_get(file, line, now_ns);

	if (now_ns - s->since_ns >= WINDOW_NS) {
		s->since_ns = now_ns;
		s->lines = 0;
	}
	if (s->lines >= LINES_PER_S) {
		s->left_out++;
		return false;
	}
	s->lines++;
	*ret_left_out = s->left_out;
	s->left_out = 0;
	return true;
}

/* Copies what is readable; what could forge a line or steer a terminal becomes \n or \xNN. */
static void escape(const char *text, char *out, size_t out_bytes)
{
	size_t len = strlen(text), written = 0;

	for (size_t at = 0; at < len && out_bytes - written > 4;) {
		uint32_t code = 0;
		size_t bytes = utf8_char(text + at, len - at, &code);

		if (text[at] == '\n') {
			memcpy(out + written, "\\n", 2);
			written += 2;
			at++;
		} else if (bytes == 0 || text_is_control(code)) {
			written += (size_t)snprintf(out + written, out_bytes - written, "\\x%02x",
				(unsigned char)text[at]);
			at++;
		} else {
			memcpy(out + written, text + at, bytes);
			written += bytes;
			at += bytes;
		}
	}
	out[written] = 0;
}

static void write_prefix(enum log_level level, char *out, size_t out_bytes)
{
	uint64_t now_ns = time_wall_ns();
	time_t now = (time_t)(now_ns / 1000000000u);
	struct tm tm;

	if (to_journal) {
		snprintf(out, out_bytes, "<%d>%s: ", level_priorities[level], process_name);
		return;
	}
	localtime_r(&now, &tm);
	snprintf(out, out_bytes, "%04d-%02d-%02d %02d:%02d:%02d.%03u %s: %s: ", tm.tm_year + 1900,
		tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
		(unsigned)(now_ns / 1000000 % 1000), process_name, level_names[level]);
}

void log_line(enum log_level level, const char *file, int line, const char *fmt, ...)
{
	char message[MESSAGE_MAX], escaped[ESCAPED_MAX + 1];
	char prefix[128], suffix[64] = "", whole[LINE_MAX_LEN];
	unsigned left_out = 0;
	int saved = errno;
	va_list ap;
	int len;

	if ((int)level > atomic_load_explicit(&max_level, memory_order_relaxed))
		return;

	va_start(ap, fmt);
	len = vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	if (len < 0)
		snprintf(message, sizeof(message), "%s:%d: a message that cannot be formatted",
			file, line);
	else if ((size_t)len >= sizeof(message))
		memcpy(message + sizeof(message) - 4, "...", 4);
	escape(message, escaped, sizeof(escaped));

	pthread_mutex_lock(&lock);
	if (site_admits(file, line, &left_out)) {
		write_prefix(level, prefix, sizeof(prefix));
		if (left_out > 0)
			snprintf(suffix, sizeof(suffix), " (%u more like this were left out)",
				left_out);
		len = snprintf(whole, sizeof(whole), "%s%s%s\n", prefix, escaped, suffix);
		/* If standard error is gone there is nobody left to tell. */
		(void)io_write_all(STDERR_FILENO, whole, (size_t)len);
	}
	pthread_mutex_unlock(&lock);
	errno = saved;
}
