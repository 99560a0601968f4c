#include "daemon/http/json_text.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/parse.h"

struct scan {
	const char *text;
	size_t len, at;
	const char *wrong; /* NULL: fine so far */
	unsigned depth, values;
	char open[JSON_DEPTH_MAX]; /* the bracket of each level */
};

/* NUL at the end: no byte of JSON. */
static char peek(const struct scan *s)
{
	return s->at < s->len ? s->text[s->at] : 0;
}

static bool wrong(struct scan *s, const char *what)
{
	if (!s->wrong)
		s->wrong = what;
	return false;
}

static void skip_blanks(struct scan *s)
{
	while (s->at < s->len && memchr(" \t\r\n", s->text[s->at], 4))
		s->at++;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool digits(struct scan *s)
{
	if (!is_digit(peek(s)))
		return wrong(s, "a number that lacks a digit");
	while (is_digit(peek(s)))
		s->at++;
	return true;
}

static bool number(struct scan *s)
{
	if (peek(s) == '-')
		s->at++;
	if (peek(s) == '0') {
		s->at++;
		if (is_digit(peek(s)))
			return wrong(s, "a number with a leading zero");
	} else if (!digits(s)) {
		return false;
	}
	if (peek(s) == '.') {
		s->at++;
		if (!digits(s))
			return false;
	}
	if (peek(s) == 'e' || peek(s) == 'E') {
		s->at++;
		if (peek(s) == '+' || peek(s) == '-')
			s->at++;
		return digits(s);
	}
	return true;
}

/* The four digits after \u; -1 when they are not. */
static int unit(struct scan *s)
{
	uint64_t value;

	if (s->len - s->at < 4 || parse_hex(s->text + s->at, 4, &value) != 0)
		return -1;
	s->at += 4;
	return (int)value;
}

static bool unicode(struct scan *s)
{
	int first = unit(s), second;

	if (first < 0)
		return wrong(s, "a \\u that four hex digits do not follow");
	if (first == 0)
		return wrong(s, "a \\u0000, which no name here may hold");
	if (first < 0xd800 || first > 0xdfff)
		return true;
	if (first > 0xdbff || s->len - s->at < 2 || memcmp(s->text + s->at, "\\u", 2) != 0)
		return wrong(s, "half of a surrogate pair");
	s->at += 2;
	second = unit(s);
	if (second < 0xdc00 || second > 0xdfff)
		return wrong(s, "half of a surrogate pair");
	return true;
}

static bool escape(struct scan *s)
{
	char c = peek(s);

	s->at++;
	if (c == 'u')
		return unicode(s);
	return (c && strchr("\"\\/bfnrt", c)) || wrong(s, "an escape that JSON does not have");
}

static bool string(struct scan *s)
{
	s->at++;
	while (s->at < s->len) {
		unsigned char c = (unsigned char)s->text[s->at];

		if (c < 0x20)
			return wrong(s, "a control byte in a string");
		s->at++;
		if (c == '"')
			return true;
		if (c == '\\' && !escape(s))
			return false;
	}
	return wrong(s, "a string without its end");
}

static bool word(struct scan *s, const char *literal)
{
	size_t len = strlen(literal);

	if (s->len - s->at < len || memcmp(s->text + s->at, literal, len) != 0)
		return wrong(s, "a word that is neither true, false nor null");
	s->at += len;
	return true;
}

static bool scalar(struct scan *s)
{
	switch (peek(s)) {
	case '"': return string(s);
	case 't': return word(s, "true");
	case 'f': return word(s, "false");
	case 'n': return word(s, "null");
	case 0: return wrong(s, s->at < s->len ? "a NUL byte" : "its end too early");
	default:
		if (peek(s) == '-' || is_digit(peek(s)))
			return number(s);
		return wrong(s, "a byte where a value should begin");
	}
}

/* A key and its colon. */
static bool key(struct scan *s)
{
	skip_blanks(s);
	if (peek(s) != '"')
		return wrong(s, "something else where a quoted key should be");
	if (!string(s))
		return false;
	skip_blanks(s);
	if (peek(s) != ':')
		return wrong(s, "a key without a colon");
	s->at++;
	return true;
}

/* Enters a level. *ret_value: a value has to follow at once; else the level is empty and left
 * again. */
static bool enter(struct scan *s, bool *ret_value)
{
	char bracket = peek(s);

	if (s->depth == JSON_DEPTH_MAX)
		return wrong(s, "more than 32 levels");
	s->open[s->depth++] = bracket;
	s->at++;
	skip_blanks(s);
	*ret_value = true;
	if (peek(s) == (bracket == '{' ? '}' : ']')) {
		s->at++;
		s->depth--;
		*ret_value = false;
		return true;
	}
	return bracket == '[' || key(s);
}

/* After a value: leaves levels that end here. *ret_value: another value follows. */
static bool after(struct scan *s, bool *ret_value)
{
	*ret_value = false;
	while (s->depth > 0) {
		char bracket = s->open[s->depth - 1];

		skip_blanks(s);
		if (peek(s) == ',') {
			s->at++;
			*ret_value = true;
			return bracket == '[' || key(s);
		}
		if (peek(s) != (bracket == '{' ? '}' : ']'))
			return wrong(s, "a missing comma or bracket");
		s->at++;
		s->depth--;
	}
	return true;
}

static bool values(struct scan *s)
{
	bool more = true;

	while (more) {
		skip_blanks(s);
		if (++s->values > JSON_VALUES_MAX)
			return wrong(s, "more than 4096 values");
		if (peek(s) == '{' || peek(s) == '[') {
			if (!enter(s, &more))
				return false;
			if (more)
				continue;
		} else if (!scalar(s)) {
			return false;
		}
		if (!after(s, &more))
			return false;
	}
	skip_blanks(s);
	return s->at == s->len || wrong(s, "bytes after its end");
}

int json_text_check(const char *text, size_t len, struct buf *why)
{
	struct scan s = {.text = text, .len = len};

	skip_blanks(&s);
	if (s.at == len) {
		buf_append_str(why, "The body is empty; send a JSON object such as {\"pid\": 42}.");
		return -EINVAL;
	}
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		wrong(&s, "a byte order mark");
	else if (!text_is_utf8(text, len))
		wrong(&s, "bytes that are not UTF-8");
	if (!s.wrong && values(&s))
		return 0;
	buf_printf(why, "The body is not JSON as it is taken here: it has %s (byte %zu).", s.wrong,
		s.at);
	return -EINVAL;
}
