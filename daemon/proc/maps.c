/* Lines such as "7f10a000-7f10b000 r-xp 00002000 fd:01 1234   /usr/lib/x.so". */
#include "daemon/proc/maps.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "base/parse.h"

/* PATH_MAX with " (deleted)" behind it, and some. A longer one is no path of this kernel. */
#define PATH_BYTES 8192

struct cursor {
	const char *at, *end;
};

static int digit(char c, unsigned base)
{
	unsigned value;

	if (c >= '0' && c <= '9')
		value = (unsigned)(c - '0');
	else if (c >= 'a' && c <= 'f')
		value = (unsigned)(c - 'a') + 10;
	else
		return -1;
	return value < base ? (int)value : -1;
}

static bool take_number(struct cursor *c, unsigned base, uint64_t *ret)
{
	uint64_t value = 0;
	const char *start = c->at;

	for (int d; c->at < c->end && (d = digit(*c->at, base)) >= 0; c->at++)
		if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
			__builtin_add_overflow(value, (uint64_t)d, &value))
			return false;
	*ret = value;
	return c->at > start;
}

static bool take_char(struct cursor *c, char wanted)
{
	if (c->at == c->end || *c->at != wanted)
		return false;
	c->at++;
	return true;
}

static bool take_prot(struct cursor *c, int *ret_prot)
{
	static const char letters[] = "rwx";
	static const int bits[] = {PROT_READ, PROT_WRITE, PROT_EXEC};

	*ret_prot = 0;
	for (unsigned i = 0; i < 3; i++) {
		if (take_char(c, letters[i]))
			*ret_prot |= bits[i];
		else if (!take_char(c, '-'))
			return false;
	}
	return take_char(c, 'p') || take_char(c, 's');
}

/* The kernel escapes a newline alone, as \012, and not the backslash itself: a name that really
 * holds those four characters cannot be told from it. */
static bool take_path(struct cursor *c, char *path)
{
	size_t len = 0;

	while (c->at < c->end && *c->at == ' ')
		c->at++;
	while (c->at < c->end) {
		if (len + 1 == PATH_BYTES)
			return false;
		if (c->end - c->at >= 4 && memcmp(c->at, "\\012", 4) == 0) {
			path[len++] = '\n';
			c->at += 4;
		} else {
			path[len++] = *c->at++;
		}
	}
	path[len] = '\0';
	return strlen(path) == len;
}

static bool parse_line(const char *line, size_t len, char *path, struct maps_entry *e)
{
	struct cursor c = {line, line + len};
	uint64_t major_no, minor_no;

	if (!take_number(&c, 16, &e->start) || !take_char(&c, '-') ||
		!take_number(&c, 16, &e->end) || !take_char(&c, ' ') || !take_prot(&c, &e->prot) ||
		!take_char(&c, ' ') || !take_number(&c, 16, &e->offset) || !take_char(&c, ' ') ||
		!take_number(&c, 16, &major_no) || !take_char(&c, ':') ||
		!take_number(&c, 16, &minor_no) || !take_char(&c, ' ') ||
		!take_number(&c, 10, &e->inode))
		return false;
	if (c.at < c.end && *c.at != ' ')
		return false;
	if (e->start >= e->end || major_no > UINT32_MAX || minor_no > UINT32_MAX)
		return false;
	e->dev = makedev((unsigned)major_no, (unsigned)minor_no);
	e->path = path;
	return take_path(&c, path);
}

int maps_parse(const char *text, size_t len, maps_fn fn, void *arg, size_t *ret_bad)
{
	char path[PATH_BYTES];
	size_t bad = 0;
	int r = 0;

	while (len > 0 && r == 0) {
		const char *newline = memchr(text, '\n', len);
		size_t line_len = newline ? (size_t)(newline - text) : len;
		size_t step = newline ? line_len + 1 : len;
		struct maps_entry e;

		if (parse_line(text, line_len, path, &e))
			r = fn(&e, arg);
		else
			bad++;
		text += step;
		len -= step;
	}
	if (ret_bad)
		*ret_bad = bad;
	return r;
}

size_t maps_undeleted_len(const char *path)
{
	return path_undeleted_len(path, strlen(path));
}
