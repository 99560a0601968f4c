/* Threads that carry out what takes time, so that the library's threads, each of which serves many
 * connections, never wait. */
#ifndef PFL_HTTP_JOBS_H
#define PFL_HTTP_JOBS_H

struct job {
	struct job *next;
	void (*run)(struct job *job); /* may free the job */
};

struct jobs;
/* max: jobs that may wait. */
int jobs_new(unsigned threads, unsigned max, struct jobs **ret_jobs);
/* Any thread. -EAGAIN: too many wait. */
int jobs_push(struct jobs *j, struct job *job);
/* Runs what waits, then ends the threads. Nobody may push any more. */
void jobs_free(struct jobs *j);

#endif
