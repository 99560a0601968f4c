/* Addresses for the frames of a profile, for formats that have one for each. A profile keeps no
 * run-time addresses: each module gets a place of its own here, the same in all processes, such
 * that addresses there are its offsets in the file. */
#ifndef PFL_RENDER_PLACES_H
#define PFL_RENDER_PLACES_H

#include <stdint.h>
#include "daemon/tree/profile.h"

#define PLACES_PAGE 4096u

struct place {
	uint64_t base;   /* address of offset 0 */
	uint64_t lo, hi; /* offsets that frames have, in whole pages; lo == hi: none */
};

struct places {
	const struct profile *profile;
	struct place *modules;
	uint64_t special_base; /* what has no address has a page of its own from here on, by text */
};

/* The profile outlives it. -ENOMEM. */
int places_make(const struct profile *p, struct places *at);
void places_done(struct places *at);
uint64_t places_address(const struct places *at, const struct profile_frame *f);

#endif
