/* What the parts of perfdata share. */
#ifndef PFL_SAMPLE_PERFDATA_PARTS_H
#define PFL_SAMPLE_PERFDATA_PARTS_H

#include "base/map.h"
#include "daemon/sample/perfdata.h"
#include "daemon/sample/take.h"

#define RECORD_HEADER_BYTES  sizeof(struct perf_event_header)
#define PERFDATA_FORMAT_LOST (1u << 4) /* of read_format; since Linux 6.0 */
#define RECORD_BYTES_MAX     ((size_t)65536)

/* Records of perf's own, from 64 on. */
enum {
	PERFDATA_ATTR = 64,
	PERFDATA_TRACING = 66,
	PERFDATA_BUILD_ID = 67,
	PERFDATA_ROUND = 68,
	PERFDATA_AUXTRACE = 71,
	PERFDATA_EVENT_UPDATE = 78,
	PERFDATA_FEATURE = 80,
	PERFDATA_COMPRESSED = 81,
	PERFDATA_COMPRESSED2 = 83,
	PERFDATA_USER_MAX = 84,
};

/* What one attribute makes of its records. */
struct layout {
	uint64_t sample_type, read_format, branch_type, regs_mask, period;
	bool id_all;
	int event; /* -1: a dummy; -2: over EVENTS_MAX */
};

struct told_build_id {
	char *path;
	uint8_t id[RECORD_BUILD_ID_MAX];
	unsigned bytes;
};

/* Unpacked records: counted by those that wait in it. */
struct chunk {
	uint8_t *bytes;
	size_t len, cap;
	uint32_t waiting;
	bool open;     /* records are still taken out of it */
	size_t *alive; /* cap of all chunks; NULL: not counted yet */
};

struct waiting {
	uint64_t t_ns;
	const uint8_t *bytes;
	struct chunk *chunk; /* NULL: in the file itself */
	uint64_t order;
};

struct unpacker;

struct perfdata {
	const uint8_t *bytes;
	size_t len;
	size_t data_at, data_end; /* of the records */
	struct perfdata_info info;
	struct perfdata_stats stats;

	struct layout *layouts;
	unsigned layout_count;
	struct map *by_id;
	struct told_build_id *told;
	unsigned told_count, told_room;
	struct map *told_by_path; /* hash of the path -> index */

	/* While reading: */
	const struct perfdata_sink *sink;
	struct waiting *waiting;
	size_t waiting_count, waiting_room;
	uint64_t order;
	uint64_t newest_ns; /* of all records so far */
	uint64_t round_ns;  /* newest_ns as of the round before */
	uint64_t handed_ns; /* newest that was handed out */
	struct unpacker *unpacker;
	uint64_t unpacked_bytes;
	size_t chunk_bytes; /* of memory, now */
	bool over;          /* the sink wants no more */
	uint64_t *scratch;  /* one record, aligned */
	uint64_t regs[SAMPLE_REGS];
	uint64_t lone_ip;
	size_t read_at, touched_bytes; /* for progress */
	uint64_t lost_told; /* by perf at the end, beside what the kernel told as it went */
};

/* ---- perfdata.c ---- */

/* The record at the front of left bytes, and how many it takes with what follows it. False: there
 * is none; *ret_cut says why, unless the end is a clean one. */
bool perfdata_next(const uint8_t *at, size_t left, struct perf_event_header *ret_header,
	size_t *ret_bytes, const char **ret_cut);

/* ---- perfdata_head.c ---- */

/* Header, attributes, features, and what a pipe has of them among its records. */
int perfdata_read_head(struct perfdata *pd, struct buf *message);
void perfdata_head_done(struct perfdata *pd);

/* ---- perfdata_sample.c ---- */

/* bytes: a whole record, aligned to 8. Pointers of the sample are into it, or into pd. */
int perfdata_decode_sample(struct perfdata *pd, const struct layout *l, const uint8_t *bytes,
	size_t len, struct sample *s);
/* How many bytes sample_id_all adds to what is no sample. */
size_t perfdata_trailer_bytes(const struct layout *l);
/* Of a sample or of another record, whole; 0: not stated. */
uint64_t perfdata_time(const struct layout *l, const uint8_t *bytes, size_t len);
/* False: not stated. */
bool perfdata_id(const struct layout *l, const uint8_t *bytes, size_t len, uint64_t *ret_id);

/* ---- perfdata_unpack.c ---- */

void unpacker_free(struct unpacker *u);
/* A new chunk with the whole records that more packed bytes give; what is left of a record goes
 * before the next one. -EBADMSG; -ENOMEM; -EFBIG: more than the file could hold in good faith. */
int unpacker_run(struct perfdata *pd, const uint8_t *packed, size_t len, struct chunk **ret_chunk);
void chunk_let_go(struct chunk *c);

#endif
