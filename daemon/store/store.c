#include "daemon/store/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/log.h"
#include "base/parse.h"
#include "daemon/store/format.h"

#define SUFFIX     ".profile"
#define COUNTER    "last-id"
#define TEMP_CHARS 6    /* of the names that io_write_atomic() makes: "NAME.XXXXXX" */
#define FILE_MODE  0600 /* paths and names of other users' programs are in it */

/* One good file. */
struct item {
	uint64_t id, bytes;
	uint64_t t_ns; /* wall: the end of the session, or when it was last written */
	struct profile *head;
};

/* writing is held through a whole change of the folder; lock, taken after it and never held over a
 * read or write, guards what is below it. */
struct store {
	char *dir;
	struct store_options options;
	pthread_mutex_t writing, lock;
	struct item *items; /* by id, ascending */
	size_t count, cap;
	uint64_t last_id;
	struct store_stats stats;
};

static void path_of(const struct store *s, uint64_t id, char out[PATH_MAX])
{
	snprintf(out, PATH_MAX, "%s/%llu" SUFFIX, s->dir, (unsigned long long)id);
}

/* "7.profile", as we write it: no other spelling of the number is ours. */
static bool parse_name(const char *name, uint64_t *ret_id)
{
	size_t digits = strspn(name, "0123456789");
	char number[24];

	if (digits == 0 || digits >= sizeof(number) || strcmp(name + digits, SUFFIX) != 0 ||
		(name[0] == '0' && digits > 1))
		return false;
	memcpy(number, name, digits);
	number[digits] = 0;
	return parse_u64(number, UINT64_MAX, ret_id) == 0;
}

/* What a write leaves beside its target when it is killed in the middle. */
static bool is_leftover(const char *name)
{
	size_t len = strlen(name);
	char target[NAME_MAX + 1];
	uint64_t id;

	if (len <= TEMP_CHARS + 1 || len > NAME_MAX || name[len - TEMP_CHARS - 1] != '.')
		return false;
	snprintf(target, sizeof(target), "%.*s", (int)(len - TEMP_CHARS - 1), name);
	return strcmp(target, COUNTER) == 0 || parse_name(target, &id);
}

static struct item *find(struct store *s, uint64_t id, size_t *ret_at)
{
	size_t low = 0, high = s->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->items[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_at = low;
	return low < s->count && s->items[low].id == id ? &s->items[low] : NULL;
}

/* The item's head is taken, on failure too. */
static int put_item(struct store *s, const struct item *item)
{
	size_t at;
	struct item *old = find(s, item->id, &at);

	if (old) {
		profile_unref(old->head);
		s->stats.bytes -= old->bytes;
		*old = *item;
	} else {
		if (s->count == s->cap) {
			size_t cap = s->cap ? s->cap * 2 : 32;
			struct item *bigger = realloc(s->items, cap * sizeof(*bigger));

			if (!bigger) {
				profile_unref(item->head);
				return -ENOMEM;
			}
			s->items = bigger;
			s->cap = cap;
		}
		memmove(s->items + at + 1, s->items + at, (s->count - at) * sizeof(*s->items));
		s->items[at] = *item;
		s->count++;
	}
	s->stats.bytes += item->bytes;
	return 0;
}

static void drop_item(struct store *s, size_t at)
{
	s->stats.bytes -= s->items[at].bytes;
	profile_unref(s->items[at].head);
	s->count--;
	memmove(s->items + at, s->items + at + 1, (s->count - at) * sizeof(*s->items));
}

/* A regular file, and neither a link nor a pipe that somebody put there. */
static int open_file(const char *path, struct stat *ret_stat)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	int r = 0;

