/* What malloc() keeps of what was freed: the rest goes back to the system. */
#ifndef PFL_BASE_HEAP_H
#define PFL_BASE_HEAP_H

/* Before the first thread. As the C library comes, each thread would keep freed memory of its own,
 * and one large piece that was freed once would make all later ones stay. */
void heap_setup(void);
/* Gives back what is free between pieces in use. Takes some milliseconds of a large heap, during
 * which other threads wait for memory. */
void heap_trim(void);

#endif
