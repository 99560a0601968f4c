#include "daemon/config.h"

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/parse.h"

#define KIB        ((uint64_t)1 << 10)
#define MIB        ((uint64_t)1 << 20)
#define GIB        ((uint64_t)1 << 30)
#define SECOND_NS  UINT64_C(1000000000)
#define DAY_NS     (24 * 3600 * SECOND_NS)
#define STACK_MAX  65528 /* the size of a perf record is 16 bits */
#define ERRORS_MAX 32    /* told of one file */

enum kind {
	KIND_PATH,
	KIND_ACCOUNT,
	KIND_LEVEL,
	KIND_LISTEN,
	KIND_BOOL,
	KIND_HOSTS,
	KIND_UNWINDER,
	KIND_COUNT, /* unsigned */
	KIND_COUNT64,
	KIND_BYTES, /* uint64_t */
	KIND_BYTES32,
	KIND_TIME,
	KIND_PERCENT, /* double */
};

struct setting {
	const char *section, *key;
	enum kind kind;
	size_t offset, bytes;
	uint64_t min, max;
	bool zero;  /* allowed besides min to max */
	bool fixed; /* read at the start only */
};

#define FIELD(f) offsetof(struct config, f), sizeof(((struct config *)NULL)->f)

static const struct setting settings[] = {
	{"daemon", "runtime_dir", KIND_PATH, FIELD(runtime_dir), .fixed = true},
	{"daemon", "state_dir", KIND_PATH, FIELD(state_dir), .fixed = true},
	{"daemon", "user", KIND_ACCOUNT, FIELD(user), .fixed = true},
	{"daemon", "group", KIND_ACCOUNT, FIELD(group), .fixed = true},
	{"daemon", "log_level", KIND_LEVEL, FIELD(log_level)},
	{"http", "listen", KIND_LISTEN, FIELD(listen), .fixed = true},
	{"http", "allow_remote", KIND_BOOL, FIELD(allow_remote), .fixed = true},
	{"http", "allowed_hosts", KIND_HOSTS, FIELD(allowed_hosts)},
	{"http", "max_connections", KIND_COUNT, FIELD(max_connections), 8, 4096, .fixed = true},
	{"http", "source_text", KIND_BOOL, FIELD(source_text)},
	{"sessions", "max_sessions", KIND_COUNT, FIELD(max_sessions), 1, 256},
	{"sessions", "default_freq_hz", KIND_COUNT, FIELD(default_freq_hz), 1, 100000},
	{"sessions", "max_freq_hz", KIND_COUNT, FIELD(max_freq_hz), 1, 100000},
	{"sessions", "max_duration", KIND_TIME, FIELD(max_duration_ns), SECOND_NS, 3650 * DAY_NS,
		.zero = true},
	{"sessions", "stack_bytes", KIND_BYTES32, FIELD(stack_bytes), 512, STACK_MAX},
	{"sessions", "max_frames", KIND_COUNT, FIELD(max_frames), 16, 4096},
	{"sessions", "arguments", KIND_BOOL, FIELD(arguments)},
	{"sessions", "unwinder", KIND_UNWINDER, FIELD(unwinder)},
	{"sessions", "ring_bytes", KIND_BYTES, FIELD(ring_bytes), 64 * KIB, 64 * MIB, .zero = true},
	{"sessions", "log_entries", KIND_COUNT64, FIELD(log_entries), 1024, 1 << 28},
	{"sessions", "import_bytes", KIND_BYTES, FIELD(import_bytes), MIB, 1024 * GIB,
		.zero = true},
	{"sessions", "max_nodes", KIND_COUNT64, FIELD(max_nodes), 1024, 1 << 26},
	{"sessions", "cpu_percent", KIND_PERCENT, FIELD(cpu_percent)},
	{"sessions", "memory_mib", KIND_COUNT, FIELD(memory_mib), 8, 1 << 20},
	{"store", "max_bytes", KIND_BYTES, FIELD(store_max_bytes), MIB, 1024 * GIB},
	{"store", "max_age", KIND_TIME, FIELD(store_max_age_ns), 60 * SECOND_NS, 3650 * DAY_NS},
	{"store", "free_floor", KIND_BYTES, FIELD(store_free_floor_bytes), MIB, 1024 * GIB,
		.zero = true},
	{"store", "save_interval", KIND_TIME, FIELD(save_interval_ns), SECOND_NS, 60 * SECOND_NS},
	{"symbols", "reader_memory", KIND_BYTES, FIELD(reader_memory_bytes), 64 * MIB, 64 * GIB,
		.fixed = true},
	{"symbols", "reader_cpu_seconds", KIND_COUNT, FIELD(reader_cpu_seconds), 1, 600,
		.fixed = true},
	{"symbols", "names_cache", KIND_BYTES, FIELD(names_cache_bytes), MIB, 64 * GIB,
		.fixed = true},
};
#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

