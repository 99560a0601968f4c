/* What engine and attacher say to each other, over a SOCK_SEQPACKET pair: one request, one answer.
 * Same machine, same build: native layout. */
#ifndef PFL_ATTACH_WIRE_H
#define PFL_ATTACH_WIRE_H

#include <stdint.h>

#define ATTACH_VERSION    1u
#define ATTACH_TEXT_MAX   512u
#define ATTACH_TIMEOUT_MS 10000

struct attach_request {
	uint32_t version;
	int32_t pid;
};

struct attach_answer {
	uint32_t version;
	int32_t status; /* as hotspot_write_perfmap() */
	int32_t ns_pid;
	uint32_t text_bytes; /* of a sentence, when status is not 0 */
	uint64_t map_bytes;
	char text[ATTACH_TEXT_MAX];
};

#endif
