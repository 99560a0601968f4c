/* What the handlers share. */
#ifndef PFL_HTTP_HTTP_H
#define PFL_HTTP_HTTP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "daemon/http/conns.h"
#include "daemon/http/counts.h"
#include "daemon/http/jobs.h"
#include "daemon/http/server.h"
#include "daemon/http/usage.h"

/* Profiles that may be made (named, reduced) at once; the other handler threads stay free for the
 * rest. */
#define HTTP_HEAVY_MAX 10
/* Imports that may run at once: each unwinds with all the speed there is. */
#define HTTP_IMPORTS_MAX 2
/* Long answers that may be on their way at once: each holds a profile in memory. */
#define HTTP_STREAMS_MAX 48

struct MHD_Daemon;
struct followers;
struct waits;

struct http {
	struct http_setup setup; /* config and the descriptors are not valid after http_new() */
	char token[65];
	unsigned port; /* of the TCP socket; names the cookie */
	uint64_t started_ns, started_wall_ns;

	pthread_rwlock_t config_lock;
	struct config config; /* under config_lock */

	struct MHD_Daemon *tcp, *local;
	int tcp_fd, local_fd; /* ours again once the library listens no more; else -1 */
	struct conns *conns;
	struct jobs *jobs;
	struct followers *followers;
	struct waits *waits;
	struct counts counts;
	struct usages usages;
	atomic_bool stopping;
	atomic_int heavy, streams, imports;
	bool old_parser; /* the library leaves the header's bytes where they came in; see server.c
			  */
};

/* A setting that is a number, by its place in struct config. */
#define HTTP_CONFIG(h, field)                             \
	__extension__({                                   \
		__typeof__((h)->config.field) value_;     \
		pthread_rwlock_rdlock(&(h)->config_lock); \
		value_ = (h)->config.field;               \
		pthread_rwlock_unlock(&(h)->config_lock); \
		value_;                                   \
	})

/* Takes one of max places: false when all are taken. */
bool http_enter(atomic_int *places, int max);
void http_leave(atomic_int *places);
/* A place among those that make profiles; false: a 503 is ready. */
bool http_enter_heavy(struct req *r);
void http_leave_heavy(struct req *r);

#endif
