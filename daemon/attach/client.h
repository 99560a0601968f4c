/* The engine's end of the attacher. Any thread. */
#ifndef PFL_ATTACH_CLIENT_H
#define PFL_ATTACH_CLIENT_H

#include <sys/types.h>
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/hotspot.h"

struct attacher;
int attacher_new(int sock, struct attacher **ret_attacher); /* takes the socket */
void attacher_free(struct attacher *a);
AUTO_FREE_FN(struct attacher, attacher_free)

/* hotspot_write_perfmap() in the attacher, with its errors. Blocks up to 12 s. -EAGAIN: another one
 * is being asked. -EPIPE: the attacher is gone. */
int attacher_write_perfmap(
	struct attacher *a, pid_t pid, struct hotspot_map *ret_map, struct buf *why);

#endif
