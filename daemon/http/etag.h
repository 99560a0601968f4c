/* Answers that need not be sent again. */
#ifndef PFL_HTTP_ETAG_H
#define PFL_HTTP_ETAG_H

#include <stdbool.h>

#include "daemon/http/request.h"

/* True when If-None-Match names the tag: the answer is then a 304. Adds the ETag in any case. */
bool answer_etag(struct req *r, const char *tag);

#endif
