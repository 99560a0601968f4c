#include "daemon/http/jobs.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct jobs {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop;
	struct job *first, **end; /* those that wait, oldest first */
	unsigned waiting, max;
	unsigned thread_count;
	pthread_t threads[];
};

static struct job *next(struct jobs *j)
{
	struct job *job;

	pthread_mutex_lock(&j->lock);
	while (!j->first && !j->stop)
		pthread_cond_wait(&j->wake, &j->lock);
	job = j->first;
	if (job) {
		j->first = job->next;
		if (!j->first)
			j->end = &j->first;
		j->waiting--;
	}
	pthread_mutex_unlock(&j->lock);
	return job;
}

static void *work(void *arg)
{
	struct job *job;

	while ((job = next(arg)))
		job->run(job);
	return NULL;
}

int jobs_new(unsigned threads, unsigned max, struct jobs **ret_jobs)
{
	struct jobs *j = calloc(1, sizeof(*j) + threads * sizeof(j->threads[0]));

	if (!j)
		return -ENOMEM;
	j->max = max;
	j->end = &j->first;
	pthread_mutex_init(&j->lock, NULL);
	pthread_cond_init(&j->wake, NULL);
	for (; j->thread_count < threads; j->thread_count++) {
		int r = pthread_create(&j->threads[j->thread_count], NULL, work, j);

		if (r) {
			jobs_free(j);
			return -r;
		}
	}
	*ret_jobs = j;
	return 0;
}

int jobs_push(struct jobs *j, struct job *job)
{
	int r = 0;

	pthread_mutex_lock(&j->lock);
	if (j->waiting == j->max) {
		r = -EAGAIN;
	} else {
		job->next = NULL;
		*j->end = job;
		j->end = &job->next;
		j->waiting++;
		pthread_cond_signal(&j->wake);
	}
	pthread_mutex_unlock(&j->lock);
	return r;
}

void jobs_free(struct jobs *j)
{
	if (!j)
		return;
	pthread_mutex_lock(&j->lock);
	j->stop = true;
	pthread_cond_broadcast(&j->wake);
	pthread_mutex_unlock(&j->lock);
	for (unsigned i = 0; i < j->thread_count; i++)
		pthread_join(j->threads[i], NULL);
	pthread_cond_destroy(&j->wake);
	pthread_mutex_destroy(&j->lock);
	free(j);
}
