/* A perf.data file, as perf record writes it (to a file, or through a pipe), as the same samples
 * and sideband that a ring gives. Bounds-checked: a file that is cut or hostile ends early, and
 * says so. Belongs to one thread. Fuzzed. */
#ifndef PFL_SAMPLE_PERFDATA_H
#define PFL_SAMPLE_PERFDATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/cleanup.h"
#include "daemon/sample/attr.h"
#include "daemon/sample/record.h"

/* The file's feature "version" begins so where profiled wrote it: its chains hold the addresses of
 * calls, not return addresses. */
#define PERFDATA_OURS "profiled "

struct perfdata_event {
	struct event_spec spec;
	uint64_t freq_hz, period; /* one is 0 */
	uint32_t stack_bytes;     /* copied with each sample; 0: none */
	bool chains;              /* the kernel's, at least of one side */
	bool kernel;
	bool user_only_leaf; /* neither chains nor stacks: each sample is one address */
};

struct perfdata_info {
	struct perfdata_event events[EVENTS_MAX];
	unsigned event_count;
	unsigned events_left_out; /* over EVENTS_MAX */
	bool pipe, ours;
	bool unfinished; /* the recorder was killed: the sizes in the header are not set */
	char hostname[128], osrelease[128], cmdline[512]; /* "": not told */
	bool monotonic;             /* the samples have CLOCK_MONOTONIC, as far as the file tells */
	bool has_wall;              /* the two moments are the same */
	uint64_t wall_ns, clock_ns; /* on the clock of the samples */
	uint64_t kernel_text;       /* address of the kernel's start; 0: not told */
	uint8_t kernel_build_id[RECORD_BUILD_ID_MAX];
	unsigned kernel_build_id_bytes; /* 0: not told */
};

struct perfdata_stats {
	uint64_t records, samples;
	uint64_t lost; /* samples that found no room in the ring; where only the ring's own count
			  is there, records of any kind */
	uint64_t other_lost; /* other records, as mappings */
	uint64_t throttled;  /* times */
	uint64_t unknown;    /* records of a later perf */
	uint64_t left_out;   /* samples of events over EVENTS_MAX */
	uint64_t malformed, malformed_bytes;
	uint64_t out_of_order; /* older than what was handed out already */
	const char *cut;       /* why the end was not reached, a literal; NULL: it was */
};

struct perfdata;
/* bytes is lent until perfdata_free(). -EINVAL: not a file that can be read here, and a sentence in
 * message says why; -ENOMEM. */
int perfdata_open(const void *bytes, size_t len, struct perfdata **ret_file, struct buf *message);
void perfdata_free(struct perfdata *pd);
AUTO_FREE_FN(struct perfdata, perfdata_free)

const struct perfdata_info *perfdata_info(const struct perfdata *pd);
/* The build id that the file's header tells of a path; NULL: none. */
const uint8_t *perfdata_build_id(const struct perfdata *pd, const char *path, unsigned *ret_bytes);

/* In the order of time, as far as the file lets it be known; what has no time comes at once. What
 * they get is lent for the call. event: index into info.events. False ends the reading. */
struct perfdata_sink {
	bool (*sample)(void *arg, const struct sample *s, unsigned event);
	bool (*sideband)(void *arg, const struct sideband *s);
	/* Each few MiB, with where in the file the work is; may be NULL. What lies before may be
	 * read again, if seldom. */
	void (*progress)(void *arg, size_t at);
	void *arg;
};
/* Once. -ECANCELED: the sink wanted no more; -ENOMEM. */
int perfdata_read(struct perfdata *pd, const struct perfdata_sink *sink);
void perfdata_get_stats(const struct perfdata *pd, struct perfdata_stats *ret_stats);

#endif
