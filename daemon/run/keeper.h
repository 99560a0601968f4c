/* The thread that writes profiles to the store: each one as it ends, and running ones from time to
 * time, that keeps the names of JIT code while its process lives, and that gives back what memory
 * is left over. */
#ifndef PFL_RUN_KEEPER_H
#define PFL_RUN_KEEPER_H

#include "base/cleanup.h"
#include "daemon/run/sampler.h"
#include "daemon/store/store.h"
#include "daemon/symbol/names.h"

struct keeper;

struct keeper_setup {
	struct names *names;
	struct store *store;
	/* Each two seconds, on the keeper's thread: lets go of what nobody asks for any more. True:
	 * there was some. */
	bool (*tidy)(void *arg);
	void *arg;
};
int keeper_new(const struct keeper_setup *setup, struct keeper **ret_keeper);
/* From here on it works for this sampler. */
int keeper_start(struct keeper *k, struct sampler *sampler);
/* There may be something to save. Any thread; never blocks for long. */
void keeper_wake(void *keeper);
/* Ends the thread; then saves what is left, on the caller's thread, when final is set. */
void keeper_stop(struct keeper *k, bool final);
void keeper_free(struct keeper *k);

#endif