/* The first folder that a service manager made for us; false: there is none. */
static bool managed_dir(char *out, size_t bytes, const char *variable)
{
	const char *dirs = getenv(variable);

	if (!dirs || dirs[0] != '/')
		return false;
	snprintf(out, bytes, "%.*s", (int)strcspn(dirs, ":"), dirs);
	return true;
}

/* The user's own directory, from the environment or below the home; the last resort is in /tmp. */
static void user_dir(char *out, size_t bytes, const char *variable, const char *below_home)
{
	const char *base = getenv(variable);
	const char *home = getenv("HOME");

	if (base && base[0] == '/')
		snprintf(out, bytes, "%s/profiled", base);
	else if (below_home && home && home[0] == '/')
		snprintf(out, bytes, "%s/%s/profiled", home, below_home);
	else
		snprintf(out, bytes, "/tmp/profiled-%u%s", (unsigned)getuid(),
			below_home ? "/state" : "");
}

static void default_dirs(struct config *c, bool as_root)
{
	if (as_root) {
		snprintf(c->runtime_dir, sizeof(c->runtime_dir), "%s/profiled", PFL_RUNSTATEDIR);
		snprintf(c->state_dir, sizeof(c->state_dir), "%s/lib/profiled", PFL_LOCALSTATEDIR);
	} else {
		user_dir(c->runtime_dir, sizeof(c->runtime_dir), "XDG_RUNTIME_DIR", NULL);
		user_dir(c->state_dir, sizeof(c->state_dir), "XDG_STATE_HOME", ".local/state");
	}
	(void)managed_dir(c->runtime_dir, sizeof(c->runtime_dir), "RUNTIME_DIRECTORY");
	(void)managed_dir(c->state_dir, sizeof(c->state_dir), "STATE_DIRECTORY");
}

void config_defaults(struct config *c, bool as_root)
{
	/* Static, so that the bytes between its fields are zero too and two of them compare as
	 * bytes. */
	static const struct config builtin = {
		.user = "profiled",
		.group = "profiled",
		.log_level = LOG_LEVEL_INFO,
		.listen = "127.0.0.1:9611",
		.max_connections = 256,
		.max_sessions = 16,
		.default_freq_hz = 99,
		.max_freq_hz = 10000,
		.stack_bytes = 16384,
		.max_frames = 512,
		.source_text = true,
		.arguments = true,
		.unwinder = "table",
		.log_entries = 1 << 20,
		.import_bytes = GIB,
		.max_nodes = 1 << 20,
		.cpu_percent = 1,
		.memory_mib = 128,
		.store_max_bytes = GIB,
		.store_max_age_ns = 30 * DAY_NS,
		.store_free_floor_bytes = 256 * MIB,
		.save_interval_ns = 30 * SECOND_NS,
		.reader_memory_bytes = 512 * MIB,
		.reader_cpu_seconds = 3,
		.names_cache_bytes = 32 * MIB,
	};

	memcpy(c, &builtin, sizeof(*c));
	default_dirs(c, as_root);
}