	if (fd < 0)
		return errno == ELOOP ? -EBADMSG : -errno;
	if (fstat(fd, ret_stat) < 0)
		r = -errno;
	else if (!S_ISREG(ret_stat->st_mode))
		r = -EBADMSG;
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

static uint64_t time_of(const struct profile *head, const struct stat *st)
{
	if (head->meta.ended_wall_ns)
		return head->meta.ended_wall_ns;
	return (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
}

static int read_first(int fd, void *into, size_t len)
{
	size_t got = 0;

	while (got < len) {
		ssize_t n = pread(fd, (char *)into + got, len - got, (off_t)got);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			return -EBADMSG;
		if (n > 0)
			got += (size_t)n;
	}
	return 0;
}

static int read_head(const char *path, uint64_t id, struct item *ret_item)
{
	AUTO(close_auto) int fd = -1;
	AUTO(free_auto) uint8_t *data = NULL;
	uint8_t first[FORMAT_HEADER_BYTES];
	struct format_header h = {0};
	struct profile *head = NULL;
	struct stat st = {0};
	int r;

	fd = open_file(path, &st);
	if (fd < 0)
		return fd;
	r = read_first(fd, first, sizeof(first));
	if (r == 0)
		r = format_read_header(first, sizeof(first), &h);
	/* A file that was cut is seen here; what is damaged inside, when it is read. */
	if (r == 0 && (uint64_t)st.st_size != format_file_bytes(&h))
		r = -EBADMSG;
	if (r < 0)
		return r;
	data = malloc(FORMAT_HEADER_BYTES + h.head_packed);
	if (!data)
		return -ENOMEM;
	r = read_first(fd, data, FORMAT_HEADER_BYTES + h.head_packed);
	if (r == 0)
		r = store_decode(data, FORMAT_HEADER_BYTES + h.head_packed, true, &head);
	if (r != 0)
		return r;
	head->meta.session_id = id;
	*ret_item = (struct item){
		.id = id,
		.bytes = (uint64_t)st.st_size,
		.t_ns = time_of(head, &st),
		.head = head,
	};
	return 0;
}

/* -ENOMEM alone ends a scan: any other failure is that file's. */
static int scan_one(struct store *s, const char *name)
{
	char path[PATH_MAX];
	struct item item;
	uint64_t id;
	int r;

	if (is_leftover(name)) {
		snprintf(path, sizeof(path), "%s/%s", s->dir, name);
		if (unlink(path) < 0)
			log_debug("%s: %s", path, strerror(errno));
		return 0;
	}
	if (!parse_name(name, &id))
		return 0;
	if (s->last_id < id)
		s->last_id = id;
	path_of(s, id, path);
	r = read_head(path, id, &item);
	if (r == 0)
		return put_item(s, &item);
	if (r == -ENOMEM)
		return r;
	log_warning("%s is left alone: %s", path,
		r == -EPROTONOSUPPORT   ? "written by a later version"
			: r == -EBADMSG ? "damaged, or not a profile"
					: strerror(-r));
	s->stats.damaged++;
	return 0;
}

static int scan(struct store *s)
{
	DIR *dir = opendir(s->dir);
	struct dirent *entry;
	int r = 0;

	if (!dir)
		return -errno;
	while (r == 0 && (entry = readdir(dir)))
		r = scan_one(s, entry->d_name);
	closedir(dir);
	return r;
}

/* A counter that cannot be read says nothing; the files' own ids remain. */
static void read_counter(struct store *s)
{
	AUTO(buf_done) struct buf text = BUF_INIT;
	char path[PATH_MAX];
	uint64_t id;

	snprintf(path, sizeof(path), "%s/" COUNTER, s->dir);
	if (io_read_file(path, 64, &text) < 0 || text.len == 0)
		return;
	if (text.data[text.len - 1] == '\n')
		text.data[text.len - 1] = 0;
	if (parse_u64(text.data, UINT64_MAX, &id) == 0 && id > s->last_id)
		s->last_id = id;
}

/* Before the file itself, so that no crash lets an id be used again. */
static int raise_counter(struct store *s, uint64_t id)
{
	char path[PATH_MAX], text[32];
	int len, r;

	if (id <= s->last_id)
		return 0;
	snprintf(path, sizeof(path), "%s/" COUNTER, s->dir);
	len = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)id);
	r = io_write_atomic(path, text, (size_t)len, FILE_MODE);
	if (r == 0) {
		pthread_mutex_lock(&s->lock);
		s->last_id = id;
		pthread_mutex_unlock(&s->lock);
	}
	return r;
}

