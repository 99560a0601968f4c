/* Bytes of a request to a checked one: the fixed list of what the broker will do at all. No effect.
 */
#ifndef PFL_BROKER_REQUEST_H
#define PFL_BROKER_REQUEST_H

#include <linux/perf_event.h>
#include <stddef.h>
#include "daemon/broker/wire.h"

struct request {
	struct broker_request head;
	struct perf_event_attr attr; /* BROKER_OP_PERF */
	char text[BROKER_TEXT_MAX];  /* path or tracepoint group; "" when there is none */
	char name[BROKER_NAME_MAX];
};

/* -EPROTO: no request of this version. -EPERM: well-formed, but not on the list. */
int request_read(const void *message, size_t len, struct request *ret_request);

#endif
