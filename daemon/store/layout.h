/* Which field of meta and ledger is which number of a file, for encode.c and decode.c alike: an
 * order that may only ever grow at its end. */
#ifndef PFL_STORE_LAYOUT_H
#define PFL_STORE_LAYOUT_H

#include <stddef.h>
#include <stdint.h>
#include "daemon/store/format.h"
#include "daemon/tree/profile.h"

#define META_NUMBERS   11u
#define META_TEXTS     9u
#define LEDGER_NUMBERS ((unsigned)(sizeof(struct ledger) / sizeof(uint64_t)))

void layout_from_meta(
	const struct profile_meta *m, uint64_t numbers[META_NUMBERS], uint32_t texts[META_TEXTS]);
void layout_to_meta(const uint64_t numbers[META_NUMBERS], const uint32_t texts[META_TEXTS],
	struct profile_meta *m);
/* 64 bits of FNV-1a. */
uint64_t layout_sum(const void *data, size_t len);
void layout_put_header(const struct format_header *h, uint8_t out[FORMAT_HEADER_BYTES]);

#endif