/* Each of these writes a sentence and answers -EINVAL when the value will not do. */

static int set_text(void *field, size_t bytes, const char *value, struct buf *why)
{
	if (strlen(value) >= bytes) {
		buf_printf(why, "is longer than %zu bytes", bytes - 1);
		return -EINVAL;
	}
	strcpy(field, value);
	return 0;
}

static int set_path(void *field, size_t bytes, const char *value, struct buf *why)
{
	if (value[0] != '/') {
		buf_printf(why, "is no absolute path: '%s'", value);
		return -EINVAL;
	}
	return set_text(field, bytes, value, why);
}

static int set_account(void *field, size_t bytes, const char *value, struct buf *why)
{
	bool fine = value[0] != 0 && value[0] != '-';

	for (const char *at = value; *at; at++)
		fine &= isalnum((unsigned char)*at) || strchr("_-.@$", *at);
	if (!fine) {
		buf_printf(why, "is neither an account's name nor a number: '%s'", value);
		return -EINVAL;
	}
	return set_text(field, bytes, value, why);
}

static int set_level(enum log_level *field, const char *value, struct buf *why)
{
	if (log_level_parse(value, field) < 0) {
		buf_printf(why, "is not one of error, warning, info, debug: '%s'", value);
		return -EINVAL;
	}
	return 0;
}

/* Whether the address can be listened on shows when that is tried; here, that it has the form. */
static int set_listen(void *field, size_t bytes, const char *value, struct buf *why)
{
	const char *colon = strrchr(value, ':');
	uint64_t port;

	if (strcmp(value, "off") != 0 &&
		(!colon || colon == value || parse_u64(colon + 1, 65535, &port) < 0)) {
		buf_printf(why, "is neither ADDRESS:PORT nor off: '%s'", value);
		return -EINVAL;
	}
	return set_text(field, bytes, value, why);
}

static int set_bool(bool *field, const char *value, struct buf *why)
{
	if (parse_bool(value, field) < 0) {
		buf_printf(why, "is neither yes nor no: '%s'", value);
		return -EINVAL;
	}
	return 0;
}

static int set_hosts(void *field, size_t bytes, const char *value, struct buf *why)
{
	for (const char *at = value; *at; at++) {
		if (!isalnum((unsigned char)*at) && !strchr(" \t-._:[]", *at)) {
			buf_printf(why, "are host names with blanks between; '%c' is in none",
				isprint((unsigned char)*at) ? *at : '?');
			return -EINVAL;
		}
	}
	return set_text(field, bytes, value, why);
}

static int set_unwinder(void *field, size_t bytes, const char *value, struct buf *why)
{
	if (strcmp(value, "table") != 0 && strcmp(value, "libunwind") != 0 &&
		strcmp(value, "libdw") != 0) {
		buf_printf(why, "is none of table, libunwind and libdw: '%s'", value);
		return -EINVAL;
	}
	return set_text(field, bytes, value, why);
}

static int set_percent(double *field, const char *value, struct buf *why)
{
	bool fine = value[strspn(value, "0123456789.")] == 0;
	char *end = NULL;
	double percent = fine ? strtod(value, &end) : 0;

	if (!fine || end == value || *end || percent < CONFIG_PERCENT_MIN || percent > 100) {
		buf_printf(why, "is '%s', but has to be a number from %g to 100", value,
			CONFIG_PERCENT_MIN);
		return -EINVAL;
	}
	*field = percent;
	return 0;
}

