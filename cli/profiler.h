/* A daemon of our own, for one job: it and its folder are gone when the job is done, or when we are
 * gone, however we ended. */
#ifndef PFL_CLI_PROFILER_H
#define PFL_CLI_PROFILER_H

#include <limits.h>
#include "base/cleanup.h"
#include "cli/cli.h"

/* The program profiled: beside this one, as in a build folder, or where it is installed. */
void profiler_path(char path[PATH_MAX]);

struct profiler;
/* Starts it and waits until it answers; cli talks to it from then on. An exit code, and said so. */
int profiler_start(struct cli *cli, struct profiler **ret_profiler);
/* Ends it and waits until all of it is gone. cli->client is its, and NULL then. */
void profiler_free(struct profiler *p);
AUTO_FREE_FN(struct profiler, profiler_free)

/* For a job: the daemon that there is; else, or where alone is set, one of our own. *ret_profiler
 * is NULL for the former. */
int profiler_for_job(struct cli *cli, bool alone, struct profiler **ret_profiler);

#endif
