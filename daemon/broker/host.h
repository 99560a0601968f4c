/* Opens files of the kernel: /proc, tracefs, cgroup v2; and the configuration. Each call: 0, or a
 * negative errno. */
#ifndef PFL_BROKER_HOST_H
#define PFL_BROKER_HOST_H

#include "daemon/broker/request.h"

/* The folder /proc/PID, for *at calls below it. -ESRCH: there is none. */
int host_proc_dir(pid_t pid, int *ret_fd);

int host_open_proc(const struct request *q, int *ret_fd);
/* A memfd of pid_t values. */
int host_list(const struct request *q, int *ret_fd);
int host_open(const struct request *q, const char *config_path, int *ret_fd);
int host_open_tracepoint(const struct request *q, int *ret_fd);
int host_open_cgroup(const struct request *q, int *ret_fd);
/* The event itself. */
int host_open_perf(const struct request *q, int *ret_fd);
bool host_has_cgroup2(void);
bool host_has_tracefs(void);

#endif
