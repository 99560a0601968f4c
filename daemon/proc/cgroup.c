/* Names out of cgroup paths, and walks over the cgroup tree through the broker. */
#include "daemon/proc/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/parse.h"

#define FILE_MAX  ((size_t)16 << 20)
#define NAMES_MAX ((size_t)16 << 20) /* of the children of one cgroup */

/* In a cgroup namespace paths out of /proc begin at its root, which is this; "" outside of one. Set
 * before there are other threads. */
static char own_root[CGROUP_PATH_BYTES];

static int copy_text(const char *text, size_t len, char *ret, size_t ret_bytes)
{
	if (len >= ret_bytes)
		return -ENAMETOOLONG;
	memcpy(ret, text, len);
	ret[len] = '\0';
	return 0;
}

int cgroup_parse(const char *text, size_t len, char *ret_path, size_t path_bytes)
{
	const char *end = text + len;

	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		size_t line_len = (size_t)((newline ? newline : end) - text);

		if (line_len >= 4 && memcmp(text, "0::/", 4) == 0 && !memchr(text, '\0', line_len))
			return copy_text(text + 3, line_len - 3, ret_path, path_bytes);
		if (!newline)
			break;
		text = newline + 1;
	}
	return -ENOENT;
}

int cgroup_resolve(const char *root, const char *path, char *ret_path, size_t path_bytes)
{
	size_t root_len = strlen(root), len;

	while (strncmp(path, "/..", 3) == 0 && (path[3] == '/' || path[3] == '\0')) {
		path += 3;
		while (root_len > 0 && root[--root_len] != '/')
			;
	}
	if (root_len > 0 && strcmp(path, "/") == 0)
		path = "";
	if (root_len == 0 && path[0] == '\0')
		path = "/";
	len = strlen(path);
	if (root_len + len >= path_bytes)
		return -ENAMETOOLONG;
	memcpy(ret_path, root, root_len);
	memcpy(ret_path + root_len, path, len + 1);
	return 0;
}

/* As /proc tells it. */
static int told_cgroup(struct broker *b, pid_t pid, char *ret_path, size_t path_bytes)
{
	AUTO(buf_done) struct buf text = BUF_INIT;
	AUTO(close_auto) int fd = -1;
	int r = broker_open_proc(b, pid, 0, BROKER_PROC_CGROUP, &fd);

	if (r == 0)
		r = io_read_fd(fd, FILE_MAX, &text);
	if (r < 0)
		return r == -ENOENT ? -ESRCH : r;
	return cgroup_parse(text.data ? text.data : "", text.len, ret_path, path_bytes);
}

int cgroup_of(struct broker *b, pid_t pid, char *ret_path, size_t path_bytes)
{
	char told[CGROUP_PATH_BYTES];
	int r = told_cgroup(b, pid, told, sizeof(told));

	return r < 0 ? r : cgroup_resolve(own_root, told, ret_path, path_bytes);
}

/* The component that ends at *end (the start of the path's text behind it); moves *end before it.
 */
static bool last_component(
	const char *path, const char **end, const char **ret_name, size_t *ret_len)
{
	const char *stop = *end, *start;

	while (stop > path && stop[-1] == '/')
		stop--;
	for (start = stop; start > path && start[-1] != '/';)
		start--;
	*end = start;
	*ret_name = start;
	*ret_len = (size_t)(stop - start);
	return stop > start;
}

static bool has_suffix(const char *name, size_t len, const char *suffix)
{
	size_t suffix_len = strlen(suffix);

	return len > suffix_len && memcmp(name + len - suffix_len, suffix, suffix_len) == 0;
}

size_t cgroup_unit(const char *path, char *ret_unit, size_t unit_bytes)
{
	static const char *const suffixes[] = {".service", ".scope", ".socket", ".mount", ".swap"};
	const char *end = path + strlen(path), *name;
	size_t len;

	while (last_component(path, &end, &name, &len))
		for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
			if (has_suffix(name, len, suffixes[i]))
				return copy_text(name, len, ret_unit, unit_bytes) < 0
					? 0
					: (size_t)(name + len - path);
	return 0;
}

