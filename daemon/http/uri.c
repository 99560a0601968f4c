#include "daemon/http/uri.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/parse.h"

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes in place; the result is closed with a NUL. NULL, or what is wrong. */
static const char *decode(char *text, bool plus_is_blank)
{
	size_t len = strlen(text), out = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == '%') {
			/* The closing NUL is no digit, so that nothing is read past it. */
			int high = hex_digit(text[i + 1]);
			int low = high < 0 ? -1 : hex_digit(text[i + 2]);

			if (low < 0)
				return "a % that two hex digits do not follow; write % itself as "
				       "%25";
			c = (unsigned char)(high << 4 | low);
			i += 2;
		} else if (c == '+' && plus_is_blank) {
			c = ' ';
		}
		if (c < 0x20 || c == 0x7f)
			return "a control byte (%00 to %1F, or %7F); leave it out";
		text[out++] = (char)c;
	}
	text[out] = 0;
	return text_is_utf8(text, out) ? NULL : "bytes that are not UTF-8; encode it as UTF-8";
}

static int parse_item(struct uri *u, char *item, struct buf *why)
{
	char *value = strchr(item, '=');
	const char *wrong;

	if (value)
		*value++ = 0;
	else
		value = item + strlen(item);
	wrong = decode(item, true);
	if (!wrong)
		wrong = decode(value, true);
	if (wrong) {
		buf_printf(why, "The query of the URL has %s.", wrong);
		return 400;
	}
	if (uri_get(u, item)) {
		buf_printf(why, "The query names \"%s\" twice; give it once.", item);
		return 400;
	}
	if (u->item_count == URI_ITEMS_MAX) {
		buf_printf(why, "The query has more than %d parts; ask for less at once.",
			URI_ITEMS_MAX);
		return 400;
	}
	u->items[u->item_count++] = (struct uri_item){.key = item, .value = value};
	return 0;
}

static int parse_query(struct uri *u, char *query, struct buf *why)
{
	while (query) {
		char *next = strchr(query, '&');
		int r;

		if (next)
			*next++ = 0;
		if (*query) {
			r = parse_item(u, query, why);
			if (r)
				return r;
		}
		query = next;
	}
	return 0;
}

/* "http://host:port/path": proxies and curl --request-target write it so. */
static char *skip_authority(struct uri *u, char *text)
{
	char *slash;

	text += strlen("http://");
	u->host = text;
	slash = text + strcspn(text, "/?");
	if (*slash != '/')
		return NULL;
	/* Room for the closing NUL: the host moves left over the scheme. */
	memmove(text - 1, text, (size_t)(slash - text));
	u->host = text - 1;
	slash[-1] = 0;
	return slash;
}

static int parse(struct uri *u, struct buf *why)
{
	char *text = u->storage;
	const char *wrong;
	char *query;

	for (const char *p = text; *p; p++)
		if ((unsigned char)*p <= 0x20 || (unsigned char)*p >= 0x7f || *p == '#') {
			buf_append_str(why,
				"The URL has a blank, a control byte, a byte over 0x7E or a "
				"fragment; write such bytes as % and two hex digits.");
			return 400;
		}
	if (strcmp(text, "*") == 0) {
		u->path = text;
		return 0;
	}
	if (strncasecmp(text, "http://", 7) == 0)
		text = skip_authority(u, text);
	if (!text || *text != '/') {
		buf_append_str(why, "The URL must begin with a slash, as in GET /v1/status.");
		return 400;
	}
	query = strchr(text, '?');
	if (query)
		*query++ = 0;
	wrong = decode(text, false);
	if (wrong) {
		buf_printf(why, "The path of the URL has %s.", wrong);
		return 400;
	}
	u->path = text;
	return parse_query(u, query, why);
}

int uri_parse(const char *raw, struct uri *ret_uri, struct buf *why)
{
	struct uri u = {0};
	int r;

	if (strlen(raw) > URI_BYTES_MAX) {
		buf_printf(
			why, "The URL is longer than %d bytes; shorten its query.", URI_BYTES_MAX);
		return 414;
	}
	u.storage = strdup(raw);
	if (!u.storage)
		return 503;
	r = parse(&u, why);
	if (r)
		uri_done(&u);
	else
		*ret_uri = u;
	return r;
}

void uri_done(struct uri *u)
{
	free(u->storage);
	*u = (struct uri){0};
}

const char *uri_get(const struct uri *u, const char *key)
{
	for (unsigned i = 0; i < u->item_count; i++)
		if (strcmp(u->items[i].key, key) == 0)
			return u->items[i].value;
	return NULL;
}

int uri_without(const char *raw, const char *key, struct buf *into)
{
	const char *query = strchr(raw, '?');
	size_t key_len = strlen(key);
	char joint = '?';

	buf_append(into, raw, query ? (size_t)(query - raw) : strlen(raw));
	while (query) {
		const char *item = query + 1;
		size_t len = strcspn(item, "&");
		bool same = strncmp(item, key, key_len) == 0 &&
			(item[key_len] == '=' || item[key_len] == '&' || !item[key_len]);

		if (len && !same) {
			buf_append_char(into, joint);
			buf_append(into, item, len);
			joint = '&';
		}
		query = item[len] ? item + len : NULL;
	}
	return into->error;
}
