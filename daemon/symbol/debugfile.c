#include "daemon/symbol/debugfile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CANDIDATES 5
#define BY_ID      "/usr/lib/debug/.build-id/"

static bool build_id_path(const struct reader_debuglink *link, char *path)
{
	static const char hex[] = "0123456789abcdef";
	char *at = path + sprintf(path, BY_ID);

	if (link->build_id_bytes < 2 || link->build_id_bytes > sizeof(link->build_id))
		return false;
	for (uint32_t i = 0; i < link->build_id_bytes; i++) {
		*at++ = hex[link->build_id[i] >> 4];
		*at++ = hex[link->build_id[i] & 15];
		if (i == 0)
			*at++ = '/';
	}
	strcpy(at, ".debug");
	return true;
}

bool debugfile_is_by_id(const char *path)
{
	return strncmp(path, BY_ID, strlen(BY_ID)) == 0;
}

/* The link is a bare file name: with a path in it, it could lead anywhere. */
static bool link_path(const struct module *m, const char *name, const char *before,
	const char *between, char *path)
{
	const char *slash = strrchr(m->path, '/');
	int n;

	if (name[0] == 0 || strchr(name, '/') || strcmp(name, ".") == 0 ||
		strcmp(name, "..") == 0 || m->path[0] != '/')
		return false;
	n = snprintf(path, DEBUGFILE_PATH_MAX, "%s%.*s%s%s", before, (int)(slash - m->path + 1),
		m->path, between, name);
	return n > 0 && n < DEBUGFILE_PATH_MAX;
}

/* Number `number` exists, if it has a path. */
static bool path_of(const struct module *m, const struct reader_debuglink *link, unsigned number,
	char *path, pid_t *ret_pid)
{
	*ret_pid = number == 0 ? 0 : m->pid;
	switch (number) {
	case 0: return build_id_path(link, path);
	case 1: return m->pid != 0 && build_id_path(link, path);
	case 2: return link_path(m, link->name, "", "", path);
	case 3: return link_path(m, link->name, "", ".debug/", path);
	default: return link_path(m, link->name, "/usr/lib/debug", "", path);
	}
}

bool debugfile_candidate(const struct module *m, const struct reader_debuglink *link,
	unsigned number, char path[DEBUGFILE_PATH_MAX], pid_t *ret_pid)
{
	for (unsigned i = 0; i < CANDIDATES; i++)
		if (path_of(m, link, i, path, ret_pid) && number-- == 0)
			return true;
	return false;
}

static bool is_module_itself(const struct module *m, int fd)
{
	struct stat st;

	return fstat(fd, &st) != 0 || (st.st_dev == m->dev && st.st_ino == m->inode);
}

bool debugfile_search(struct broker *b, const struct module *m, const struct reader_debuglink *link,
	debugfile_fn found, void *arg)
{
	char path[DEBUGFILE_PATH_MAX];
	pid_t pid;
	int fd, r;

	for (unsigned i = 0; debugfile_candidate(m, link, i, path, &pid); i++) {
		r = broker_open_elf(b, pid, path, &fd);
		/* The process is gone, its root with it: the host's file is checked like any other.
		 */
		if (r == -ESRCH && pid != 0)
			r = broker_open_elf(b, 0, path, &fd);
		if (r < 0)
			continue;
		if (is_module_itself(m, fd)) {
			close(fd);
			continue;
		}
		if (found(fd, path, arg))
			return true;
	}
	return false;
}
