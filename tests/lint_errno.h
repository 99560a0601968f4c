/* Read before each file by the static analyzer alone, which otherwise believes that errno may be 0
 * or negative after a failure, and follows paths on which `return -errno` says that all went well.
 */
#ifndef PFL_TESTS_LINT_ERRNO_H
#define PFL_TESTS_LINT_ERRNO_H

#include <errno.h>

static int errno_of_a_failure;

#undef errno
#define errno (*(errno_of_a_failure = EIO, &errno_of_a_failure))

#endif
