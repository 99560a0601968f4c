/* The kernel's functions, by the text of /proc/kallsyms. Immutable once read, and counted. */
#ifndef PFL_SYMBOL_KALLSYMS_H
#define PFL_SYMBOL_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"

struct kallsyms;
/* Reads text of any kind. -ENOMEM, -EFBIG. */
int kallsyms_parse(const char *text, size_t len, struct kallsyms **ret_syms);
/* What to look up in, of one piece and at any place in memory: to be kept, and opened again by this
 * program, without reading more of it than what is asked for. Lent. */
const void *kallsyms_packed(const struct kallsyms *k, size_t *ret_bytes);
typedef void (*kallsyms_done_fn)(void *packed, size_t bytes);
/* done() is called at the last unref, and when it fails. -EBADMSG: its sizes do not fit. Wrong
 * bytes in it give wrong names, and no more than that. */
int kallsyms_open_take(
	void *packed, size_t bytes, kallsyms_done_fn done, struct kallsyms **ret_syms);
struct kallsyms *kallsyms_ref(struct kallsyms *k);
void kallsyms_unref(struct kallsyms *k);
AUTO_FREE_FN(struct kallsyms, kallsyms_unref)

/* All addresses were zero, as kptr_restrict makes them, or there was nothing to read. */
bool kallsyms_hidden(const struct kallsyms *k);
/* Where the kernel begins, which differs from boot to boot; 0: hidden, or not there. */
uint64_t kallsyms_text(const struct kallsyms *k);
/* The function that holds addr, lent; NULL: none. */
const char *kallsyms_find(const struct kallsyms *k, uint64_t addr, uint64_t *ret_start);

#endif
