/* Whether a session goes lean: a short copy of each stack and the kernel's frame-pointer chain in
 * the place of a long copy. It does when whole copies have shown that nearly all stacks would be
 * found that way, each frame by what its rules say (see unwind/links.h); now and then long copies
 * are looked at again. Pure; sampler thread. */
#ifndef PFL_RUN_LEAN_H
#define PFL_RUN_LEAN_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes of a stack that are copied then: enough for what functions without frame pointers, such as
 * those of the C library, have on top of those with. */
#define LEAN_BYTES 1024u

struct lean {
	bool on;
	bool checks;          /* off for one look, as it has been on for long */
	uint64_t changed_ns;  /* when on was last set */
	uint64_t patience_ns; /* before it is tried again; 0: it has always been good */
};

/* Samples since the last look. */
struct lean_look {
	uint64_t samples; /* with a user side */
	uint64_t left;    /* whose stacks are cut, or would be if it were on */
	uint64_t chains;  /* whose stacks need the chain */
};

/* Whether so many stacks need the chain that it may come to that; worth some further effort. */
bool lean_may_begin(const struct lean_look *look);

/* CHECKS and GOES_ON are the two ends of a look at long copies that confirms what there was. */
enum lean_turn { LEAN_STAYS, LEAN_BEGINS, LEAN_CHECKS, LEAN_GOES_ON, LEAN_ENDS };

/* To be called every 100 ms or so; *look is emptied when it was used. It has changed unless
 * LEAN_STAYS is returned; LEAN_ENDS may come while it is off, to check. */
enum lean_turn lean_next(struct lean *l, struct lean_look *look, uint64_t now_ns);

#endif
