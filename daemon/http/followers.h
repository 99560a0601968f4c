/* Streams of server-sent events. The library's threads send what is there and let a connection rest
 * otherwise; one thread of ours makes the news of all of them, one after the other. */
#ifndef PFL_HTTP_FOLLOWERS_H
#define PFL_HTTP_FOLLOWERS_H

#include "daemon/http/request.h"
#include "daemon/http/watch.h"

/* Streams at once; of them, for one user who may not see all. */
#define FOLLOWERS_MAX         16u
#define FOLLOWERS_MAX_OF_USER (FOLLOWERS_MAX / 2)

struct MHD_Connection;
struct MHD_Response;
struct followers;
struct follower;

int followers_new(struct followers **ret_followers);
/* Ends all streams; blocks until no connection rests any more, and none will. */
void followers_stop(struct followers *f);
/* After the last stream. */
void followers_free(struct followers *f);

/* A place for a stream; NULL: all are taken, and an answer that says so is ready. */
struct follower *follower_new(struct req *r);
void follower_free(struct follower *s);
/* What it goes on with after the first bytes. Takes w. */
void follower_begin(struct follower *s, struct watch *w);
/* The answer, beginning with first, which moves. The stream goes with it; NULL: no memory. */
struct MHD_Response *follower_response(
	struct follower *s, struct MHD_Connection *connection, struct buf *first);
/* How many there are. */
unsigned followers_count(struct followers *f);

#endif
