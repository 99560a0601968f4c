/* Asks a Java virtual machine of the HotSpot kind, by its attach protocol, to write down where its
 * compiled code is. Knows nothing of who asks; has no rights but those of its process. */
#ifndef PFL_BASE_HOTSPOT_H
#define PFL_BASE_HOTSPOT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/buf.h"

struct hotspot_map {
	pid_t ns_pid;       /* the file is /tmp/perf-NSPID.map in the process's own root */
	uint64_t map_bytes; /* of the file */
};

/* Has the process write the file anew ("jcmd PID Compiler.perfmap"), and waits for it, timeout_ms
 * at most. SIGQUIT, which opens a virtual machine for that, ends any other program: it is sent only
 * to a process that has mapped a libjvm.so with HotSpot's own names in it and takes that signal.
 *
 * The caller has to run as the user of the process, or as root; as root it becomes that user here,
 * for good, so that the target's folders can lead it nowhere else. One thread.
 *
 * 0, or a negative errno with a sentence in *why. -ESRCH: no such process. -EPERM: another user's.
 * -ENOEXEC: no such virtual machine. -ENOTSUP: it cannot do that: too old, or started so that it
 * does not listen. -ETIMEDOUT: it does not answer. -EPROTO: it failed, or answers nonsense. */
int hotspot_write_perfmap(
	pid_t pid, unsigned timeout_ms, struct hotspot_map *ret_map, struct buf *why);

/* ---- its parts, for tests ---- */

struct hotspot_status {
	uid_t uid; /* effective */
	gid_t gid;
	pid_t ns_pid; /* in its innermost pid namespace */
	bool takes_quit, ended;
};
/* The text of /proc/PID/status. -EINVAL. */
int hotspot_parse_status(const char *text, struct hotspot_status *ret_status);
/* The mapping of a libjvm.so with code, in the text of /proc/PID/maps: its line, and in that its
 * path, both up to the line's end. False: there is none. */
bool hotspot_find_library(const char *maps, const char **ret_line, const char **ret_path);
/* What the virtual machine answered, closed by a zero: 0, -ENOTSUP or -EPROTO as above. */
int hotspot_parse_answer(const char *text, struct buf *why);

#endif
