/* What somebody who follows a session is told, as server-sent events: the session's head when it
 * has changed, the tree as changes to the one before, the end. Belongs to one thread at a time. */
#ifndef PFL_HTTP_WATCH_H
#define PFL_HTTP_WATCH_H

#include "base/buf.h"
#include "daemon/http/asked.h"
#include "daemon/http/request.h"

struct watch;
/* Appends the first events, out of the asked view of the session in r. NULL: an answer that refuses
 * is ready. */
struct watch *watch_new(struct req *r, const struct asked *asked, struct buf *into);
void watch_free(struct watch *w);
/* Appends what is new: as far as it is there for the asking; nothing else is an error. */
void watch_tell(struct watch *w, struct buf *into);
/* The end was told. */
bool watch_is_over(const struct watch *w);

#endif