static bool is_hex(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!(text[i] >= '0' && text[i] <= '9') && !(text[i] >= 'a' && text[i] <= 'f'))
			return false;
	return true;
}

/* Podman and cri-o put their monitor into a cgroup that bears the container's id as well. */
static bool is_runtime_prefix(const char *name, size_t len)
{
	static const char *const prefixes[] = {"docker-", "cri-containerd-", "containerd-",
		"nerdctl-", "crio-", "libpod-", "libpod-payload-"};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strlen(prefixes[i]) == len && memcmp(name, prefixes[i], len) == 0)
			return true;
	return false;
}

/* The 64 digits that stand at the end of a component's name; NULL: it is no container's. */
static const char *id_in(const char *name, size_t len)
{
	const char *id, *colon;

	if (has_suffix(name, len, ".scope"))
		len -= strlen(".scope");
	/* "kubepods-pod1.slice:cri-containerd:ID": the runtime was told the wrong manager. */
	colon = memrchr(name, ':', len);
	if (colon) {
		len -= (size_t)(colon + 1 - name);
		name = colon + 1;
	}
	if (len < CONTAINER_ID_LEN)
		return NULL;
	id = name + len - CONTAINER_ID_LEN;
	if (!is_hex(id, CONTAINER_ID_LEN))
		return NULL;
	return id == name || is_runtime_prefix(name, (size_t)(id - name)) ? id : NULL;
}

size_t cgroup_container(const char *path, char ret_id[CONTAINER_ID_LEN + 1])
{
	const char *end = path + strlen(path), *name;
	size_t len, found = 0;

	while (last_component(path, &end, &name, &len)) {
		const char *id = id_in(name, len);

		if (!id || (found && memcmp(id, ret_id, CONTAINER_ID_LEN) != 0))
			continue;
		/* Podman nests "libpod-payload-ID" in "libpod-ID.scope": the outer one is whole. */
		memcpy(ret_id, id, CONTAINER_ID_LEN);
		ret_id[CONTAINER_ID_LEN] = '\0';
		found = (size_t)(name + len - path);
	}
	return found;
}

/* Appends the names of the nested cgroups, each closed by NUL. */
static int child_names(struct broker *b, const char *path, struct buf *names)
{
	struct dirent *entry;
	int fd = -1, r;
	DIR *dir;

	r = broker_open_cgroup(b, path, BROKER_CGROUP_DIR, &fd);
	if (r < 0)
		return r;
	dir = fdopendir(fd);
	if (!dir) {
		r = -errno;
		close(fd);
		return r;
	}
	names->max_bytes = NAMES_MAX;
	while (r == 0 && (entry = readdir(dir)))
		if (entry->d_type == DT_DIR && strcmp(entry->d_name, ".") != 0 &&
			strcmp(entry->d_name, "..") != 0)
			r = buf_append(names, entry->d_name, strlen(entry->d_name) + 1);
	closedir(dir);
	return r;
}

struct walk {
	struct broker *b;
	cgroup_fn fn;
	void *arg;
	char path[CGROUP_PATH_BYTES];
};

/* Nested no deeper than a path can say, some 2,000 levels. */
static int walk_below(struct walk *w)
{
	AUTO(buf_done) struct buf names = BUF_INIT;
	size_t path_len = strlen(w->path), at = 0;
	int r = w->fn(w->path, w->arg);

	if (r != 0)
		return r;
	r = child_names(w->b, w->path, &names);
	if (r == -ENOENT || r == -ENODEV)
		return path_len == 1 ? r : 0;
	while (r == 0 && at < names.len) {
		const char *name = names.data + at;
		size_t len = strlen(name), from = path_len == 1 ? 0 : path_len;

		at += len + 1;
		if (from + 1 + len >= sizeof(w->path))
			continue;
		w->path[from] = '/';
		memcpy(w->path + from + 1, name, len + 1);
		r = walk_below(w);
		w->path[path_len] = '\0';
	}
	return r;
}

