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
struct kallsyms *kallsyms_ref(struct kallsyms *k);
void kallsyms_unref(struct kallsyms *k);
AUTO_FREE_FN(struct kallsyms, kallsyms_unref)

/* All addresses were zero, as kptr_restrict makes them, or there was nothing to read. */
bool kallsyms_hidden(const struct kallsyms *k);
/* Where the kernel begins, which differs from boot to boot; 0: hidden, or not there. */
uint64_t kallsyms_text(const struct kallsyms *k);
size_t kallsyms_count(const struct kallsyms *k);
size_t kallsyms_bytes(const struct kallsyms *k);
/* The function that holds addr, lent; NULL: none. */
const char *kallsyms_find(const struct kallsyms *k, uint64_t addr, uint64_t *ret_start);

#endif
