#include "cli/client.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/libcurl.h"

#define BODY_MAX (1u << 30)

struct client {
	const struct libcurl *lib; /* NULL: no request so far */
	CURL *curl;
	char *socket; /* NULL: by url */
	char *url;
	char *token;
	char *runtime_dir;
	struct curl_slist *headers;
	bool named;
	long status;          /* of the last answer */
	bool (*cancel)(void); /* NULL: nothing does */
};

static char *pick_socket(const struct client_where *where)
{
	const char *given = where->socket ? where->socket : getenv("PROFILED_SOCKET");
	const char *xdg = getenv("XDG_RUNTIME_DIR");
	char path[256];

	if (given)
		return strdup(given);
	if (xdg &&
		snprintf(path, sizeof(path), "%s/profiled/profiled.sock", xdg) <
			(int)sizeof(path) &&
		access(path, F_OK) == 0)
		return strdup(path);
	snprintf(path, sizeof(path), "/tmp/profiled-%u/profiled.sock", (unsigned)getuid());
	if (!xdg && getuid() != 0 && access(path, F_OK) == 0)
		return strdup(path);
	return strdup("/run/profiled/profiled.sock");
}

static int set_place(struct client *c, const struct client_where *where)
{
	const char *url = where->url ? where->url : where->socket ? NULL : getenv("PROFILED_URL");
	const char *token = where->token ? where->token : getenv("PROFILED_TOKEN");
	char *slash;

	c->named = url || where->socket || getenv("PROFILED_SOCKET");
	c->url = strdup(url ? url : "http://localhost");
	c->token = token ? strdup(token) : NULL;
	if (!c->url || (token && !c->token))
		return -ENOMEM;
	while (*c->url && c->url[strlen(c->url) - 1] == '/')
		c->url[strlen(c->url) - 1] = 0;
	if (url) {
		c->runtime_dir = strdup("");
		return c->runtime_dir ? 0 : -ENOMEM;
	}
	c->socket = pick_socket(where);
	c->runtime_dir = c->socket ? strdup(c->socket) : NULL;
	if (!c->runtime_dir)
		return -ENOMEM;
	slash = strrchr(c->runtime_dir, '/');
	if (slash)
		*slash = 0;
	return 0;
}

int client_new(const struct client_where *where, struct client **ret_client)
{
	AUTO(client_free_auto) struct client *c = calloc(1, sizeof(*c));
	int r = c ? set_place(c, where) : -ENOMEM;

	if (r < 0)
		return r;
	*ret_client = MOVE(c);
	return 0;
}

void client_free(struct client *c)
{
	if (!c)
		return;
	if (c->curl) {
		c->lib->easy_cleanup(c->curl);
		c->lib->slist_free_all(c->headers);
	}
	free(c->socket);
	free(c->url);
	free(c->token);
	free(c->runtime_dir);
	free(c);
}

const char *client_runtime_dir(const struct client *c)
{
	return c->runtime_dir;
}

const char *client_place(const struct client *c)
{
	return c->socket ? c->socket : c->url;
}

bool client_was_named(const struct client *c)
{
	return c->named;
}

long client_status(const struct client *c)
{
	return c->status;
}

void client_set_cancel(struct client *c, bool (*fn)(void))
{
	c->cancel = fn;
}

char *client_escape(const char *text)
{
	AUTO(buf_done) struct buf escaped = BUF_INIT;

	buf_append_str(&escaped, "");
	for (; *text; text++)
		if (isalnum((unsigned char)*text) || strchr("-._~", *text))
			buf_append_char(&escaped, *text);
		else
			buf_printf(&escaped, "%%%02X", (unsigned char)*text);
	return buf_take(&escaped);
}

/* Where an answer goes: into is used for a 2xx, errors always end in text. */
struct sink {
	const struct client *client;
	FILE *into;
	struct buf *body;
	struct buf text;
	bool write_failed;
};

static size_t take(char *data, size_t size, size_t count, void *arg)
{
	struct sink *k = arg;
	long status = 0;

	(void)k->client->lib->get(k->client->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status < 200 || status > 299)
		return buf_append(&k->text, data, count) < 0 ? 0 : count;
	if (k->into) {
		if (fwrite(data, 1, count, k->into) == count)
			return count;
		k->write_failed = true;
		return 0;
	}
	return buf_append(k->body, data, count) < 0 ? 0 : count;
}

