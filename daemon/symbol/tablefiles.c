#include "config.h"
#include "daemon/symbol/tablefiles.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include "base/io.h"
#include "base/map.h"
#include "daemon/cfi/table.h"
#include "daemon/symbol/sigbus.h"

#define SUFFIX    ".rules"
#define BYTES_MIN 8192u /* below that it is hardly more than the page that it takes anyway */
#define FILES_MAX 8192u

/* In front of the table. */
struct head {
	char version[16]; /* of the program that made it */
	uint64_t dev, inode, size_bytes;
	int64_t mtime_ns;
	uint32_t build_id_bytes, reserved;
	uint8_t build_id[BUILD_ID_MAX];
};
_Static_assert(sizeof(struct head) == 120, "layout; the table behind it is aligned");

struct tablefiles {
	char *dir;
	uint64_t max_bytes, free_floor_bytes;
};

static void describe(const struct module *m, struct head *h)
{
	memset(h, 0, sizeof(*h));
	snprintf(h->version, sizeof(h->version), "%s", PACKAGE_VERSION);
	h->dev = m->dev;
	h->inode = m->inode;
	h->size_bytes = m->size_bytes;
	h->mtime_ns = m->mtime_ns;
	h->build_id_bytes = m->build_id_bytes;
	memcpy(h->build_id, m->build_id, m->build_id_bytes);
}

static int path_for(const struct tablefiles *f, const struct head *h, char **ret_path)
{
	uint64_t name = hash_bytes(h, sizeof(*h), 0);

	return asprintf(ret_path, "%s/%016llx" SUFFIX, f->dir, (unsigned long long)name) < 0
		? -ENOMEM
		: 0;
}

/* ---- not too much ---- */

struct found {
	char name[64];
	struct timespec used;
	uint64_t bytes;
};

static int by_age(const void *a, const void *b)
{
	const struct timespec *x = &((const struct found *)a)->used;
	const struct timespec *y = &((const struct found *)b)->used;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? -1 : 1;
	return x->tv_nsec < y->tv_nsec ? -1 : x->tv_nsec > y->tv_nsec;
}

static size_t list(DIR *dir, struct found *all, uint64_t *ret_bytes)
{
	struct dirent *entry;
	struct stat st;
	size_t count = 0;

	*ret_bytes = 0;
	/* Also those that were being written when the machine stopped: ".rules.XXXXXX". */
	while (count < FILES_MAX && (entry = readdir(dir))) {
		struct found *f = &all[count];

		if (!strstr(entry->d_name, SUFFIX) || strlen(entry->d_name) >= sizeof(f->name) ||
			fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
			!S_ISREG(st.st_mode))
			continue;
		snprintf(f->name, sizeof(f->name), "%s", entry->d_name);
		f->used = st.st_mtim;
		f->bytes = (uint64_t)st.st_size;
		*ret_bytes += f->bytes;
		count++;
	}
	return count;
}

/* The oldest go until so many more bytes have room. */
static void trim(const struct tablefiles *f, uint64_t more)
{
	AUTO(free_auto) struct found *all = calloc(FILES_MAX, sizeof(*all));
	DIR *dir = opendir(f->dir);
	uint64_t bytes;
	size_t count;

	if (all && dir) {
		count = list(dir, all, &bytes);
		if (bytes + more > f->max_bytes)
			qsort(all, count, sizeof(*all), by_age);
		for (size_t i = 0; i < count && bytes + more > f->max_bytes; i++)
			if (unlinkat(dirfd(dir), all[i].name, 0) == 0)
				bytes -= all[i].bytes;
	}
	if (dir)
		closedir(dir);
}

/* ---- one file ---- */

int tablefiles_new(const struct tablefiles_options *options, struct tablefiles **ret_files)
{
	AUTO(tablefiles_free_auto) struct tablefiles *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->dir = strdup(options->dir);
	if (!f->dir)
		return -ENOMEM;
	f->max_bytes = options->max_bytes;
	f->free_floor_bytes = options->free_floor_bytes;
	if (mkdir(f->dir, 0700) != 0 && errno != EEXIST)
		return -errno;
	trim(f, 0);
	*ret_files = MOVE(f);
	return 0;
}

void tablefiles_free(struct tablefiles *f)
{
	if (!f)
		return;
	free(f->dir);
	free(f);
}

/* Maps what is left of an opened file behind the head. */
static int map_table(int fd, const struct head *expected, struct cfi_table *ret)
{
	struct stat st;
	uint8_t *map;
	int r;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
		st.st_size < (off_t)(sizeof(*expected) + sizeof(struct cfi_table_head)))
		return -ENOENT;
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	r = sigbus_guard(map, (size_t)st.st_size); /* a disk may fail to read */
	if (r == 0 && memcmp(map, expected, sizeof(*expected)) != 0)
		r = -ENOENT;
	if (r == 0)
		r = cfi_table_check(
			map + sizeof(*expected), (size_t)st.st_size - sizeof(*expected), ret);
	if (r < 0) {
		sigbus_unguard(map);
		munmap(map, (size_t)st.st_size);
		return -ENOENT;
	}
	ret->on_disk = true;
	ret->map = map;
	ret->bytes = (size_t)st.st_size;
	return 0;
}

int tablefiles_load(struct tablefiles *f, const struct module *m, struct cfi_table **ret_table)
{
	AUTO(free_auto) struct cfi_table *t = calloc(1, sizeof(*t));
	AUTO(free_auto) char *path = NULL;
	AUTO(close_auto) int fd = -1;
	struct head h;
	int r;

	describe(m, &h);
	r = t ? path_for(f, &h, &path) : -ENOMEM;
	if (r < 0)
		return r;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -ENOENT;
	r = map_table(fd, &h, t);
	if (r < 0) {
		(void)unlink(path); /* damaged, or of another file with the same hash */
		return r;
	}
	(void)futimens(fd, NULL); /* used last now */
	*ret_table = MOVE(t);
	return 0;
}

/* Whole or not at all for who opens it; nothing waits for the disk. What a power cut leaves of it
 * is found out by its sum. */
static int write_beside(const char *path, const struct buf *whole)
{
	AUTO(free_auto) char *beside = NULL;
	AUTO(close_auto) int fd = -1;
	int r;

	if (asprintf(&beside, "%s.XXXXXX", path) < 0)
		return -ENOMEM;
	fd = mkostemp(beside, O_CLOEXEC); /* mode 0600 */
	if (fd < 0)
		return -errno;
	r = io_write_all(fd, whole->data, whole->len);
	if (r == 0 && rename(beside, path) != 0)
		r = -errno;
	if (r < 0)
		(void)unlink(beside);
	return r;
}

int tablefiles_save(struct tablefiles *f, const struct module *m, const struct cfi_table *t)
{
	AUTO(buf_done) struct buf whole = BUF_INIT;
	AUTO(free_auto) char *path = NULL;
	struct statvfs fs;
	struct head h;
	int r;

	if (t->bytes < BYTES_MIN || t->bytes > f->max_bytes / 4)
		return -EFBIG;
	if (statvfs(f->dir, &fs) != 0)
		return -errno;
	if ((uint64_t)fs.f_bavail * fs.f_frsize < f->free_floor_bytes + t->bytes)
		return -ENOSPC;
	trim(f, t->bytes + sizeof(h));
	describe(m, &h);
	buf_append(&whole, &h, sizeof(h));
	buf_append(&whole, t->map, t->bytes);
	r = whole.error < 0 ? whole.error : path_for(f, &h, &path);
	return r < 0 ? r : write_beside(path, &whole);
}
