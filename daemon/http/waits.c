#include "daemon/http/waits.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

struct waits {
	pthread_mutex_t lock;
	pthread_t thread;
	int wake_fd;
	bool stop;
	struct wait *first;
	unsigned count;
};

static void wake(struct waits *all)
{
	(void)!write(all->wake_fd, &(uint64_t){1}, sizeof(uint64_t));
}

/* The lock is held, but not while somebody is told. */
static void end_wait(struct waits *all, struct wait *w, bool gone)
{
	struct wait **at = &all->first;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	all->count--;
	pthread_mutex_unlock(&all->lock);
	w->done(w, gone);
	pthread_mutex_lock(&all->lock);
}

static struct wait *find_due(const struct waits *all)
{
	struct wait *best = NULL;

	for (struct wait *w = all->first; w; w = w->next)
		if (!best || w->due_ns < best->due_ns)
			best = w;
	return best;
}

/* Until then, or something happens. Only this thread takes any out of the list, so that those that
 * were looked at are still there afterwards. */
static void rest(struct waits *all, uint64_t until_ns)
{
	struct pollfd fds[WAITS_MAX + 1] = {{.fd = all->wake_fd, .events = POLLIN}};
	struct wait *looked_at[WAITS_MAX];
	uint64_t now = time_mono_ns(), ignored;
	int timeout = until_ns <= now ? 0 : (int)((until_ns - now + 999999) / 1000000);
	unsigned count = 0;

	for (struct wait *w = all->first; w; w = w->next) {
		looked_at[count++] = w;
		fds[count] = (struct pollfd){.fd = w->fd, .events = POLLRDHUP};
	}
	pthread_mutex_unlock(&all->lock);
	(void)poll(fds, count + 1, until_ns == UINT64_MAX ? -1 : timeout);
	if (fds[0].revents)
		(void)!read(all->wake_fd, &ignored, sizeof(ignored));
	pthread_mutex_lock(&all->lock);
	for (unsigned i = 0; i < count; i++)
		if (fds[i + 1].revents)
			end_wait(all, looked_at[i], true);
}

static void *work(void *arg)
{
	struct waits *all = arg;

	pthread_mutex_lock(&all->lock);
	while (!all->stop) {
		struct wait *w = find_due(all);

		if (w && time_mono_ns() >= w->due_ns)
			end_wait(all, w, false);
		else
			rest(all, w ? w->due_ns : UINT64_MAX);
	}
	while (all->first)
		end_wait(all, all->first, true);
	pthread_mutex_unlock(&all->lock);
	return NULL;
}

int waits_new(struct waits **ret_waits)
{
	struct waits *all = calloc(1, sizeof(*all));
	int r;

	if (!all)
		return -ENOMEM;
	all->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = all->wake_fd < 0 ? errno : 0;
	pthread_mutex_init(&all->lock, NULL);
	if (r == 0)
		r = pthread_create(&all->thread, NULL, work, all);
	if (r) {
		waits_free(all);
		return -r;
	}
	*ret_waits = all;
	return 0;
}

int waits_add(struct waits *all, struct wait *w)
{
	int r = 0;

	pthread_mutex_lock(&all->lock);
	if (all->stop) {
		r = -ESHUTDOWN;
	} else if (all->count == WAITS_MAX) {
		r = -EAGAIN;
	} else {
		w->next = all->first;
		all->first = w;
		all->count++;
	}
	pthread_mutex_unlock(&all->lock);
	if (r == 0)
		wake(all);
	return r;
}

void waits_stop(struct waits *all)
{
	if (!all)
		return;
	pthread_mutex_lock(&all->lock);
	all->stop = true;
	pthread_mutex_unlock(&all->lock);
	wake(all);
	pthread_join(all->thread, NULL);
}

void waits_free(struct waits *all)
{
	if (!all)
		return;
	close_auto(&all->wake_fd);
	pthread_mutex_destroy(&all->lock);
	free(all);
}