/* False: there is none in it. */
static bool say_sentence(const struct buf *text)
{
	cJSON *problem = cJSON_ParseWithLength(text->data ? text->data : "", text->len);
	const char *detail =
		cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(problem, "detail"));
	const char *title =
		cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(problem, "title"));

	if (detail || title)
		fprintf(stderr, "profilectl: %s\n", detail ? detail : title);
	cJSON_Delete(problem);
	return detail || title;
}

void client_say_problem(const struct buf *problem)
{
	if (!say_sentence(problem))
		fprintf(stderr, "profilectl: there is no profile\n");
}

/* The daemon's own sentence out of a problem answer. */
static void say_problem(long status, bool is_of_session, const struct buf *text)
{
	if (!say_sentence(text))
		fprintf(stderr, "profilectl: the daemon answered with status %ld\n", status);
	if (status == 404 && is_of_session)
		fprintf(stderr, "profilectl: profilectl list shows the sessions that there are\n");
	if (status == 401)
		fprintf(stderr,
			"profilectl: give the token with --token or PROFILED_TOKEN; the daemon "
			"keeps it in "
			"its runtime folder in the file \"token\"\n");
}

static int refused_socket(const struct client *c)
{
	fprintf(stderr,
		"profilectl: the socket %s is not for this user: be root or a member of its group, "
		"or "
		"start a profiled of your own\n",
		c->socket);
	return EXIT_REFUSED;
}

static int explain(struct client *c, CURLcode code, const struct sink *k)
{
	long error = 0;

	(void)c->lib->get(c->curl, CURLINFO_OS_ERRNO, &error);
	if (k->write_failed) {
		fprintf(stderr, "profilectl: cannot write: %s\n", strerror(errno));
		return EXIT_FAILED;
	}
	if (code == CURLE_ABORTED_BY_CALLBACK)
		return EXIT_FAILED;
	if (code == CURLE_COULDNT_CONNECT && c->socket && (error == EACCES || error == EPERM))
		return refused_socket(c);
	if (code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST) {
		fprintf(stderr,
			"profilectl: no daemon answers at %s: is profiled running? Start it "
			"(systemctl "
			"start profiled, or profiled), or say by --socket or --url where else to "
			"look\n",
			client_place(c));
		return EXIT_NO_DAEMON;
	}
	fprintf(stderr, "profilectl: %s: %s\n", client_place(c), c->lib->easy_strerror(code));
	return code == CURLE_GOT_NOTHING || code == CURLE_RECV_ERROR ? EXIT_NO_DAEMON : EXIT_FAILED;
}

static int is_cancelled(
	void *arg, curl_off_t dltotal, curl_off_t dlnow, curl_off_t ultotal, curl_off_t ulnow)
{
	const struct client *c = arg;

	return c->cancel && c->cancel();
}

static int open_curl(struct client *c)
{
	AUTO(buf_done) struct buf auth = BUF_INIT;

	if (c->curl)
		return 0;
	c->lib = libcurl_get();
	if (!c->lib)
		return -ELIBACC;
	c->curl = c->lib->easy_init();
	if (!c->curl)
		return -ENOMEM;
	c->headers = c->lib->slist_append(NULL, "Content-Type: application/json");
	if (c->token && buf_printf(&auth, "Authorization: Bearer %s", c->token) == 0)
		c->headers = c->lib->slist_append(c->headers, auth.data);
	return 0;
}

static int prepare(struct client *c, const char *url, const char *method, struct sink *k)
{
	int r = open_curl(c);

	if (r < 0)
		return r;
	k->client = c;
	c->lib->easy_reset(c->curl);
	c->lib->set(c->curl, CURLOPT_URL, url);
	c->lib->set(c->curl, CURLOPT_NOPROXY, "*");
	c->lib->set(c->curl, CURLOPT_NOSIGNAL, 1L);
	c->lib->set(c->curl, CURLOPT_CUSTOMREQUEST, method);
	c->lib->set(c->curl, CURLOPT_HTTPHEADER, c->headers);
	c->lib->set(c->curl, CURLOPT_CONNECTTIMEOUT, 5L);
	if (c->socket)
		c->lib->set(c->curl, CURLOPT_UNIX_SOCKET_PATH, c->socket);
	c->lib->set(c->curl, CURLOPT_NOPROGRESS, 0L);
	c->lib->set(c->curl, CURLOPT_XFERINFOFUNCTION, is_cancelled);
	c->lib->set(c->curl, CURLOPT_XFERINFODATA, c);
	c->lib->set(c->curl, CURLOPT_WRITEFUNCTION, take);
	c->lib->set(c->curl, CURLOPT_WRITEDATA, k);
	return 0;
}

