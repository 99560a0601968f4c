#include "base/queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "base/cleanup.h"

/* The eventfd's count is 1 while count > 0, else 0; both change under the lock alone. */
struct queue {
	pthread_mutex_t lock;
	int fd;
	size_t capacity;
	size_t first;
	size_t count;
	void *items[];
};

int queue_new(size_t capacity, struct queue **ret_queue)
{
	struct queue *q;

	if (capacity == 0)
		return -EINVAL;
	if (capacity > (SIZE_MAX - sizeof(*q)) / sizeof(void *))
		return -ENOMEM;
	q = calloc(1, sizeof(*q) + capacity * sizeof(void *));
	if (!q)
		return -ENOMEM;
	q->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (q->fd < 0) {
		int r = -errno;

		free(q);
		return r;
	}
	pthread_mutex_init(&q->lock, NULL);
	q->capacity = capacity;
	*ret_queue = q;
	return 0;
}

void queue_free(struct queue *q)
{
	if (!q)
		return;
	close(q->fd);
	pthread_mutex_destroy(&q->lock);
	free(q);
}

int queue_push(struct queue *q, void *item)
{
	int r = -EAGAIN;

	if (!item)
		return -EINVAL;
	pthread_mutex_lock(&q->lock);
	if (q->count < q->capacity) {
		q->items[(q->first + q->count) % q->capacity] = item;
		q->count++;
		r = 0;
		if (q->count == 1)
			eventfd_write(q->fd, 1);
	}
	pthread_mutex_unlock(&q->lock);
	return r;
}

void *queue_pop(struct queue *q)
{
	void *item = NULL;

	pthread_mutex_lock(&q->lock);
	if (q->count > 0) {
		item = q->items[q->first];
		q->first = (q->first + 1) % q->capacity;
		q->count--;
		if (q->count == 0) {
			eventfd_t ignored;

			eventfd_read(q->fd, &ignored);
		}
	}
	pthread_mutex_unlock(&q->lock);
	return item;
}

int queue_fd(const struct queue *q)
{
	return q->fd;
}
