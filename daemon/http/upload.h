/* A body that is a file: it goes to the disk as it comes. */
#ifndef PFL_HTTP_UPLOAD_H
#define PFL_HTTP_UPLOAD_H

#include "daemon/http/request.h"

/* What can be said before the body is there; true: it may come, r->spool_fd is open. */
bool upload_begin(struct req *r);
/* Some more of it. 0; else the status to end with, and *ret_detail the sentence, a literal. */
unsigned upload_take(struct req *r, const char *data, size_t len, const char **ret_detail);

#endif