static int run(struct client *c, bool is_of_session, struct sink *k)
{
	CURLcode code = c->lib->easy_perform(c->curl);
	long status = 0;

	(void)c->lib->get(c->curl, CURLINFO_RESPONSE_CODE, &status);
	c->status = status;
	/* A file that is refused before its end: the answer is there all the same. */
	if (code != CURLE_OK && !(code == CURLE_SEND_ERROR && status >= 400))
		return explain(c, code, k);
	if (status >= 200 && status < 300)
		return EXIT_OK;
	say_problem(status, is_of_session, &k->text);
	return status == 401 || status == 403 ? EXIT_REFUSED : EXIT_FAILED;
}

/* Without a word: 0 when it answers, whatever. */
static int ask_quietly(struct client *c, const char *method, const char *path)
{
	AUTO(buf_done) struct buf url = BUF_INIT, body = {.max_bytes = 1 << 20};
	struct sink k = {.body = &body, .text = {.max_bytes = 1 << 20}};
	CURLcode code;
	long error = 0;
	int r;

	if (buf_printf(&url, "%s%s", c->url, path) < 0)
		return -ENOMEM;
	r = prepare(c, url.data, method, &k);
	if (r < 0)
		return r;
	code = c->lib->easy_perform(c->curl);
	(void)c->lib->get(c->curl, CURLINFO_OS_ERRNO, &error);
	buf_done(&k.text);
	if (code == CURLE_OK)
		return 0;
	return error > 0 ? -(int)error : -ENOTCONN;
}

int client_probe(struct client *c)
{
	return ask_quietly(c, "GET", "/healthz");
}

void client_forget(struct client *c, const char *path)
{
	(void)ask_quietly(c, "DELETE", path);
}

static int perform(
	struct client *c, const char *method, const char *path, const char *json, struct sink *k)
{
	AUTO(buf_done) struct buf url = BUF_INIT;

	if (buf_printf(&url, "%s%s", c->url, path) < 0 || prepare(c, url.data, method, k) < 0)
		return EXIT_FAILED;
	if (json || strcmp(method, "POST") == 0)
		c->lib->set(c->curl, CURLOPT_POSTFIELDS, json ? json : "");
	return run(c, strncmp(path, "/v1/sessions/", 13) == 0, k);
}

int client_call(
	struct client *c, const char *method, const char *path, const char *json, struct buf *body)
{
	struct sink k = {.body = body, .text = {.max_bytes = 1 << 20}};
	int e;

	body->max_bytes = BODY_MAX;
	e = perform(c, method, path, json, &k);
	buf_done(&k.text);
	return e;
}

int client_download(struct client *c, const char *path, FILE *into)
{
	struct sink k = {.into = into, .text = {.max_bytes = 1 << 20}};
	int e = perform(c, "GET", path, NULL, &k);

	buf_done(&k.text);
	return e;
}

/* Its own headers; an answer comes back by k. */
static int upload(struct client *c, FILE *from, int64_t bytes, struct sink *k)
{
	AUTO(buf_done) struct buf auth = BUF_INIT;
	struct curl_slist *headers =
		c->lib->slist_append(NULL, "Content-Type: application/octet-stream");
	int e = EXIT_FAILED;

	if (c->token && buf_printf(&auth, "Authorization: Bearer %s", c->token) == 0)
		headers = c->lib->slist_append(headers, auth.data);
	if (bytes < 0)
		headers = c->lib->slist_append(headers, "Transfer-Encoding: chunked");
	c->lib->set(c->curl, CURLOPT_POST, 1L);
	c->lib->set(c->curl, CURLOPT_HTTPHEADER, headers);
	c->lib->set(c->curl, CURLOPT_READDATA, from);
	c->lib->set(c->curl, CURLOPT_UPLOAD_BUFFERSIZE, 512L << 10);
	if (bytes >= 0)
		c->lib->set(c->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)bytes);
	if (headers)
		e = run(c, false, k);
	c->lib->slist_free_all(headers);
	return e;
}

int client_upload(struct client *c, const char *path, FILE *from, int64_t bytes, struct buf *body)
{
	struct sink k = {.body = body, .text = {.max_bytes = 1 << 20}};
	AUTO(buf_done) struct buf url = BUF_INIT;
	int e = EXIT_FAILED;

	body->max_bytes = BODY_MAX;
	if (buf_printf(&url, "%s%s", c->url, path) == 0 && prepare(c, url.data, "POST", &k) == 0)
		e = upload(c, from, bytes, &k);
	buf_done(&k.text);
	return e;
}
