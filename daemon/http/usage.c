#include "daemon/http/usage.h"

#include <unistd.h>

#include "daemon/proc/procinfo.h"

static void add(struct broker *b, const char *role, pid_t pid, struct usage *list, unsigned *count)
{
	struct procinfo info;

	for (unsigned i = 0; i < *count; i++)
		if (list[i].pid == pid)
			return;
	if (pid <= 0 || procinfo_read_stat(b, pid, &info) < 0)
		return;
	list[(*count)++] = (struct usage){
		.role = role,
		.pid = pid,
		.cpu_seconds = (double)info.cpu_ticks / (double)sysconf(_SC_CLK_TCK),
		.rss_bytes = info.rss_bytes,
	};
}

unsigned usage_read(struct broker *b, struct usage ret[USAGE_PROCESSES])
{
	struct broker_info info;
	unsigned count = 0;

	if (broker_get_info(b, &info) < 0)
		return 0;
	add(b, "engine", info.engine_pid, ret, &count);
	add(b, "broker", info.broker_pid, ret, &count);
	add(b, "reader", info.reader_pid, ret, &count);
	return count;
}
