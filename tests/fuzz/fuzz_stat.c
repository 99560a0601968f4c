/* The text of /proc/PID/stat and status, whose name anybody may choose. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/proc/procinfo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct procinfo info;

	memset(&info, 0, sizeof(info));
	if (procinfo_parse_stat((const char *)data, size, &info) == 0 &&
		(info.pid < 0 || info.ppid < 0 || strlen(info.comm) >= sizeof(info.comm)))
		abort();
	memset(&info, 0, sizeof(info));
	if (procinfo_parse_status((const char *)data, size, &info) == 0 &&
		(info.ns_pid < 0 || info.tgid < 0))
		abort();
	return 0;
}
