/* Memory for the large arrays of a profile, ended by free(). */
#ifndef PFL_TREE_BULK_H
#define PFL_TREE_BULK_H

#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

#define BULK_PAGE ((size_t)2 << 20)

/* Not zeroed; at least one byte. Large ones lie in huge pages where the kernel has them: under a
 * hypervisor a page fault may take 10 us, and a log of 12 MiB has 3,000 small pages, all touched
 * while nobody samples. */
static inline void *bulk_alloc(size_t bytes)
{
	size_t whole = (bytes + BULK_PAGE - 1) & ~(BULK_PAGE - 1);
	void *data;

	if (bytes < BULK_PAGE)
		return malloc(bytes + !bytes);
	data = aligned_alloc(BULK_PAGE, whole);
	if (data)
		(void)madvise(data, whole, MADV_HUGEPAGE); /* else small ones serve as well */
	return data;
}

#endif
