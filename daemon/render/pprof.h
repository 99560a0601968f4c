/* What the parts of the pprof writer share. */
#ifndef PFL_RENDER_PPROF_H
#define PFL_RENDER_PPROF_H

#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/buf.h"
#include "base/gzip.h"
#include "base/map.h"
#include "daemon/render/labels.h"
#include "daemon/render/places.h"
#include "daemon/render/protobuf.h"
#include "daemon/render/stacks.h"

/* Field numbers of the message Profile. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE,
	PROFILE_MAPPING,
	PROFILE_LOCATION,
	PROFILE_FUNCTION,
	PROFILE_STRING,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS,
	PROFILE_PERIOD_TYPE,
	PROFILE_PERIOD,
	PROFILE_COMMENT,
	PROFILE_DEFAULT_SAMPLE_TYPE
};

struct pprof {
	const struct view *view;
	const struct profile *p;
	struct arena *arena;
	struct labels labels;
	struct places places;
	struct strtab *strings;
	struct map *functions; /* name << 32 | file to id */
	struct gzip *gzip;
	uint8_t *used;                 /* by frame */
	uint32_t *mapping_of;          /* by module: id; 0: none of its frames is there */
	uint32_t jit, kernel, no_file; /* ids of these mappings; of all */
	struct stacks stacks;
	size_t at;                              /* next of them */
	struct buf plain, message, inner, text; /* reused */
	bool begun, inlines;
};

/* 0 for what there is no room for: then plain.error is set. */
uint32_t pprof_string(struct pprof *w, const char *raw);

/* ---- pprof_code.c ---- */

/* Mappings, locations and functions of all frames that are used. */
int pprof_put_code(struct pprof *w);

#endif
