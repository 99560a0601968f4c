/* Release at the end of a scope. */
#ifndef PFL_BASE_CLEANUP_H
#define PFL_BASE_CLEANUP_H

#include <stdlib.h>
#include <unistd.h>

#define AUTO(fn) __attribute__((cleanup(fn)))
#define AUTO_FREE_FN(type, fn)                                         \
	__attribute__((unused)) static inline void fn##_auto(type **p) \
	{                                                              \
		fn(*p);                                                \
	}
#define MOVE(p)                             \
	__extension__({                     \
		__typeof__(p) moved_ = (p); \
		(p) = NULL;                 \
		moved_;                     \
	})
/* The same for a descriptor: the variable is -1 afterwards. */
#define MOVE_FD(fd)                \
	__extension__({            \
		int moved_ = (fd); \
		(fd) = -1;         \
		moved_;            \
	})

static inline void free_auto(void *p)
{
	free(*(void **)p);
}

static inline void close_auto(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#endif
