#include "tests/unit/fake_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include "daemon/broker/client.h"

struct fake_files fake_files;

int broker_open_mapped(struct broker *b, pid_t pid, uint64_t start, uint64_t end, const char *path,
	dev_t dev, uint64_t inode, int *ret_fd)
{
	char link[128];
	struct stat st;
	int fd;

	(void)b;
	if (fake_files.mapped_error < 0)
		return fake_files.mapped_error;
	snprintf(link, sizeof(link), "/proc/%d/map_files/%llx-%llx", pid, (unsigned long long)start,
		(unsigned long long)end);
	fd = open(link, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && path) {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0 && (fstat(fd, &st) < 0 || st.st_ino != inode || st.st_dev != dev)) {
			close(fd);
			return -ESTALE;
		}
	}
	if (fd < 0)
		return -errno;
	fake_files.mapped_opened++;
	*ret_fd = fd;
	return 0;
}

int broker_open_elf(struct broker *b, pid_t pid, const char *path, int *ret_fd)
{
	int fd = pid == 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	(void)b;
	if (fd < 0)
		return -ENOENT;
	*ret_fd = fd;
	return 0;
}
