#include "daemon/symbol/splitfiles.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/io.h"
#include "daemon/symbol/debugfile.h"

#define FILE_MAX_BYTES ((off_t)64 << 20) /* of one unit */
#define ALL_MAX_BYTES  ((uint64_t)256 << 20)
#define COPY_BYTES     ((size_t)256 << 10)

/* In the target's root first; the host may have what the target's image was made of. */
static int open_either(struct broker *b, pid_t pid, const char *path)
{
	int fd = -1, r = -ENOENT;

	if (path[0] != '/')
		return -ENOENT;
	if (pid != 0)
		r = broker_open_elf(b, pid, path, &fd);
	if (r < 0)
		r = broker_open_elf(b, 0, path, &fd);
	return r < 0 ? r : fd;
}

/* name, beside file where it is no whole path. */
static bool beside(const char *file, const char *name, char path[DEBUGFILE_PATH_MAX])
{
	const char *slash = strrchr(file, '/');
	int n;

	if (name[0] == '/')
		n = snprintf(path, DEBUGFILE_PATH_MAX, "%s", name);
	else
		n = snprintf(path, DEBUGFILE_PATH_MAX, "%.*s%s",
			slash ? (int)(slash - file + 1) : 0, file, name);
	return n > 0 && n < DEBUGFILE_PATH_MAX;
}

int splitfiles_package(struct broker *b, const struct module *m, const char *file)
{
	char path[DEBUGFILE_PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s.dwp", file);

	return n < (int)sizeof(path) ? open_either(b, m->pid, path) : -ENAMETOOLONG;
}

static int open_unit(struct broker *b, const struct module *m, const char *file, const char *dir,
	const char *name)
{
	char path[DEBUGFILE_PATH_MAX];
	int fd = -ENOENT, n;

	if (beside(file, name, path))
		fd = open_either(b, m->pid, path);
	if (fd >= 0 || name[0] == '/')
		return fd;
	n = snprintf(path, sizeof(path), "%s/%s", dir, name);
	return n < (int)sizeof(path) ? open_either(b, m->pid, path) : -ENAMETOOLONG;
}

/* All bytes of from to the end of to. */
static int64_t append_file(int to, int from, char *chunk)
{
	struct stat st;
	off_t at = 0;
	ssize_t n;

	if (fstat(from, &st) < 0 || st.st_size > FILE_MAX_BYTES)
		return -EFBIG;
	while (at < st.st_size && (n = pread(from, chunk, COPY_BYTES, at)) > 0) {
		if (at + n > st.st_size)
			n = st.st_size - at; /* it grows */
		if (io_write_all(to, chunk, (size_t)n) < 0)
			return -EIO;
		at += n;
	}
	return at;
}

struct gathering {
	struct reader_file *files;
	uint32_t count;
	uint64_t at; /* where the next one goes */
	int fd;
};

static int gather(struct gathering *g, struct broker *b, const struct module *m, const char *file,
	const struct reader_split_list *wanted)
{
	AUTO(free_auto) char *chunk = malloc(COPY_BYTES);

	if (!chunk)
		return -ENOMEM;
	for (uint32_t i = 0; i < wanted->count && g->at < ALL_MAX_BYTES; i++) {
		const struct reader_split *s = &wanted->splits[i];
		AUTO(close_auto)
		int fd = open_unit(b, m, file, wanted->strings + s->dir, wanted->strings + s->name);
		int64_t n = fd >= 0 ? append_file(g->fd, fd, chunk) : 0;

		if (n < 0 && n != -EFBIG)
			return (int)n;
		if (n <= 0)
			continue;
		g->files[g->count++] =
			(struct reader_file){.id = s->id, .offset = g->at, .bytes = (uint64_t)n};
		g->at += (uint64_t)n;
	}
	return g->count ? 0 : -ENOENT;
}

/* Room for the table at its beginning, the files, then the table. */
int splitfiles_gather(struct broker *b, const struct module *m, const char *file,
	const struct reader_split_list *wanted)
{
	AUTO(free_auto)
	struct reader_file *files = calloc((size_t)wanted->count + 1, sizeof(*files));
	AUTO(close_auto) int fd = memfd_create("split", MFD_CLOEXEC);
	struct gathering g = {.files = files, .fd = fd};
	struct reader_files_head head = {0};
	size_t table = (size_t)wanted->count * sizeof(*files);
	int r;

	if (!files || fd < 0)
		return -ENOMEM;
	g.at = sizeof(head) + table;
	if (ftruncate(fd, (off_t)g.at) < 0 || lseek(fd, (off_t)g.at, SEEK_SET) < 0)
		return -errno;
	r = gather(&g, b, m, file, wanted);
	if (r < 0)
		return r;
	head.count = g.count;
	if (pwrite(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
		pwrite(fd, files, table, sizeof(head)) != (ssize_t)table)
		return -EIO;
	return MOVE_FD(fd);
}

int splitfiles_common(struct broker *b, const struct module *m, const char *file,
	const struct reader_debuglink *link, unsigned number)
{
	struct reader_debuglink by_id = {.build_id_bytes = link->alt_id_bytes};
	char path[DEBUGFILE_PATH_MAX];
	pid_t pid;

	memcpy(by_id.build_id, link->alt_id, sizeof(by_id.build_id));
	if (number == 0)
		return beside(file, link->alt_name, path) ? open_either(b, m->pid, path)
							  : -ENAMETOOLONG;
	/* Without a name only the folders of build ids are left. */
	return debugfile_candidate(m, &by_id, number - 1, path, &pid) ? open_either(b, pid, path)
								      : -ENODATA;
}
