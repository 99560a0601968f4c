/* What the parts of the perf.data writer share. */
#ifndef PFL_RENDER_PERFOUT_H
#define PFL_RENDER_PERFOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/map.h"
#include "daemon/render/places.h"
#include "daemon/render/view.h"

#define PERFOUT_ID_MAX 20u /* bytes of a build id */

/* ---- perfout_plan.c ---- */

enum perfout_kind { PERFOUT_MODULE, PERFOUT_JIT, PERFOUT_SPECIAL };

/* Something that a process has mapped. what: index of the module; number of the page; text. */
struct perfout_item {
	uint32_t process, kind;
	uint64_t what;
};

struct perfout_plan {
	const struct profile *profile;
	uint32_t *process_of; /* by node */
	struct places places;
	struct perfout_item *items; /* sorted, each once */
	size_t item_count;
};

int perfout_plan_make(const struct profile *p, struct perfout_plan *plan);
void perfout_plan_done(struct perfout_plan *plan);
/* The first item of a process; item_count: none. */
size_t perfout_first_item(const struct perfout_plan *plan, uint32_t process);

/* ---- perfout_head.c ---- */

#define PERFOUT_HEADER 104u

/* Bits of sample_type, in the order of the fields of a sample. */
#define PERFOUT_SAMPLE_TYPE                                                                      \
	(1u << 16 /* identifier */ | 1u << 0 /* ip */ | 1u << 1 /* tid */ | 1u << 2 /* time */ | \
		1u << 7 /* cpu */ | 1u << 8 /* period */ | 1u << 5 /* callchain */)

/* Where the records begin. */
uint64_t perfout_data_at(const struct profile *p);
/* All before the records, of which there are so many bytes. */
void perfout_put_head(const struct profile *p, uint64_t data_bytes, struct buf *into);
/* All behind them. first_ns, last_ns: of the samples. */
void perfout_put_features(const struct perfout_plan *plan, uint64_t data_bytes, uint64_t first_ns,
	uint64_t last_ns, struct buf *into);
/* The id of an event's samples. */
static inline uint64_t perfout_event_id(uint32_t event)
{
	return event + 1;
}
/* Out of a profile's hex; 0: none, or none that perf can hold. */
unsigned perfout_build_id(const char *hex, uint8_t out[PERFOUT_ID_MAX]);

void perfout_put_u32(struct buf *into, uint32_t x);
void perfout_put_u64(struct buf *into, uint64_t x);
/* Text, its end and zeros up to a multiple of align. */
void perfout_put_text(struct buf *into, const char *text, size_t align);
/* The header of a record; its size is set by the second when all of it is there. */
size_t perfout_begin(struct buf *into, uint32_t type, uint16_t misc);
void perfout_end(struct buf *into, size_t start);

#endif
