/* cgroup v2 paths, units and containers. */
#ifndef PFL_PROC_CGROUP_H
#define PFL_PROC_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "base/buf.h"
#include "daemon/broker/client.h"

#define CGROUP_PATH_BYTES 4096
#define CONTAINER_ID_LEN  64

/* The v2 path out of the text of /proc/PID/cgroup ("0::/a/b"). -ENOENT: no v2 line. */
int cgroup_parse(const char *text, size_t len, char *ret_path, size_t path_bytes);
/* Where the root of the cgroup namespace is that we live in, so that cgroup_of() says paths as the
 * mounted hierarchy has them, also in a container. Once, before there are other threads. */
int cgroup_find_root(struct broker *b);
/* The whole path of what is called path in a namespace with that root: "/../x" in "/pods/own" is
 * "/pods/x". Pure. */
int cgroup_resolve(const char *root, const char *path, char *ret_path, size_t path_bytes);
/* Of a process. -ESRCH: gone. */
int cgroup_of(struct broker *b, pid_t pid, char *ret_path, size_t path_bytes);

/* "nginx.service" out of "/system.slice/nginx.service/worker". The innermost one, so that a user's
 * own service is found below user@1000.service. Scopes count, slices do not. Returns how much of
 * path is the unit's own cgroup; 0: it is in none. */
size_t cgroup_unit(const char *path, char *ret_unit, size_t unit_bytes);
/* The 64 hex digits of a container out of docker, containerd, cri-o, podman and kubernetes paths;
 * of nested ones the innermost. Returns how much of path is the container's own cgroup; 0: none. */
size_t cgroup_container(const char *path, char ret_id[CONTAINER_ID_LEN + 1]);

/* Walks all cgroups depth-first, the root ("/") first. fn's result other than 0 ends the walk and
 * is returned. Those that vanish meanwhile are passed over. */
typedef int (*cgroup_fn)(const char *path, void *arg);
int cgroup_walk(struct broker *b, cgroup_fn fn, void *arg);
/* The same below path, itself included. -ENOENT: there is none. */
int cgroup_walk_from(struct broker *b, const char *path, cgroup_fn fn, void *arg);
/* The path of a unit ("nginx" is "nginx.service"; a slice is found too) or of a container by the
 * first digits of its id. A unit that is there several times (of users' managers, inside of
 * containers): the one nearest to the root. -ENOENT: none; -EEXIST: several units as near, several
 * containers that begin so: several has their paths, or ids, as lines; -EINVAL: no unit name, no
 * hex digits. */
int cgroup_find_unit(
	struct broker *b, const char *unit, char *ret_path, size_t path_bytes, struct buf *several);
int cgroup_find_container(
	struct broker *b, const char *id, char *ret_path, size_t path_bytes, struct buf *several);

/* Appends pid_t values of the members, nested cgroups included. */
int cgroup_members(struct broker *b, const char *path, struct buf *into);
/* True when neither it nor a nested one has a process; -ENOENT: it is gone. */
int cgroup_is_empty(struct broker *b, const char *path, bool *ret_empty);

#endif
