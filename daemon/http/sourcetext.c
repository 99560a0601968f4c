#include "daemon/http/sourcetext.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

#define FILE_BYTES_MAX ((size_t)4 << 20)

/* Files of /proc have no size. */
static const char *look_at(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
		return "it is no plain file";
	if (!(st.st_mode & S_IROTH))
		return "not everybody may read it";
	return (size_t)st.st_size > FILE_BYTES_MAX ? "it is too large" : NULL;
}

const char *sourcetext_read(const char *path, struct buf *into)
{
	AUTO(close_auto) int fd = -1;
	const char *why;

	if (path[0] != '/')
		return "its path is not known in full";
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? "the file is not on this host"
							   : "the daemon may not read it";
	why = look_at(fd);
	if (why)
		return why;
	return io_read_fd(fd, FILE_BYTES_MAX, into) < 0 ? "it cannot be read" : NULL;
}

const char *sourcetext_line(struct sourcetext_cursor *c, uint32_t line, size_t *ret_len)
{
	while (c->at < c->text->len) {
		const char *begin = c->text->data + c->at;
		const char *end = memchr(begin, '\n', c->text->len - c->at);

		*ret_len = end ? (size_t)(end - begin) : c->text->len - c->at;
		c->at += *ret_len + 1;
		if (++c->passed == line)
			return begin;
	}
	return NULL;
}
