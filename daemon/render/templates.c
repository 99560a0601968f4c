#include "daemon/render/templates.h"

#include <stdbool.h>
#include <string.h>

#define LISTS_MAX 256 /* looked at in one name, which may be made to be slow */

static bool is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* Bytes of an operator's name at `at`, which may be all that is special about its brackets; 0:
 * there is none. */
static size_t operator_bytes(const char *name, const char *at)
{
	/* The longer ones first. */
	static const char *const symbols[] = {
		"->*", "<=>", "<<=", ">>=", "->", "<<", ">>", "<=", ">=", "()", "[]", "<", ">"};

	if (strncmp(at, "operator", 8) != 0 || (at > name && is_word(at[-1])))
		return 0;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++)
		if (strncmp(at + 8, symbols[i], strlen(symbols[i])) == 0)
			return 8 + strlen(symbols[i]);
	return 0;
}

/* Behind the bracket that closes the one at `at`, whatever is between; NULL: none does. */
static const char *behind_group(const char *at)
{
	unsigned depth = 0;

	for (; *at; at++) {
		if (*at == '(' || *at == '[' || *at == '{')
			depth++;
		else if ((*at == ')' || *at == ']' || *at == '}') && --depth == 0)
			return at + 1;
	}
	return NULL;
}

/* Behind the '>' that closes the '<' at `at`. In brackets a '<' may be a comparison. */
static const char *behind_list(const char *name, const char *at)
{
	unsigned depth = 0;

	while (*at) {
		size_t skip = operator_bytes(name, at);

		if (skip) {
			at += skip;
			continue;
		}
		switch (*at) {
		case '(':
		case '[':
		case '{':
			at = behind_group(at);
			if (!at)
				return NULL;
			continue;
		case '<': depth++; break;
		case '>':
			if (at > name && at[-1] == '-')
				break;
			if (--depth == 0)
				return at + 1;
			break;
		}
		at++;
	}
	return NULL;
}

static bool begins(const char *at, const char *with)
{
	return strncmp(at, with, strlen(with)) == 0;
}

/* "<T as Trait>", "<impl Trait for T>": Rust's way to say whose function this is. */
static bool is_rust_path(const char *name, const char *at, const char *end)
{
	if (begins(at, "<impl "))
		return true;
	for (const char *p = at + 1; p < end; p++) {
		if (*p == '<') {
			p = behind_list(name, p);
			if (!p)
				return false;
			p--;
		} else if (begins(p, " as ")) {
			return true;
		}
	}
	return false;
}

/* A list of arguments, which stands behind a name; done: the end of an operator's name, which may
 * be one. */
static bool is_list(const char *name, const char *at, const char *end, const char *done)
{
	const char *before = at;

	if (begins(at, "<lambda") || begins(at, "<unnamed") || begins(at, "<anonymous"))
		return false;
	while (before > name && before[-1] == ' ')
		before--;
	if (before == done)
		return true; /* operator<< <int> */
	if (before == name || before != at)
		return false;
	if (at - name >= 2 && at[-1] == ':' && at[-2] == ':')
		return at - name > 2 && !is_rust_path(name, at, end); /* area::<u32> */
	return is_word(at[-1]) || at[-1] == ']';
}

size_t templates_fold(const char *name, char *out)
{
	const char *at = name, *done = NULL;
	unsigned lists = 0;
	char *to = out;

	while (*at) {
		size_t n = operator_bytes(name, at);
		const char *end;

		if (n) {
			memcpy(to, at, n);
			to += n;
			at += n;
			done = at;
			continue;
		}
		end = *at == '<' && lists++ < LISTS_MAX ? behind_list(name, at) : NULL;
		if (*at == '<' && !end)
			break;
		if (end && end - at > 2 && is_list(name, at, end, done)) {
			memcpy(to, "<...>", 5);
			to += 5;
			at = end;
			continue;
		}
		*to++ = *at++;
	}
	strcpy(to, at);
	return (size_t)(to - out) + strlen(at);
}