static void say_value(struct buf *out, enum kind kind, uint64_t value)
{
	static const char units[] = {0, 'k', 'M', 'G'};
	unsigned unit = 0;

	if (kind == KIND_TIME) {
		if (value != 0 && value % DAY_NS == 0)
			buf_printf(out, "%" PRIu64 "d", value / DAY_NS);
		else
			buf_printf(out, "%" PRIu64 "s", value / SECOND_NS);
		return;
	}
	while ((kind == KIND_BYTES || kind == KIND_BYTES32) && unit < 3 && value != 0 &&
		value % KIB == 0) {
		value /= KIB;
		unit++;
	}
	buf_append_u64(out, value);
	if (unit > 0)
		buf_append_char(out, units[unit]);
}

static int read_number(
	const struct setting *s, const char *value, uint64_t *ret_number, struct buf *why)
{
	static const char *const forms[] = {
		[KIND_COUNT] = "a whole number",
		[KIND_COUNT64] = "a whole number",
		[KIND_BYTES] = "a number of bytes such as 64k, 128M or 1G",
		[KIND_BYTES32] = "a number of bytes such as 64k, 128M or 1G",
		[KIND_TIME] = "a time such as 30s, 10m, 1h or 7d",
	};
	uint64_t number = 0;
	int r;

	if (s->kind == KIND_TIME)
		r = parse_duration_ns(value, &number);
	else if (s->kind == KIND_BYTES || s->kind == KIND_BYTES32)
		r = parse_bytes(value, &number);
	else
		r = parse_u64(value, UINT64_MAX, &number);
	if (r == -EINVAL) {
		buf_printf(why, "is not %s: '%s'", forms[s->kind], value);
		return -EINVAL;
	}
	if (r < 0 || ((number < s->min || number > s->max) && !(s->zero && number == 0))) {
		buf_printf(why, "is '%s', but has to be %s", value, s->zero ? "0 or " : "");
		say_value(why, s->kind, s->min);
		buf_append_str(why, " to ");
		say_value(why, s->kind, s->max);
		return -EINVAL;
	}
	*ret_number = number;
	return 0;
}

static int set_number(const struct setting *s, void *field, const char *value, struct buf *why)
{
	uint64_t number;
	int r = read_number(s, value, &number, why);

	if (r < 0)
		return r;
	if (s->bytes == sizeof(unsigned))
		*(unsigned *)field = (unsigned)number;
	else
		*(uint64_t *)field = number;
	return 0;
}

static int set_field(struct config *c, const struct setting *s, const char *value, struct buf *why)
{
	void *field = (char *)c + s->offset;

	switch (s->kind) {
	case KIND_PATH: return set_path(field, s->bytes, value, why);
	case KIND_ACCOUNT: return set_account(field, s->bytes, value, why);
	case KIND_LEVEL: return set_level(field, value, why);
	case KIND_LISTEN: return set_listen(field, s->bytes, value, why);
	case KIND_BOOL: return set_bool(field, value, why);
	case KIND_HOSTS: return set_hosts(field, s->bytes, value, why);
	case KIND_UNWINDER: return set_unwinder(field, s->bytes, value, why);
	case KIND_PERCENT: return set_percent(field, value, why);
	case KIND_COUNT:
	case KIND_COUNT64:
	case KIND_BYTES:
	case KIND_BYTES32:
	case KIND_TIME: return set_number(s, field, value, why);
	}
	return -EINVAL;
}

static bool section_is_known(const char *section)
{
	for (size_t i = 0; i < SETTINGS; i++) {
		if (strcmp(settings[i].section, section) == 0)
			return true;
	}
	return false;
}

static void say_sections(struct buf *out)
{
	for (size_t i = 0; i < SETTINGS; i++) {
		if (i > 0 && strcmp(settings[i - 1].section, settings[i].section) == 0)
			continue;
		buf_printf(out, "%s%s", i > 0 ? ", " : "", settings[i].section);
	}
}

