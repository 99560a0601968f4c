/* Open connections and their deadlines. The library only has a time-out without activity, which a
 * client that sends a byte now and then never meets; a thread here shuts the sockets of those that
 * take too long. */
#ifndef PFL_HTTP_CONNS_H
#define PFL_HTTP_CONNS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "daemon/run/run.h"

/* What a connection waits for. */
enum conn_phase {
	CONN_IDLE,   /* a request, or the rest of its first line */
	CONN_HEADER, /* the rest of the header */
	CONN_BODY,   /* the rest of the body */
	CONN_UPLOAD, /* the rest of a body that is a file */
	CONN_WORK,   /* us */
	CONN_SEND,   /* the client, to read the answer */
	CONN_PHASES
};

struct conn {
	struct conn *next, *prev; /* under the lock of conns, as all below */
	int fd;                   /* the library's */
	bool unix_socket;
	bool used;   /* has had an answer */
	bool linger; /* unread bytes are expected when it closes */
	bool shut;   /* its socket has been shut by us */
	enum conn_phase phase;
	uint64_t deadline_ns; /* monotonic; 0: none */
	uint64_t since_ns;    /* of the phase */
	struct caller who;    /* of the Unix socket's peer */
};

struct conns;
/* max: connections of one listener, for the limits that shrink when it fills up. */
int conns_new(unsigned max, struct conns **ret_conns);
void conns_free(struct conns *c);

/* NULL: no memory. A connection over the limit of its user is shut at once. */
struct conn *conns_add(struct conns *c, int fd, bool unix_socket, const struct caller *who);
void conns_remove(struct conns *c, struct conn *conn);
/* False: the connection has been shut meanwhile, and nothing may be sent on it any more. */
bool conns_phase(struct conns *c, struct conn *conn, enum conn_phase phase);
/* The client has taken some of a long answer, or sent some of a file: it gets more time. */
void conns_progress(struct conns *c, struct conn *conn);
/* Sends a last answer that the library cannot send; the connection then is to be closed. */
void conns_last_words(struct conns *c, struct conn *conn, unsigned status, const char *detail);
/* Bytes that the client still sends shall not make the kernel throw away our answer. */
void conns_linger(struct conns *c, struct conn *conn);

/* Shuts what is idle, and later all. */
void conns_shut(struct conns *c, bool idle_only);
/* How many are busy with a request. */
unsigned conns_busy(struct conns *c);

struct conns_stats {
	unsigned open, idle;
	uint64_t accepted, timed_out, refused;
};
void conns_get_stats(struct conns *c, struct conns_stats *ret_stats);

#endif
