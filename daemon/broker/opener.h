/* The broker's arm into the file systems of targets. One that is served by its user can hold an
 * open for ever, and only SIGKILL ends that: so a child of the broker, with the same rights and
 * filter, opens those files; when it does not answer in time it is killed and replaced. */
#ifndef PFL_BROKER_OPENER_H
#define PFL_BROKER_OPENER_H

#include <sys/types.h>

struct request;

struct opener {
	pid_t pid; /* 0: none */
	int sock;
};

/* Does what a checked request for a mapped file, an ELF file or a perf map says; starts the child
 * if there is none. -ETIMEDOUT: killed. */
int opener_open(struct opener *o, const struct request *q, int *ret_fd);
/* Ends it; another would be started. */
void opener_end(struct opener *o);
/* A child was reaped: was it this? */
void opener_ended(struct opener *o, pid_t pid);

#endif
