/* The command line of a process: what it was started with. */
#ifndef PFL_PROC_COMMAND_H
#define PFL_PROC_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMMAND_BYTES 1024 /* the rest is cut off */

/* Arguments, each closed by a zero, as one line with blanks between them; all: else the first one
 * alone. Raw bytes as they are, but without zeros. Returns its length without the closing zero. */
size_t command_join(const char *args, size_t len, bool all, char ret[COMMAND_BYTES]);

/* The arguments that the kernel put at the very end of the stack of a new program, as
 * /proc/PID/cmdline would have them, in a copy that begins at start and reaches that end. NULL:
 * they are not there, or not as the kernel leaves them. Fuzzed. */
const char *command_of_stack(const uint8_t *stack, uint64_t start, size_t bytes, size_t *ret_len);

#endif