int cgroup_walk_from(struct broker *b, const char *path, cgroup_fn fn, void *arg)
{
	struct walk w = {.b = b, .fn = fn, .arg = arg};
	AUTO(close_auto) int fd = -1;
	size_t len = strlen(path);
	int r;

	while (len > 1 && path[len - 1] == '/')
		len--;
	r = copy_text(path, len, w.path, sizeof(w.path));
	if (r == 0)
		r = broker_open_cgroup(b, w.path, BROKER_CGROUP_DIR, &fd);
	return r < 0 ? r : walk_below(&w);
}

int cgroup_walk(struct broker *b, cgroup_fn fn, void *arg)
{
	return cgroup_walk_from(b, "/", fn, arg);
}

struct find {
	const char *name;
	size_t name_len;
	char path[CGROUP_PATH_BYTES];
	char id[CONTAINER_ID_LEN + 1];
	unsigned depth;      /* of path; 0: none found */
	struct buf *several; /* lines: what else would do */
};

static unsigned path_depth(const char *path)
{
	unsigned depth = 0;

	for (; *path; path++)
		depth += *path == '/';
	return depth;
}

static int match_unit(const char *path, void *arg)
{
	struct find *f = arg;
	const char *end = path + strlen(path), *name;
	unsigned depth = path_depth(path);
	size_t len;

	if (!last_component(path, &end, &name, &len) || len != f->name_len ||
		memcmp(name, f->name, len) != 0)
		return 0;
	if (f->depth > 0 && depth > f->depth)
		return 0;
	if (depth < f->depth)
		buf_clear(f->several);
	if (depth == f->depth)
		return buf_printf(f->several, "%s\n", path);
	f->depth = depth;
	return copy_text(path, strlen(path), f->path, sizeof(f->path));
}

static bool is_unit_name(const char *name, size_t len)
{
	static const char *const suffixes[] = {
		".service", ".scope", ".slice", ".socket", ".mount", ".swap"};

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		if (has_suffix(name, len, suffixes[i]))
			return true;
	return false;
}

/* The one that was found, or -EEXIST with all that would do in its lines. */
static int take_found(const struct find *f, const char *first, char *ret_path, size_t path_bytes)
{
	int r;

	if (f->depth == 0)
		return -ENOENT;
	if (!f->several->len)
		return copy_text(f->path, strlen(f->path), ret_path, path_bytes);
	r = buf_printf(f->several, "%s\n", first);
	return r < 0 ? r : -EEXIST;
}

int cgroup_find_unit(
	struct broker *b, const char *unit, char *ret_path, size_t path_bytes, struct buf *several)
{
	AUTO(buf_done) struct buf name = BUF_INIT;
	struct find f = {.several = several};
	int r;

	if (unit[0] == '\0' || strchr(unit, '/'))
		return -EINVAL;
	buf_append_str(&name, unit);
	if (!is_unit_name(unit, strlen(unit)))
		buf_append_str(&name, ".service");
	if (name.error)
		return name.error;
	f.name = name.data;
	f.name_len = name.len;
	buf_clear(several);
	r = cgroup_walk(b, match_unit, &f);
	return r < 0 ? r : take_found(&f, f.path, ret_path, path_bytes);
}

static int match_container(const char *path, void *arg)
{
	char id[CONTAINER_ID_LEN + 1];
	struct find *f = arg;
	unsigned depth = path_depth(path);

	if (!cgroup_container(path, id) || memcmp(id, f->name, f->name_len) != 0)
		return 0;
	if (f->depth > 0 && strcmp(id, f->id) != 0) {
		if (f->several->len && memmem(f->several->data, f->several->len, id, strlen(id)))
			return 0;
		return buf_printf(f->several, "%s\n", id);
	}
	/* Cgroups inside the container carry its id in their path too: its own is the shortest. */
	if (f->depth > 0 && depth >= f->depth)
		return 0;
	memcpy(f->id, id, sizeof(id));
	f->depth = depth;
	return copy_text(path, strlen(path), f->path, sizeof(f->path));
}