int store_new(const char *dir, const struct store_options *options, struct store **ret_store)
{
	AUTO(store_free_auto) struct store *s = NULL;
	int r;

	/* Room for "/18446744073709551615.profile.XXXXXX". */
	if (strlen(dir) > PATH_MAX - 64)
		return -ENAMETOOLONG;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	pthread_mutex_init(&s->writing, NULL);
	pthread_mutex_init(&s->lock, NULL);
	s->options = *options;
	s->dir = strdup(dir);
	if (!s->dir)
		return -ENOMEM;
	r = scan(s);
	if (r < 0)
		return r;
	read_counter(s);
	*ret_store = MOVE(s);
	return 0;
}

void store_free(struct store *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++)
		profile_unref(s->items[i].head);
	pthread_mutex_destroy(&s->writing);
	pthread_mutex_destroy(&s->lock);
	free(s->items);
	free(s->dir);
	free(s);
}

static int check_room(const struct store *s, uint64_t bytes)
{
	struct statvfs fs;

	if (s->options.max_bytes && bytes > s->options.max_bytes)
		return -EFBIG;
	if (statvfs(s->dir, &fs) < 0)
		return -errno;
	/* The file is whole beside the old one before it takes its place. */
	if ((uint64_t)fs.f_bavail * fs.f_frsize < s->options.free_floor_bytes + bytes)
		return -ENOSPC;
	return 0;
}

