/* How many bytes of each stack are copied, and whether deep samples are taken beside, by what the
 * last samples showed. Pure; sampler thread. */
#ifndef PFL_RUN_COPYSIZE_H
#define PFL_RUN_COPYSIZE_H

#include <stdbool.h>
#include <stdint.h>

#define COPYSIZE_MIN 4096u

struct copysize {
	uint32_t bytes; /* at most STACK_BYTES_MAX */
	bool deep;
	uint32_t most; /* bytes that a budget leaves, without deep samples; 0: no limit */
	unsigned bad;  /* looks in a row that left too many stacks cut */
	/* Since when no stack was cut, or longer than half a copy; 0: some in the last look were.
	 */
	uint64_t calm_ns, shallow_ns;
};

/* Samples since the last look, of those that deep ones were there to help. */
struct copysize_look {
	uint64_t samples; /* with a user side */
	uint64_t cut;     /* stacks longer than their copy */
	uint64_t left;    /* of them those that no tail made whole */
	uint64_t shallow; /* whole within half a copy */
};

/* To be called every 100 ms or so; *look is emptied when it had samples enough to go by. True:
 * bytes or deep have changed. */
bool copysize_next(struct copysize *c, struct copysize_look *look, uint64_t now_ns);
/* Another limit from now on; 0: none any more, and it grows again where that is called for. True:
 * bytes or deep have changed. */
bool copysize_limit(struct copysize *c, uint32_t most);

#endif