int cgroup_find_container(
	struct broker *b, const char *id, char *ret_path, size_t path_bytes, struct buf *several)
{
	struct find f = {.name = id, .name_len = strlen(id), .several = several};
	int r;

	if (f.name_len == 0 || f.name_len > CONTAINER_ID_LEN || !is_hex(id, f.name_len))
		return -EINVAL;
	buf_clear(several);
	r = cgroup_walk(b, match_container, &f);
	return r < 0 ? r : take_found(&f, f.id, ret_path, path_bytes);
}

struct members {
	struct broker *b;
	struct buf *into;
};

static int append_pids(const char *text, struct buf *into)
{
	int r = 0;

	while (*text && r == 0) {
		char number[16];
		size_t len = strcspn(text, "\n");
		uint64_t value;

		/* "0" is a process of another pid namespace, which has no number here. */
		if (copy_text(text, len, number, sizeof(number)) == 0 &&
			parse_u64(number, INT32_MAX, &value) == 0 && value > 0) {
			pid_t pid = (pid_t)value;

			r = buf_append(into, &pid, sizeof(pid));
		}
		text += len + (text[len] == '\n');
	}
	return r;
}

static int add_members(const char *path, void *arg)
{
	AUTO(buf_done) struct buf text = BUF_INIT;
	AUTO(close_auto) int fd = -1;
	struct members *m = arg;
	int r = broker_open_cgroup(m->b, path, BROKER_CGROUP_PROCS, &fd);

	if (r == 0)
		r = io_read_fd(fd, FILE_MAX, &text);
	/* Gone meanwhile, or threaded: then its processes are listed further up. */
	if (r == -ENOENT || r == -ENODEV || r == -EOPNOTSUPP)
		return 0;
	if (r < 0)
		return r;
	return append_pids(text.data ? text.data : "", m->into);
}

int cgroup_members(struct broker *b, const char *path, struct buf *into)
{
	struct members m = {b, into};

	return cgroup_walk_from(b, path, add_members, &m);
}

static bool holds_us(const struct buf *pids)
{
	pid_t pid, own = getpid();

	for (size_t at = 0; at < pids->len; at += sizeof(pid)) {
		memcpy(&pid, pids->data + at, sizeof(pid));
		if (pid == own)
			return true;
	}
	return false;
}

static int match_own(const char *path, void *arg)
{
	AUTO(buf_done) struct buf pids = BUF_INIT;
	struct members m = {arg, &pids};
	int r = add_members(path, &m);

	if (r < 0 || !holds_us(&pids))
		return r;
	r = copy_text(path, strlen(path), own_root, sizeof(own_root));
	return r < 0 ? r : 1;
}

int cgroup_find_root(struct broker *b)
{
	char path[CGROUP_PATH_BYTES];
	int r;

	/* Only out of a namespace the way to init leads upward; and only who is at its root can be
	 * found there. */
	if (told_cgroup(b, 1, path, sizeof(path)) < 0 || strncmp(path, "/..", 3) != 0)
		return 0;
	if (told_cgroup(b, getpid(), path, sizeof(path)) < 0 || strcmp(path, "/") != 0)
		return 0;
	r = cgroup_walk(b, match_own, b);
	return r < 0 ? r : 0;
}

int cgroup_is_empty(struct broker *b, const char *path, bool *ret_empty)
{
	AUTO(buf_done) struct buf text = BUF_INIT;
	AUTO(close_auto) int dir = -1;
	AUTO(close_auto) int fd = -1;
	int r = broker_open_cgroup(b, path, BROKER_CGROUP_DIR, &dir);

	if (r < 0)
		return r;
	r = broker_open_cgroup(b, path, BROKER_CGROUP_EVENTS, &fd);
	if (r == -ENOENT) { /* the root has none, and is never empty */
		*ret_empty = false;
		return 0;
	}
	if (r == 0)
		r = io_read_fd(fd, FILE_MAX, &text);
	if (r == -ENODEV) /* removed between open and read */
		return -ENOENT;
	if (r < 0)
		return r;
	*ret_empty = text.data && strstr(text.data, "populated 0") != NULL;
	return 0;
}
