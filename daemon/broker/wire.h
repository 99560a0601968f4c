/* What engine and broker say to each other, over a SOCK_SEQPACKET pair: one request, one answer,
 * the latter with at most one descriptor. Same machine, same build: native layout. The broker
 * trusts nothing in a request. */
#ifndef PFL_BROKER_WIRE_H
#define PFL_BROKER_WIRE_H

#include <stdint.h>
#include "daemon/broker/client.h"

#define BROKER_VERSION  1
#define BROKER_TEXT_MAX 4096u /* of a path, with its end */
#define BROKER_NAME_MAX 128u  /* of a tracepoint, with its end */
#define BROKER_ATTR_MAX 256u
#define BROKER_MESSAGE_MAX \
	(sizeof(struct broker_request) + BROKER_ATTR_MAX + BROKER_TEXT_MAX + BROKER_NAME_MAX)

enum broker_op {
	BROKER_OP_PERF = 1,
	BROKER_OP_PROC,
	BROKER_OP_LIST,
	BROKER_OP_MAPPED,
	BROKER_OP_ELF,
	BROKER_OP_PERFMAP,
	BROKER_OP_HOST,
	BROKER_OP_TRACEPOINT,
	BROKER_OP_CGROUP,
	BROKER_OP_READER,
	BROKER_OP_INFO,
	BROKER_OP_JITDUMP,
};

/* Followed by attr_bytes of a perf_event_attr, text_bytes of a path and name_bytes of a name, none
 * of them closed by a zero, and by nothing else. Fields that an operation does not use are 0. */
struct broker_request {
	uint32_t version, op;
	int32_t pid, tid; /* tid: a CPU with BROKER_OP_PERF, the other pid with BROKER_OP_PERFMAP */
	uint32_t what;
	uint32_t attr_bytes, text_bytes, name_bytes;
	uint64_t start, end, dev, inode;
};

struct broker_answer {
	uint32_t version;
	int32_t status; /* 0, or a negative errno and no descriptor */
	int32_t pid;    /* BROKER_OP_READER */
	uint32_t reserved;
	struct broker_info info; /* BROKER_OP_INFO */
};

_Static_assert(sizeof(struct broker_request) == 64, "layout");

#endif