int store_spool(struct store *s, uint64_t bytes, int *ret_fd)
{
	struct statvfs fs;
	int fd;

	if (statvfs(s->dir, &fs) < 0)
		return -errno;
	if ((uint64_t)fs.f_bavail * fs.f_frsize < s->options.free_floor_bytes + bytes)
		return -ENOSPC;
	fd = open(s->dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	/* Not every file system has files without a name. */
	if (fd < 0 && errno == EOPNOTSUPP)
		fd = memfd_create("import", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

/* The place of the item to go next by size or age, never that of keep; count: none. */
static size_t find_expired(const struct store *s, uint64_t keep)
{
	uint64_t now = time_wall_ns(), age = s->options.max_age_s;
	size_t oldest = s->count;

	for (size_t i = 0; i < s->count; i++) {
		if (s->items[i].id != keep &&
			(oldest == s->count || s->items[i].t_ns < s->items[oldest].t_ns))
			oldest = i;
	}
	if (oldest == s->count)
		return oldest;
	if (s->options.max_bytes && s->stats.bytes > s->options.max_bytes)
		return oldest;
	if (age && now > s->items[oldest].t_ns && (now - s->items[oldest].t_ns) / 1000000000u > age)
		return oldest;
	return s->count;
}

/* writing is held. */
static void expire(struct store *s, uint64_t keep)
{
	char path[PATH_MAX];
	size_t at;

	pthread_mutex_lock(&s->lock);
	while ((at = find_expired(s, keep)) < s->count) {
		path_of(s, s->items[at].id, path);
		if (unlink(path) < 0 && errno != ENOENT) {
			log_warning("%s cannot be removed: %s", path, strerror(errno));
			break;
		}
		drop_item(s, at);
		s->stats.expired++;
	}
	pthread_mutex_unlock(&s->lock);
}

/* writing is held. */
static int write_file(struct store *s, uint64_t id, const struct buf *data)
{
	char path[PATH_MAX];
	int r = check_room(s, data->len);

	if (r == 0)
		r = raise_counter(s, id);
	path_of(s, id, path);
	return r == 0 ? io_write_atomic(path, data->data, data->len, FILE_MODE) : r;
}

/* What a list shows of it, as if it had been read. */
static int make_head(const struct profile *p, const struct buf *data, struct item *ret_item)
{
	struct stat now = {0};
	struct profile *head;
	int r = store_decode(data->data, data->len, true, &head);

	if (r < 0)
		return r;
	clock_gettime(CLOCK_REALTIME, &now.st_mtim);
	*ret_item = (struct item){
		.id = p->meta.session_id,
		.bytes = data->len,
		.t_ns = time_of(head, &now),
		.head = head,
	};
	return 0;
}

int store_put(struct store *s, const struct profile *p)
{
	AUTO(buf_done) struct buf data = BUF_INIT;
	struct item item = {0};
	int r = store_encode(p, &data);

	if (r == 0)
		r = make_head(p, &data, &item);
	pthread_mutex_lock(&s->writing);
	if (r == 0)
		r = write_file(s, p->meta.session_id, &data);
	pthread_mutex_lock(&s->lock);
	s->stats.writes += r == 0;
	s->stats.write_errors += r < 0;
	if (r == 0)
		r = put_item(s, &item);
	else
		profile_unref(item.head);
	pthread_mutex_unlock(&s->lock);
	if (r == 0)
		expire(s, p->meta.session_id);
	pthread_mutex_unlock(&s->writing);
	return r;
}

/* Damage that a scan could not see: the file stays, the list forgets it. */
static void forget_damaged(struct store *s, uint64_t id)
{
	size_t at;

	pthread_mutex_lock(&s->lock);
	if (find(s, id, &at)) {
		drop_item(s, at);
		s->stats.damaged++;
	}
	pthread_mutex_unlock(&s->lock);
}

static int read_whole(const char *path, struct profile **ret_profile)
{
	AUTO(buf_done) struct buf data = BUF_INIT;
	AUTO(close_auto) int fd = -1;
	struct stat st = {0};
	int r;

	fd = open_file(path, &st);
	if (fd < 0)
		return fd;
	r = io_read_fd(fd, (size_t)st.st_size, &data);
	if (r == 0)
		r = store_decode(data.len ? data.data : "", data.len, false, ret_profile);
	return r;
}

int store_get(struct store *s, uint64_t id, struct profile **ret_profile)
{
	char path[PATH_MAX];
	bool there;
	size_t at;
	int r;

	pthread_mutex_lock(&s->lock);
	there = find(s, id, &at) != NULL;
	pthread_mutex_unlock(&s->lock);
	if (!there)
		return -ENOENT;
	path_of(s, id, path);
	r = read_whole(path, ret_profile);
	if (r == 0)
		(*ret_profile)->meta.session_id = id;
	if (r == -EBADMSG) {
		log_warning("%s is damaged and left alone", path);
		forget_damaged(s, id);
	}
	return r;
}

int store_delete(struct store *s, uint64_t id)
{
	char path[PATH_MAX];
	size_t at;
	int r = -ENOENT;

	path_of(s, id, path);
	pthread_mutex_lock(&s->writing);
	pthread_mutex_lock(&s->lock);
	if (find(s, id, &at)) {
		r = unlink(path) < 0 && errno != ENOENT ? -errno : 0;
		if (r == 0)
			drop_item(s, at);
	}
	pthread_mutex_unlock(&s->lock);
	pthread_mutex_unlock(&s->writing);
	return r;
}

/* All heads, each counted once more, highest id first. */
static int gather(struct store *s, struct profile ***ret_heads, size_t *ret_count)
{
	struct profile **heads;

	pthread_mutex_lock(&s->lock);
	heads = malloc((s->count + 1) * sizeof(*heads));
	for (size_t i = 0; heads && i < s->count; i++)
		heads[i] = profile_ref(s->items[s->count - 1 - i].head);
	*ret_count = s->count;
	pthread_mutex_unlock(&s->lock);
	*ret_heads = heads;
	return heads ? 0 : -ENOMEM;
}

int store_list(struct store *s, int (*fn)(const struct profile *head, void *arg), void *arg)
{
	struct profile **heads;
	size_t count;
	int r = gather(s, &heads, &count);

	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++) {
		if (r == 0)
			r = fn(heads[i], arg);
		profile_unref(heads[i]);
	}
	free(heads);
	return r;
}

uint64_t store_last_id(struct store *s)
{
	uint64_t id;

	pthread_mutex_lock(&s->lock);
	id = s->last_id;
	pthread_mutex_unlock(&s->lock);
	return id;
}

void store_expire(struct store *s)
{
	pthread_mutex_lock(&s->writing);
	expire(s, UINT64_MAX);
	pthread_mutex_unlock(&s->writing);
}

void store_get_stats(struct store *s, struct store_stats *ret_stats)
{
	pthread_mutex_lock(&s->lock);
	*ret_stats = s->stats;
	ret_stats->count = (unsigned)s->count;
	pthread_mutex_unlock(&s->lock);
}
