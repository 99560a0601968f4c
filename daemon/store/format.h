/* A profile file: what its first bytes say. Part of the store; store_encode() and store_decode()
 * are in store.h.
 *
 *   header  magic, version, sizes of head and body, flags, a checksum; little-endian,
 * FORMAT_HEADER_BYTES head    meta and ledger, with their strings: a list needs no more body    all
 * else
 *
 * Head and body are zstd frames with a checksum each (a body that packs suspiciously well is kept
 * as it is, with a checksum in the header, so that no reader needs to trust one that expands
 * without end). Inside, numbers are varints in columns; lists of meta and ledger fields begin with
 * their count, so that a later version may add some at their end. */
#ifndef PFL_STORE_FORMAT_H
#define PFL_STORE_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define FORMAT_HEADER_BYTES 64
#define FORMAT_VERSION      1u
#define FORMAT_HEAD_MAX     ((uint64_t)4 << 20) /* unpacked */
#define FORMAT_BODY_MAX     ((uint64_t)1 << 30)
/* A packed body of n bytes may expand to FORMAT_SLACK + FORMAT_RATIO * n. */
#define FORMAT_SLACK ((uint64_t)1 << 20)
#define FORMAT_RATIO 32u

struct format_header {
	uint32_t version, flags;
	uint64_t head_packed, head_bytes;
	uint64_t body_packed, body_bytes;
	uint64_t body_sum; /* of a body that is not packed */
};
#define FORMAT_BODY_PLAIN 1u /* flags */

/* data holds the first len bytes of a file. -EBADMSG: none of ours, cut or damaged;
 * -EPROTONOSUPPORT: of a later version. */
int format_read_header(const void *data, size_t len, struct format_header *ret_header);
/* What the whole file has to measure. */
uint64_t format_file_bytes(const struct format_header *h);

#endif
