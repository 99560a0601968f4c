/* Requests whose answer is a matter of time: they take up no thread meanwhile. A thread of ours
 * looks at the clock, and at the clients, as the library does not look at connections that rest. */
#ifndef PFL_HTTP_WAITS_H
#define PFL_HTTP_WAITS_H

#include <stdbool.h>
#include <stdint.h>

/* At once; each may have a session that runs for it. */
#define WAITS_MAX 16u

struct wait {
	struct wait *next;
	int fd; /* of the client */
	uint64_t due_ns;
	/* When it is due; gone: earlier, as the client has gone or the daemon stops. That thread's:
	 * does not block. */
	void (*done)(struct wait *w, bool gone);
};

struct waits;
int waits_new(struct waits **ret_waits);
/* Any thread. w stays until it is done. -EAGAIN: too many wait; -ESHUTDOWN. */
int waits_add(struct waits *all, struct wait *w);
/* All are done, and no more are taken. */
void waits_stop(struct waits *all);
void waits_free(struct waits *all);

#endif