static const struct setting *setting_find(const char *section, const char *key, struct buf *why)
{
	for (size_t i = 0; i < SETTINGS; i++) {
		if (strcmp(settings[i].section, section) == 0 && strcmp(settings[i].key, key) == 0)
			return &settings[i];
	}
	if (!section_is_known(section)) {
		buf_printf(why, "there is no section '%s'; there are ", section);
		say_sections(why);
		return NULL;
	}
	buf_printf(why, "there is no setting '%s' in section '%s'", key, section);
	return NULL;
}

int config_set(struct config *c, const char *section, const char *key, const char *value,
	struct buf *message)
{
	const struct setting *s = setting_find(section, key, message);
	AUTO(buf_done) struct buf why = BUF_INIT;

	if (!s)
		return -EINVAL;
	if (set_field(c, s, value, &why) == 0)
		return 0;
	buf_printf(message, "%s.%s %s", section, key, why.data ? why.data : "");
	return -EINVAL;
}

int config_set_text(struct config *c, const char *text, struct buf *message)
{
	const char *dot = strchr(text, '.');
	const char *equals = strchr(text, '=');
	char section[32], key[32];

	if (!dot || !equals || dot > equals || (size_t)(dot - text) >= sizeof(section) ||
		(size_t)(equals - dot - 1) >= sizeof(key)) {
		buf_printf(message, "not SECTION.KEY=VALUE: '%s'", text);
		return -EINVAL;
	}
	snprintf(section, sizeof(section), "%.*s", (int)(dot - text), text);
	snprintf(key, sizeof(key), "%.*s", (int)(equals - dot - 1), dot + 1);
	return config_set(c, section, key, equals + 1, message);
}

/* One file on its way through inih, which asks for it line by line. */
struct parse {
	struct config *config;
	const char *at, *end;
	unsigned line;
	unsigned first_of[SETTINGS]; /* the line that set it; 0: none yet */
	unsigned errors;
	struct buf *message;
};

/* A new line of the message; false when enough has been told. */
static bool parse_complain(struct parse *p)
{
	if (p->errors++ >= ERRORS_MAX)
		return false;
	if (p->message->len > 0)
		buf_append_char(p->message, '\n');
	buf_printf(p->message, "line %u: ", p->line);
	return true;
}

/* A section without keys is not told to the handler, so headers are looked at here. */
static void check_section(struct parse *p, const char *line)
{
	const char *end = strchr(line, ']');
	char section[64];

	if (line[0] != '[' || !end)
		return;
	snprintf(section, sizeof(section), "%.*s", (int)(end - line - 1), line + 1);
	if (section_is_known(section) || !parse_complain(p))
		return;
	buf_printf(p->message, "there is no section '%s'; there are ", section);
	say_sections(p->message);
}

/* fgets(3) over the text. Blanks at the front go, as inih would take such a line for the rest of
 * the value before it; a line that is longer than inih takes is told and left out. */
static char *next_line(char *out, int room, void *stream)
{
	struct parse *p = stream;
	const char *end, *from = p->at;
	size_t len;

	if (p->at >= p->end)
		return NULL;
	p->line++;
	end = memchr(p->at, '\n', (size_t)(p->end - p->at));
	if (!end)
		end = p->end;
	p->at = end < p->end ? end + 1 : end;
	while (from < end && (*from == ' ' || *from == '\t'))
		from++;
	len = (size_t)(end - from);
	out[0] = 0;
	if (len + 2 > (size_t)room) {
		if (parse_complain(p))
			buf_printf(p->message, "longer than %d bytes", room - 2);
	} else if (memchr(from, 0, len)) {
		if (parse_complain(p))
			buf_append_str(p->message, "a zero byte is in it");
	} else {
		memcpy(out, from, len);
		out[len] = 0;
		check_section(p, out);
	}
	strcat(out, "\n");
	return out;
}

