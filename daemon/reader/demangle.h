/* C++ and Rust symbols to what their authors wrote. A name may be made to blow up when it is
 * spelled out: what would get longer than DEMANGLE_OUT_MAX stays as it is in the file. */
#ifndef PFL_READER_DEMANGLE_H
#define PFL_READER_DEMANGLE_H

#include <stddef.h>

#define DEMANGLE_IN_MAX  4096
#define DEMANGLE_OUT_MAX 32768

/* Writes to out (DEMANGLE_OUT_MAX bytes) and returns it, or returns name itself where there is
 * nothing to demangle. */
const char *demangle(const char *name, char *out);

#endif
