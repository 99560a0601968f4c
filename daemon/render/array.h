/* Arrays that grow by one element at a time. */
#ifndef PFL_RENDER_ARRAY_H
#define PFL_RENDER_ARRAY_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Room for one more element, of each bytes, at the end of *array, which has count. -ENOMEM: as
 * before. */
static inline int array_grow(void **array, uint32_t count, uint32_t *cap, size_t each)
{
	uint32_t bigger = *cap ? *cap * 2 : 256;
	void *data;

	if (count < *cap)
		return 0;
	data = realloc(*array, bigger * each);
	if (!data)
		return -ENOMEM;
	*array = data;
	*cap = bigger;
	return 0;
}

#endif
