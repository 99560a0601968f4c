/* What every request must pass before anything else looks at it: the library lets through doubled
 * Hosts and lengths, NULs, folded lines and more. */
#ifndef PFL_HTTP_VET_H
#define PFL_HTTP_VET_H

#include <stdbool.h>
#include "daemon/http/request.h"

/* Each: true, or an answer that refuses is ready. The first is about the shape of the message:
 * after a failure the connection cannot be trusted any more and is closed. */
bool vet_message(struct req *r);
/* That no page of a foreign site is behind it: Host, Origin, Sec-Fetch-Site. */
bool vet_site(struct req *r, bool unix_socket, const char *listen, const char *allowed_hosts);
/* That the body is one that the route wants. */
bool vet_body(struct req *r, bool unix_socket, bool wants_body);

/* "name", "name:port", "[::1]:port": false when it is no such thing. name gets the part before the
 * port, in brackets if it was. */
bool vet_host_split(const char *host, char *ret_name, size_t name_bytes);

#endif
