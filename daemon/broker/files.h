/* Opens files that belong to a profiled process, whose owner may set traps: links, fifos, devices,
 * other files under the same name, file systems that never answer (see opener.h). Each call: 0, or
 * a negative errno; the descriptor is for reading, close-on-exec and of a regular file. */
#ifndef PFL_BROKER_FILES_H
#define PFL_BROKER_FILES_H

#include "daemon/broker/request.h"

int files_open_mapped(const struct request *q, int *ret_fd);
int files_open_elf(const struct request *q, int *ret_fd);
int files_open_jitdump(const struct request *q, int *ret_fd);
int files_open_perfmap(const struct request *q, int *ret_fd);

#endif
