/* Bounded queue of pointers from several senders to one receiver, with an eventfd that is readable
 * while there is something in it. */
#ifndef PFL_BASE_QUEUE_H
#define PFL_BASE_QUEUE_H

#include <stddef.h>

struct queue;

int queue_new(size_t capacity, struct queue **ret_queue);
void queue_free(struct queue *q); /* the entries are the caller's: pop them first */
/* -EAGAIN when full; an item is never NULL. Any thread. */
int queue_push(struct queue *q, void *item);
/* NULL when empty. The receiver's thread. */
void *queue_pop(struct queue *q);
int queue_fd(const struct queue *q);

#endif