static void set_from_file(struct parse *p, const struct setting *s, const char *value)
{
	unsigned *first = &p->first_of[s - settings];
	AUTO(buf_done) struct buf why = BUF_INIT;

	if (*first != 0) {
		if (parse_complain(p))
			buf_printf(p->message, "%s was set in line %u already", s->key, *first);
		return;
	}
	*first = p->line;
	if (set_field(p->config, s, value, &why) < 0 && parse_complain(p))
		buf_printf(p->message, "%s %s", s->key, why.data ? why.data : "");
}

static int on_pair(void *user, const char *section, const char *key, const char *value)
{
	AUTO(buf_done) struct buf why = BUF_INIT;
	struct parse *p = user;
	const struct setting *s;

	if (!value)
		return 0;
	/* An unknown section has been told at its header. */
	if (section[0] != 0 && !section_is_known(section))
		return 1;
	if (section[0] == 0) {
		if (parse_complain(p))
			buf_printf(p->message, "%s stands before the first [section]", key);
		return 1;
	}
	s = setting_find(section, key, &why);
	if (s)
		set_from_file(p, s, value);
	else if (parse_complain(p))
		buf_append_str(p->message, why.data ? why.data : "");
	return 1;
}

int config_parse(struct config *c, const char *text, size_t len, struct buf *message)
{
	struct parse p = {.config = c, .at = text, .end = text + len, .message = message};
	int bad;

	if (len > CONFIG_FILE_MAX) {
		buf_printf(message, "the file is larger than %zu bytes", CONFIG_FILE_MAX);
		return -EINVAL;
	}
	bad = ini_parse_stream(next_line, &p, on_pair, &p);
	if (bad < 0)
		return -ENOMEM;
	if (bad > 0) {
		p.line = (unsigned)bad;
		if (parse_complain(&p))
			buf_append_str(message, "neither [section] nor key = value");
	}
	if (p.errors > ERRORS_MAX)
		buf_printf(message, "\nand %u more", p.errors - ERRORS_MAX);
	return p.errors > 0 ? -EINVAL : 0;
}

int config_check(const struct config *c, struct buf *message)
{
	if (c->default_freq_hz > c->max_freq_hz) {
		buf_printf(message,
			"sessions.default_freq_hz is %u, above sessions.max_freq_hz, which is %u",
			c->default_freq_hz, c->max_freq_hz);
		return -EINVAL;
	}
	if (c->stack_bytes % 8 != 0) {
		buf_printf(message, "sessions.stack_bytes is %u, no multiple of 8", c->stack_bytes);
		return -EINVAL;
	}
	if ((c->ring_bytes & (c->ring_bytes - 1)) != 0) {
		buf_printf(message, "sessions.ring_bytes is %" PRIu64 ", no power of two",
			c->ring_bytes);
		return -EINVAL;
	}
	if (strcmp(c->runtime_dir, c->state_dir) == 0) {
		buf_printf(message, "daemon.runtime_dir and daemon.state_dir are the same: %s",
			c->state_dir);
		return -EINVAL;
	}
	return 0;
}

bool config_setting(unsigned i, const char **ret_section, const char **ret_key)
{
	if (i >= SETTINGS)
		return false;
	*ret_section = settings[i].section;
	*ret_key = settings[i].key;
	return true;
}

static bool differs(const struct setting *s, const struct config *a, const struct config *b)
{
	const char *x = (const char *)a + s->offset;
	const char *y = (const char *)b + s->offset;

	switch (s->kind) {
	case KIND_PATH:
	case KIND_ACCOUNT:
	case KIND_LISTEN:
	case KIND_HOSTS:
	case KIND_UNWINDER: return strcmp(x, y) != 0;
	default: return memcmp(x, y, s->bytes) != 0;
	}
}

void config_changed_fixed(const struct config *old, const struct config *now, struct buf *names)
{
	for (size_t i = 0; i < SETTINGS; i++) {
		if (settings[i].fixed && differs(&settings[i], old, now))
			buf_printf(names, "%s%s.%s", names->len > 0 ? ", " : "",
				settings[i].section, settings[i].key);
	}
}
