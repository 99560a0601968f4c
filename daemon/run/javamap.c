#include "daemon/run/javamap.h"

#include <errno.h>
#include <string.h>

#include "base/io.h"
#include "daemon/proc/procinfo.h"

#define MAPS_MAX ((size_t)64 << 20)

/* The process is there, and the caller's. */
static int check_process(struct broker *b, const struct caller *who, pid_t pid,
	struct procinfo *ret_info, struct buf *message)
{
	int r = procinfo_read(b, pid, ret_info);

	if (r == -ESRCH || r == -ENOENT || (r == 0 && ret_info->state == 'Z')) {
		buf_printf(message, "there is no process %d", pid);
		return RUN_NOT_FOUND;
	}
	if (r < 0) {
		buf_printf(message, "process %d cannot be looked at: %s", pid, strerror(-r));
		return r == -EACCES || r == -EPERM ? RUN_FORBIDDEN : RUN_FAILED;
	}
	if (who->all || ret_info->uid == who->uid)
		return RUN_OK;
	buf_printf(message, "process %d belongs to another user", pid);
	return RUN_FORBIDDEN;
}

/* False only when it is certain. */
static bool may_be_java(struct broker *b, pid_t pid)
{
	AUTO(buf_done) struct buf maps = BUF_INIT;
	AUTO(close_auto) int fd = -1;
	const char *line, *path;

	if (broker_open_proc(b, pid, 0, BROKER_PROC_MAPS, &fd) < 0 ||
		io_read_fd(fd, MAPS_MAX, &maps) < 0)
		return true;
	return maps.data && hotspot_find_library(maps.data, &line, &path);
}

static int error_of(int r)
{
	switch (r) {
	case 0: return RUN_OK;
	case -ESRCH: return RUN_NOT_FOUND;
	case -EPERM: return RUN_FORBIDDEN;
	case -ENOEXEC:
	case -ENOTSUP: return RUN_CONFLICT;
	case -EAGAIN: return RUN_TOO_MANY;
	case -ETIMEDOUT: return RUN_UNAVAILABLE;
	default: return RUN_FAILED;
	}
}

int javamap_write(struct broker *b, struct attacher *a, const struct caller *who, pid_t pid,
	struct hotspot_map *ret_map, struct buf *message)
{
	struct procinfo info = {0};
	int error = check_process(b, who, pid, &info, message);

	if (error != RUN_OK)
		return error;
	if (!may_be_java(b, pid)) {
		buf_printf(message,
			"process %d is no Java virtual machine of the HotSpot kind: it has no "
			"libjvm.so",
			pid);
		return RUN_CONFLICT;
	}
	if (a)
		return error_of(attacher_write_perfmap(a, pid, ret_map, message));
	buf_printf(message,
		"this daemon has no right to signal processes or to write into their folders, "
		"and takes none: run \"profilectl perfmap %d\" as user %u or as root",
		pid, info.uid);
	return RUN_FORBIDDEN;
}
