#include "base/heap.h"

#include <malloc.h>

#define ARENAS     2           /* one thread samples, the others wait for somebody anyway */
#define LARGE      (512 << 10) /* bytes: a mapping of its own, which ends when it is freed */
#define KEPT_AHEAD (256 << 10) /* at the end of the heap */

void heap_setup(void)
{
#ifdef __GLIBC__
	(void)mallopt(M_ARENA_MAX, ARENAS);
	(void)mallopt(M_MMAP_THRESHOLD, LARGE);
	(void)mallopt(M_TRIM_THRESHOLD, 2 * KEPT_AHEAD);
	(void)mallopt(M_TOP_PAD, KEPT_AHEAD);
#endif
}

void heap_trim(void)
{
#ifdef __GLIBC__
	(void)malloc_trim(KEPT_AHEAD);
#endif
}
