#include "daemon/http/vet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "daemon/http/answer.h"
#include "daemon/http/route.h"

#define HOST_BYTES 256

static bool refuse_and_close(struct req *r, unsigned status, const char *detail)
{
	problem(r, status, "%s", detail);
	r->answer.close = true;
	return false;
}

static bool is_token(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c <= 0x20 || c >= 0x7f || strchr("()<>@,;:\\\"/[]?={}", c))
			return false;
	}
	return len > 0;
}

static bool vet_header_bytes(struct req *r)
{
	for (unsigned i = 0; i < r->header_count; i++) {
		const struct header *h = &r->headers[i];

		if (!is_token(h->name, h->name_len))
			return refuse_and_close(r, 400,
				"A header has a name with bytes that no name may have; blanks "
				"before the "
				"colon and folded lines are not allowed.");
		for (size_t j = 0; j < h->value_len; j++) {
			unsigned char c = (unsigned char)h->value[j];

			if ((c < 0x20 && c != '\t') || c == 0x7f)
				return refuse_and_close(r, 400,
					"The value of a header has a control byte; leave it out.");
		}
	}
	return true;
}

/* How long the body is must be said in one way only: where two ways differ, two programs on the way
 * would see two different requests. */
static bool vet_length(struct req *r)
{
	const char *length, *coding;
	int lengths = req_header(r, "Content-Length", &length);
	int codings = req_header(r, "Transfer-Encoding", &coding);

	if (lengths == -EEXIST || codings == -EEXIST || (lengths == 1 && codings == 1))
		return refuse_and_close(r, 400,
			"The length of the body is given more than once; send either one "
			"Content-Length "
			"or Transfer-Encoding: chunked.");
	if (codings == 1) {
		if (strcasecmp(coding, "chunked") != 0)
			return refuse_and_close(
				r, 400, "The only Transfer-Encoding taken here is chunked.");
		if (strcmp(r->version, "HTTP/1.0") == 0)
			return refuse_and_close(r, 400,
				"HTTP/1.0 has no Transfer-Encoding; send a Content-Length.");
		r->body_len = UINT64_MAX;
	} else if (lengths == 1) {
		int error = parse_u64(length, UINT64_MAX - 1, &r->body_len);

		if (error == -ERANGE)
			return refuse_and_close(
				r, 413, "The body is larger than 1 MiB; send less.");
		if (error)
			return refuse_and_close(r, 400,
				"Content-Length must be one decimal number without a sign.");
	}
	return true;
}

bool vet_message(struct req *r)
{
	const char *expect;
	int status;
	AUTO(buf_done) struct buf why = {.max_bytes = 1024};

	if (r->malformed)
		return refuse_and_close(r, 400, r->malformed);
	if (strcmp(r->version, "HTTP/1.1") != 0 && strcmp(r->version, "HTTP/1.0") != 0)
		return refuse_and_close(r, 505, "Speak HTTP/1.1 or HTTP/1.0.");
	if (!is_token(r->method_text, strlen(r->method_text)) || !r->raw)
		return refuse_and_close(r, 400,
			"The request line must be a method, a URL and HTTP/1.1, with one blank "
			"between.");
	if (!vet_header_bytes(r) || !vet_length(r))
		return false;
	status = req_header(r, "Expect", &expect);
	if (status == -EEXIST || (status == 1 && strcasecmp(expect, "100-continue") != 0))
		return refuse_and_close(r, 417, "The only Expect understood here is 100-continue.");
	status = uri_parse(r->raw, &r->uri, &why);
	if (status)
		return refuse_and_close(r, (unsigned)status,
			why.data ? why.data
				 : "There is no memory for this request; try again later.");
	return true;
}

