/* The .eh_frame that a program writes for code it makes, compiled. The bytes are a stranger's. */
#ifndef PFL_SYMBOL_JITCFI_H
#define PFL_SYMBOL_JITCFI_H

#include <stddef.h>
#include <stdint.h>
#include "daemon/symbol/jitrules.h"

/* Calls take with the rules in the order of their offsets, each up to the next one's; what no entry
 * is for has CFI_NONE. Its addresses are relative to where perf's format puts it: behind the code,
 * at the next multiple of 8. Entries for anything but the code are left out, and those that overlap
 * one before. Returns what take returns when that is not 0. */
typedef int (*jitcfi_fn)(void *arg, const struct jit_rule *rule);
int jitcfi_compile(const uint8_t *eh_frame, size_t bytes, uint64_t code_start, uint64_t code_bytes,
	jitcfi_fn take, void *arg);

#endif
