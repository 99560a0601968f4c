#include "daemon/http/upload.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/io.h"
#include "daemon/http/answer.h"
#include "daemon/http/http.h"
#include "daemon/store/store.h"

static bool refuse(struct req *r, unsigned status, const char *detail)
{
	problem(r, status, "%s", detail);
	r->answer.close = true;
	return false;
}

static bool check_header(struct req *r, uint64_t max_bytes)
{
	const char *type, *coding;

	if (!r->who.all)
		return refuse(r, 403,
			"Imports are for root and the service group: the files that a recording "
			"names are opened with the daemon's rights.");
	if (max_bytes == 0)
		return refuse(r, 403, "import_bytes = 0 in the configuration forbids imports.");
	if (r->body_len == 0)
		return refuse(r, 400, "The body must be a perf.data file; it is empty.");
	if (r->body_len != UINT64_MAX && r->body_len > max_bytes)
		return refuse(r, 413,
			"The file is larger than import_bytes in the configuration; raise that, or "
			"record for less long.");
	if (req_header(r, "Content-Encoding", &coding) != 0)
		return refuse(r, 415, "Send the body without a Content-Encoding.");
	/* No form of a page can say so. */
	if (req_header(r, "Content-Type", &type) != 1 ||
		strcasecmp(type, "application/octet-stream") != 0)
		return refuse(r, 415,
			"The body must be a file, and say so: Content-Type: "
			"application/octet-stream.");
	return true;
}

bool upload_begin(struct req *r)
{
	uint64_t announced = r->body_len == UINT64_MAX ? 0 : r->body_len;
	int e;

	r->spool_max = HTTP_CONFIG(r->http, import_bytes);
	if (!check_header(r, r->spool_max))
		return false;
	e = store_spool(r->http->setup.store, announced, &r->spool_fd);
	if (e == -ENOSPC)
		return refuse(r, 507,
			"The state directory has no room for this file; make some, or lower "
			"free_floor.");
	if (e < 0) {
		problem(r, 503, "The file cannot be kept for its import: %s.", strerror(-e));
		r->answer.close = true;
		return false;
	}
	return true;
}

unsigned upload_take(struct req *r, const char *data, size_t len, const char **ret_detail)
{
	int e;

	/* Only a chunked body can get here: of others the length was checked before. */
	if (len > r->spool_max - r->spool_bytes) {
		*ret_detail = "The file is larger than import_bytes in the configuration.";
		return 413;
	}
	e = io_write_all(r->spool_fd, data, len);
	if (e < 0) {
		*ret_detail = "The file could not be written to the state directory.";
		return e == -ENOSPC ? 507 : 503;
	}
	r->spool_bytes += len;
	return 0;
}
