#include "daemon/http/auth.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "daemon/http/answer.h"
#include "daemon/http/page.h"

#define GROUPS_MAX      65536 /* NGROUPS_MAX of the kernel */
#define BASIC_BYTES_MAX 256

/* The peer's supplementary groups as of its connect(2). Asking the kernel needs no look-up of
 * users, which might block or open files. */
static bool in_peer_groups(int fd, gid_t group)
{
	gid_t few[64];
	socklen_t bytes = sizeof(few);
	AUTO(free_auto) gid_t *many = NULL;
	gid_t *groups = few;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, few, &bytes) < 0) {
		if (errno != ERANGE || bytes > GROUPS_MAX * sizeof(gid_t))
			return false;
		many = malloc(bytes);
		if (!many || getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, many, &bytes) < 0)
			return false;
		groups = many;
	}
	for (size_t i = 0; i < bytes / sizeof(gid_t); i++)
		if (groups[i] == group)
			return true;
	return false;
}

int auth_peer(int fd, uid_t self_uid, gid_t group, struct caller *ret_who)
{
	struct ucred cred;
	socklen_t bytes = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &bytes) < 0)
		return -errno;
	ret_who->uid = cred.uid;
	ret_who->all = cred.uid == 0 || cred.uid == self_uid;
	if (!ret_who->all && group != (gid_t)-1)
		ret_who->all = cred.gid == group || in_peer_groups(fd, group);
	return 0;
}

bool auth_token_equal(const char *token, const char *given, size_t given_len)
{
	volatile unsigned char differ = 0;

	if (given_len != AUTH_TOKEN_DIGITS || strlen(token) != AUTH_TOKEN_DIGITS)
		return false;
	for (size_t i = 0; i < AUTH_TOKEN_DIGITS; i++)
		differ |= (unsigned char)(token[i] ^ given[i]);
	return differ == 0;
}

static void cookie_name(unsigned port, char *ret_name, size_t bytes)
{
	snprintf(ret_name, bytes, "profiled_%u", port);
}

static bool cookie_has_token(const struct header *h, const char *token, const char *name)
{
	const char *at = h->value;
	size_t name_len = strlen(name);

	while (*at) {
		size_t len;

		at += strspn(at, "; \t");
		len = strcspn(at, ";");
		if (len > name_len && strncmp(at, name, name_len) == 0 && at[name_len] == '=' &&
			auth_token_equal(token, at + name_len + 1, len - name_len - 1))
			return true;
		at += len;
	}
	return false;
}

static int base64_value(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* The bytes that text stands for up to its first character that is none of the alphabet's: how
 * many; -1: more than max. */
static int base64_decode(const char *text, char *out, size_t max)
{
	unsigned bits = 0, count = 0;
	size_t len = 0;
	int value;

	for (; (value = base64_value(*text)) >= 0; text++) {
		bits = bits << 6 | (unsigned)value;
		count += 6;
		if (count < 8)
			continue;
		count -= 8;
		if (len == max)
			return -1;
		out[len++] = (char)(bits >> count);
	}
	return (int)len;
}

/* "user:TOKEN", or "TOKEN:", as programs send what stands in front of the host in an address. A
 * browser would send it by itself to whatever asks, so that this is worth no more than a cookie;
 * and it is never asked for. */
static bool basic_has_token(const char *value, const char *token)
{
	char text[BASIC_BYTES_MAX];
	int len = base64_decode(value, text, sizeof(text));
	const char *colon = len > 0 ? memchr(text, ':', (size_t)len) : NULL;
	size_t user;

	if (!colon)
		return false;
	user = (size_t)(colon - text);
	if (user + 1 == (size_t)len)
		return auth_token_equal(token, text, user);
	return auth_token_equal(token, colon + 1, (size_t)len - user - 1);
}

bool auth_has_token(struct req *r, const char *token, unsigned port)
{
	const char *value;
	char name[32];
	int found = req_header(r, "Authorization", &value);

	if (found == 1 && strncasecmp(value, "Basic ", 6) == 0)
		return basic_has_token(value + 6 + strspn(value + 6, " "), token);
	if (found == 1) {
		if (strncasecmp(value, "Bearer ", 7) != 0)
			return false;
		value += 7 + strspn(value + 7, " ");
		r->by_bearer = auth_token_equal(token, value, strcspn(value, " \t"));
		return r->by_bearer;
	}
	if (found < 0)
		return false;
	cookie_name(port, name, sizeof(name));
	for (unsigned i = 0; i < r->header_count; i++)
		if (r->headers[i].name_len == 6 &&
			strncasecmp(r->headers[i].name, "Cookie", 6) == 0 &&
			cookie_has_token(&r->headers[i], token, name))
			return true;
	return false;
}

bool auth_take_query_token(struct req *r, const char *token, unsigned port)
{
	const char *given = uri_get(&r->uri, "token");
	AUTO(buf_done) struct buf clean = BUF_INIT;
	char name[32];

	if (!given || r->method != METHOD_GET || !auth_token_equal(token, given, strlen(given)))
		return false;
	/* "//host/" and "/\host/" would lead a browser away from here. */
	if (r->uri.host || r->raw[1] == '/' || r->raw[1] == '\\')
		return false;
	if (uri_without(r->raw, "token", &clean) < 0)
		return false;
	cookie_name(port, name, sizeof(name));
	answer_header(r, "Location", "%s", clean.data);
	answer_header(r, "Set-Cookie", "%s=%s; Path=/; HttpOnly; SameSite=Strict", name, token);
	answer_empty(r, 303);
	return true;
}

void auth_refuse(struct req *r)
{
	const char *accepted;

	answer_header(r, "WWW-Authenticate", "Bearer realm=\"profiled\"");
	/* Of a browser's address bar, which no script's request is like. */
	if (r->method == METHOD_GET && r->raw && strcmp(r->uri.path, "/") == 0 &&
		req_header(r, "Accept", &accepted) == 1 && strstr(accepted, "text/html")) {
		page_login(r);
		return;
	}
	problem(r, 401,
		"This needs the token. Open the address with ?token=... that the daemon printed at "
		"its start, send the header Authorization: Bearer TOKEN, or where a program takes "
		"no "
		"header put it in front of the host: http://TOKEN@...");
}
