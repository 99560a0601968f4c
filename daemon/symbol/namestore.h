/* The names of one module that have been looked up: only ever added to, so that what was handed out
 * stays where it is until the last holder lets go. Changed under the lock of whoever owns it. */
#ifndef PFL_SYMBOL_NAMESTORE_H
#define PFL_SYMBOL_NAMESTORE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "daemon/symbol/names.h"
#include "daemon/symbol/readerclient.h"

struct namestore;
int namestore_new(struct namestore **ret_store);
struct namestore *namestore_ref(struct namestore *s);
void namestore_unref(struct namestore *s);
AUTO_FREE_FN(struct namestore, namestore_unref)
size_t namestore_bytes(const struct namestore *s);

bool namestore_has(const struct namestore *s, enum names_want want, uint64_t vaddr);
/* Keeps what a checked answer says of addrs. debug_file: how that was found. */
int namestore_add(struct namestore *s, enum names_want want, const uint64_t *addrs, uint32_t count,
	const struct reader_result *answer, enum name_source debug_file);
/* What is kept of addrs; the others have no name. The answer holds the store until it is released.
 */
int namestore_answer(struct namestore *s, enum names_want want, const uint64_t *addrs,
	uint32_t count, struct name_answer *ret_answer);

/* An answer of frames that belong to somebody who is let go by done(held). Copies the frames. */
struct name_answer_parts {
	uint32_t count;
	uint32_t *starts;          /* [count + 1], taken */
	struct name_frame *frames; /* taken */
	void *held;
	void (*done)(void *held);
};
/* Ends the parts itself on failure: -ENOMEM. */
int name_answer_make(const struct name_answer_parts *parts, struct name_answer *ret_answer);

#endif
