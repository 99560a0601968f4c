/* Allocation that fails on demand, for tests linked with $(WRAP_ALLOC). Concerns what the objects
 * of the program and our libraries allocate, not what shared libraries do. */
#ifndef PFL_TESTS_FAILING_ALLOC_H
#define PFL_TESTS_FAILING_ALLOC_H

#include <errno.h>
#include <stddef.h>
#include <stdbool.h>

static long alloc_fail_after = -1; /* so many succeed, all later ones fail; -1: none fails */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);

static bool alloc_fails(void)
{
	if (alloc_fail_after < 0)
		return false;
	if (alloc_fail_after == 0) {
		errno = ENOMEM;
		return true;
	}
	alloc_fail_after--;
	return false;
}

void *__wrap_malloc(size_t bytes)
{
	return alloc_fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
	return alloc_fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
	return alloc_fails() ? NULL : __real_realloc(old, bytes);
}

#endif
