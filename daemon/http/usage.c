#include "daemon/http/usage.h"

#include <unistd.h>

#include "daemon/proc/procinfo.h"

void usages_init(struct usages *u)
{
	static const char *const roles[USAGE_PROCESSES] = {"engine", "broker", "reader"};

	*u = (struct usages){0};
	pthread_mutex_init(&u->lock, NULL);
	for (unsigned i = 0; i < USAGE_PROCESSES; i++)
		u->of[i].role = roles[i];
}

void usages_done(struct usages *u)
{
	pthread_mutex_destroy(&u->lock);
}

static void look(struct usages *u, unsigned i, struct broker *b, pid_t pid)
{
	struct usage *one = &u->of[i];
	struct procinfo info;
	double cpu;

	if (pid <= 0 || procinfo_read_stat(b, pid, &info) < 0) {
		one->pid = 0;
		one->rss_bytes = 0;
		return;
	}
	cpu = (double)info.cpu_ticks / (double)sysconf(_SC_CLK_TCK);
	/* Another process has the role now, even if it got the same pid. */
	if (u->last_pid[i] != pid || cpu < u->last[i])
		u->before[i] += u->last[i];
	u->last[i] = cpu;
	u->last_pid[i] = pid;
	one->pid = pid;
	one->rss_bytes = info.rss_bytes;
	one->cpu_seconds = u->before[i] + cpu;
}

unsigned usages_read(struct usages *u, struct broker *b, struct usage ret[USAGE_PROCESSES])
{
	struct broker_info info;
	unsigned count = 0;

	if (broker_get_info(b, &info) < 0)
		info = (struct broker_info){0};
	if (info.broker_pid == info.engine_pid)
		info.broker_pid = 0;
	pthread_mutex_lock(&u->lock);
	look(u, 0, b, info.engine_pid);
	look(u, 1, b, info.broker_pid);
	look(u, 2, b, info.reader_pid);
	for (unsigned i = 0; i < USAGE_PROCESSES; i++)
		if (u->of[i].pid || u->of[i].cpu_seconds > 0)
			ret[count++] = u->of[i];
	pthread_mutex_unlock(&u->lock);
	return count;
}
