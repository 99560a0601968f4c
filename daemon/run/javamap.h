/* Has a Java process name its code. HTTP threads. */
#ifndef PFL_RUN_JAVAMAP_H
#define PFL_RUN_JAVAMAP_H

#include <sys/types.h>
#include "daemon/attach/client.h"
#include "daemon/run/run.h"

/* Answers an enum run_error; message gets a sentence on failure. a: NULL when the daemon is none of
 * an ordinary user's own, whose rights alone count here. Blocks up to 12 s. */
int javamap_write(struct broker *b, struct attacher *a, const struct caller *who, pid_t pid,
	struct hotspot_map *ret_map, struct buf *message);

#endif