bool vet_host_split(const char *host, char *ret_name, size_t name_bytes)
{
	size_t name_len, digits;

	if (*host == '[') {
		name_len = 1 + strspn(host + 1, "0123456789abcdefABCDEF:.");
		if (host[name_len] != ']')
			return false;
		name_len++;
	} else {
		name_len = strspn(
			host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._");
	}
	if (name_len == 0 || name_len >= name_bytes)
		return false;
	if (host[name_len]) {
		if (host[name_len] != ':')
			return false;
		digits = strspn(host + name_len + 1, "0123456789");
		if (digits > 5 || host[name_len + 1 + digits])
			return false;
	}
	memcpy(ret_name, host, name_len);
	ret_name[name_len] = 0;
	return true;
}

static bool in_list(const char *name, const char *list)
{
	size_t len = strlen(name);

	while (*list) {
		size_t word;

		list += strspn(list, " \t,");
		word = strcspn(list, " \t,");
		if (word == len && strncasecmp(list, name, len) == 0)
			return true;
		list += word;
	}
	return false;
}

static bool host_allowed(const char *host, const char *listen, const char *allowed_hosts)
{
	char name[HOST_BYTES], own[HOST_BYTES];

	if (!vet_host_split(host, name, sizeof(name)))
		return false;
	if (in_list(name, "localhost 127.0.0.1 [::1]") || in_list(name, allowed_hosts))
		return true;
	return vet_host_split(listen, own, sizeof(own)) && strcasecmp(own, name) == 0;
}

/* A name of an attacker that resolves to 127.0.0.1 (DNS rebinding) makes a browser think that his
 * page and we are one site. Its Host gives that away. */
static bool vet_host(struct req *r, bool unix_socket, const char *listen, const char *allowed_hosts,
	const char **ret_host)
{
	char name[HOST_BYTES];
	const char *host = NULL;
	int hosts = req_header(r, "Host", &host);

	if (hosts == -EEXIST)
		return refuse_and_close(r, 400, "There are two Host headers; send one.");
	if (hosts == 0 && strcmp(r->version, "HTTP/1.1") == 0)
		return refuse_and_close(r, 400, "There is no Host header; HTTP/1.1 wants one.");
	*ret_host = host;
	if (r->uri.host)
		host = r->uri.host;
	if (!host || (unix_socket && !*host))
		return true;
	if (!vet_host_split(host, name, sizeof(name)))
		return refuse_and_close(r, 400, "The Host header is not a name, or a name:port.");
	if (unix_socket)
		return true;
	if (host_allowed(host, listen, allowed_hosts) &&
		(!*ret_host || host_allowed(*ret_host, listen, allowed_hosts)))
		return true;
	problem(r, 421,
		"This server does not go by the name \"%s\". Use localhost or 127.0.0.1, or add "
		"the "
		"name to allowed_hosts in section [http] of the configuration.",
		name);
	r->answer.close = true;
	return false;
}

/* Same host and port as the one that was asked; the scheme may be that of a proxy in front. */
static bool origin_is_ours(const char *origin, const char *host)
{
	if (!host)
		return false;
	if (strncasecmp(origin, "http://", 7) == 0)
		return strcasecmp(origin + 7, host) == 0;
	return strncasecmp(origin, "https://", 8) == 0 && strcasecmp(origin + 8, host) == 0;
}

bool vet_site(struct req *r, bool unix_socket, const char *listen, const char *allowed_hosts)
{
	const char *host, *value;
	int found;

	if (!vet_host(r, unix_socket, listen, allowed_hosts, &host))
		return false;
	found = req_header(r, "Origin", &value);
	if (found == -EEXIST || (found == 1 && !origin_is_ours(value, host))) {
		problem(r, 403,
			"The request comes from a page of another site (Origin), which is not "
			"allowed. "
			"Open the page of this server itself.");
		return false;
	}
	found = req_header(r, "Sec-Fetch-Site", &value);
	if (found == -EEXIST ||
		(found == 1 && strcasecmp(value, "same-origin") != 0 &&
			strcasecmp(value, "none") != 0)) {
		problem(r, 403,
			"The request comes from a page of another site (Sec-Fetch-Site), which is "
			"not "
			"allowed. Type the address into the address bar instead.");
		return false;
	}
	return true;
}

/* "application/json", perhaps with "; charset=utf-8". */
static bool is_json_type(const char *type)
{
	static const char json[] = "application/json";
	size_t len = sizeof(json) - 1;

	if (strncasecmp(type, json, len) != 0)
		return false;
	type += len + strspn(type + len, " \t");
	if (!*type)
		return true;
	if (*type != ';')
		return false;
	type += 1 + strspn(type + 1, " \t");
	return strcasecmp(type, "charset=utf-8") == 0 || strcasecmp(type, "charset=\"utf-8\"") == 0;
}

/* curl -d says that it sends a form. A form of a hostile page says so too, so it is taken for JSON
 * only where no page can be behind it. */
static bool is_form_of_curl(const struct req *r, bool unix_socket, const char *type)
{
	if (type && strcasecmp(type, "application/x-www-form-urlencoded") != 0)
		return false;
	if (req_has_header(r, "Origin") || req_has_header(r, "Sec-Fetch-Site") ||
		req_has_header(r, "Sec-Fetch-Mode"))
		return false;
	return unix_socket || r->by_bearer;
}

bool vet_body(struct req *r, bool unix_socket, bool wants_body)
{
	const char *type = NULL, *coding;
	int types;

	if (r->body_len == 0)
		return true;
	if (!wants_body)
		return refuse_and_close(r, 400, "This request takes no body; send none.");
	if (r->body_len != UINT64_MAX && r->body_len > REQUEST_BODY_MAX)
		return refuse_and_close(r, 413, "The body is larger than 1 MiB; send less.");
	if (req_header(r, "Content-Encoding", &coding) != 0)
		return refuse_and_close(r, 415, "Send the body without a Content-Encoding.");
	if (r->route->any_body)
		return true;
	types = req_header(r, "Content-Type", &type);
	if (types == -EEXIST ||
		!((types == 1 && is_json_type(type)) || is_form_of_curl(r, unix_socket, type)))
		return refuse_and_close(r, 415,
			"The body must be JSON, and say so: Content-Type: application/json.");
	return true;
}
