/* A mapped file may be cut short by its owner: reading beyond its end raises SIGBUS. The handler
 * puts a page of zeros there and goes on, and counts; a SIGBUS elsewhere ends the process as
 * before. */
#ifndef PFL_SYMBOL_SIGBUS_H
#define PFL_SYMBOL_SIGBUS_H

#include <stddef.h>
#include <stdint.h>

int sigbus_install(void);
/* Declares a mapping as one that may shrink; at most 65,536 at a time (-ENOSPC). Any thread. */
int sigbus_guard(const void *start, size_t bytes);
void sigbus_unguard(const void *start);
uint64_t sigbus_count(void);

#endif
