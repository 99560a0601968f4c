/* Names of the code in ELF files: asks the reader, finds separate debug files, keeps what it said
 * by module, and leaves alone for a while what killed the reader. Any thread. */
#ifndef PFL_SYMBOL_MODNAMES_H
#define PFL_SYMBOL_MODNAMES_H

#include "daemon/symbol/names.h"
#include "daemon/symbol/readerclient.h"

struct modnames;
/* spawn and arg as for readerclient_new(). */
int modnames_new(struct broker *b, reader_spawn_fn spawn, void *arg, size_t cache_max_bytes,
	struct modnames **ret_names);
void modnames_free(struct modnames *n);
AUTO_FREE_FN(struct modnames, modnames_free)

/* As names_of_module(). */
int modnames_of(struct modnames *n, struct module *m, const uint64_t *vaddrs, uint32_t count,
	enum names_want want, struct name_answer *ret_answer);
/* As names_unwind_table(). */
int modnames_unwind_table(
	struct modnames *n, struct module *m, struct cfi_table **ret_table, bool *ret_keep);
/* Adds its part. */
void modnames_get_stats(struct modnames *n, struct names_stats *stats);

#endif
